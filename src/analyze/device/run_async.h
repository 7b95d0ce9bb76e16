// Parts of the analysis that need nothing of each other run at the same time.
#pragma once

#include <future>
#include <utility>

namespace hone::analyze::device {

// On a thread of its own; where the system grants none, when the result is asked for.
template <typename AccountEntry>
auto run_async(AccountEntry&& part) {
  return std::async(std::launch::async | std::launch::deferred, std::forward<AccountEntry>(part));
}

}  // namespace hone::analyze::device

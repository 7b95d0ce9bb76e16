// Providers for tests, which have no use for an error: it is thrown.
#pragma once

#include <memory>
#include <stdexcept>

#include "runtime/make_provider.h"

namespace hone::runtime::testing {

inline std::shared_ptr<const Provider> provider_named(std::string_view name, int threads = 0) {
  auto made = make_provider(name, {.threads = threads});
  if (!made.ok()) throw std::logic_error(made.error().message);
  return *std::move(made);
}
inline std::shared_ptr<const Provider> cpu_provider(int threads = 0) {
  return provider_named("cpu", threads);
}

}  // namespace hone::runtime::testing

#include "runtime/made_ahead.h"

#include <atomic>
#include <mutex>
#include <thread>

#include "core/side_by_side.h"

namespace hone::runtime {

bool MadeAhead::make(const std::vector<Wanted>& wanted,
                     const std::function<bool(std::size_t made, std::size_t of)>& go_on) {
  if (wanted.empty()) return true;
  if (go_on && !go_on(0, wanted.size())) return false;
  const std::thread::id here = std::this_thread::get_id();
  std::mutex mutex;
  std::atomic<std::size_t> done = 0;
  std::atomic<bool> ended = false;
  each_side_by_side(wanted.size(), [&](std::size_t i) {
    if (go_on && std::this_thread::get_id() == here && !ended && !go_on(done, wanted.size())) ended = true;
    if (ended) return;
    auto kernel = wanted[i].candidate.make();
    ++done;
    if (!kernel.ok()) return;
    const std::lock_guard lock(mutex);
    made_[{wanted[i].node, wanted[i].candidate.name}] = std::move(*kernel);
  });
  return !ended;
}

std::unique_ptr<Kernel> MadeAhead::take(const graph::Node& node, const std::string& candidate) {
  const auto found = made_.find({&node, candidate});
  if (found == made_.end()) return nullptr;
  std::unique_ptr<Kernel> kernel = std::move(found->second);
  made_.erase(found);
  return kernel;
}

}  // namespace hone::runtime

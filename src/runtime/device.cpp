#include "runtime/device.h"

#include <algorithm>
#include <mutex>

#include "core/memory_budget.h"

namespace hone::runtime {
namespace {

// For queues that have nothing to gain from taking commands down: they are given anew each time.
class PlainRecording : public Recording {
 public:
  PlainRecording(Queue& queue, Sequence& sequence) : queue_(queue), sequence_(sequence) {}
  Status replay() override { return queue_.run(sequence_); }

 private:
  Queue& queue_;
  Sequence& sequence_;
};

// What else goes with a block.
struct ChargedBlock {
  explicit ChargedBlock(Memory memory) : block(std::move(memory)) { charge_memory(block.bytes()); }
  ChargedBlock(const ChargedBlock&) = delete;
  ChargedBlock& operator=(const ChargedBlock&) = delete;
  ~ChargedBlock() { release_memory(block.bytes()); }
  Memory block;
};

}  // namespace

class Device::Account {
 public:
  void add(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    use_.now += bytes;
    use_.peak = std::max(use_.peak, use_.now);
  }
  void remove(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    use_.now -= bytes;
  }
  HeldBytes use() const {
    const std::lock_guard lock(mutex_);
    return use_;
  }
  void restart_peak() {
    const std::lock_guard lock(mutex_);
    use_.peak = use_.now;
  }

 private:
  mutable std::mutex mutex_;
  HeldBytes use_;
};

Device::Device() : account_(std::make_shared<Account>()) {}
HeldBytes Device::use() const { return account_->use(); }
void Device::restart_peak() { account_->restart_peak(); }

Memory Device::counted(Memory block) const {
  const std::size_t bytes = block.bytes();
  std::byte* const address = block.address();
  account_->add(bytes);
  const auto kept = std::make_shared<Memory>(std::move(block));
  return Memory(address, bytes, std::shared_ptr<void>(nullptr, [account = account_, kept, bytes](void*) {
                  account->remove(bytes);
                }));
}

Result<Memory> Device::charged_to_host(Memory block) {
  const std::size_t bytes = block.bytes();
  std::byte* const address = block.address();
  try {
    return Memory(address, bytes, std::make_shared<ChargedBlock>(std::move(block)));
  } catch (const OverMemoryBudget& error) {
    return invalid(error.what());
  }
}

Result<std::unique_ptr<Recording>> Queue::make_recording(Sequence& sequence) {
  return std::unique_ptr<Recording>(std::make_unique<PlainRecording>(*this, sequence));
}

}  // namespace hone::runtime

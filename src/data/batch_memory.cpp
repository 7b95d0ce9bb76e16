#include "data/batch_memory.h"

#include <utility>

namespace hone::data {
namespace {

class HostMemory final : public BatchMemory {
 public:
  Result<std::shared_ptr<std::byte>> allocate(std::size_t bytes) override {
    HONE_ASSIGN(Tensor block, Tensor::try_make(DType::kU8, {static_cast<int64_t>(bytes)}));
    auto owner = std::make_shared<Tensor>(std::move(block));
    auto* const data = static_cast<std::byte*>(owner->data());
    return std::shared_ptr<std::byte>(std::move(owner), data);
  }
};

}  // namespace

std::shared_ptr<BatchMemory> host_batch_memory() { return std::make_shared<HostMemory>(); }

BlockPool::BlockPool(std::shared_ptr<BatchMemory> memory, std::size_t bytes)
    : memory_(std::move(memory)), bytes_(bytes), free_(std::make_shared<Free>()) {}

Result<std::shared_ptr<std::byte>> BlockPool::take() {
  std::shared_ptr<std::byte> block;
  {
    const std::lock_guard lock(free_->mutex);
    if (!free_->blocks.empty()) {
      block = std::move(free_->blocks.back());
      free_->blocks.pop_back();
    }
  }
  if (!block) {
    HONE_ASSIGN(block, memory_->allocate(bytes_));
  }
  std::byte* const data = block.get();
  // Whoever holds the last copy gives the block back; to nobody, once the pool is gone.
  return std::shared_ptr<std::byte>(data, [block, free = std::weak_ptr(free_)](std::byte*) mutable {
    if (const auto pool = free.lock()) {
      const std::lock_guard lock(pool->mutex);
      pool->blocks.push_back(std::move(block));
    }
  });
}

}  // namespace hone::data

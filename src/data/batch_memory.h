// Where batches lie: blocks that are used again and again, so that reading ahead makes no garbage, and that somebody
// else may allocate: page-locked memory is copied to a GPU twice as fast and beside everything else.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "core/result.h"
#include "core/tensor.h"

namespace hone::data {

// Allocates blocks. Thread-safe.
class BatchMemory {
 public:
  virtual ~BatchMemory() = default;
  // Aligned to kTensorAlignment; freed with its last copy.
  virtual Result<std::shared_ptr<std::byte>> allocate(std::size_t bytes) = 0;
};

// Memory of tensors: counted by the process's memory budget.
std::shared_ptr<BatchMemory> host_batch_memory();

// Blocks of one size. A block comes back when its last copy goes, also after the pool is gone. Thread-safe.
class BlockPool {
 public:
  BlockPool(std::shared_ptr<BatchMemory> memory, std::size_t bytes);
  Result<std::shared_ptr<std::byte>> take();

 private:
  struct Free {
    std::mutex mutex;
    std::vector<std::shared_ptr<std::byte>> blocks;
  };
  std::shared_ptr<BatchMemory> memory_;
  std::size_t bytes_;
  std::shared_ptr<Free> free_;
};

}  // namespace hone::data

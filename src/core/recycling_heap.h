// Memory for work that allocates as it goes and is done again and again: blocks that are given back are kept
// and taken again, so that from the second time on the system is asked for nothing. It lets the reference
// kernels be written for clarity, in vectors, shapes and tensors, and plans run them without allocating.
//
// While a RecyclingHeap::Use lives, what its thread allocates by operator new comes from the heap. That takes
// a program whose operator new asks (core/replace_operator_new.h, which one of its sources includes): in
// others, with sanitizers, and once the address space set aside is used up, memory comes from the system as
// ever. What the memory budget charges (core/memory_budget.h) does not depend on it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace hone {

namespace internal {
struct HeapBlocks;
}

// One thread uses a heap at a time. Blocks may be given back by any thread, after the Use, and after the heap.
class RecyclingHeap {
 public:
  RecyclingHeap();
  // Blocks that nobody holds may be taken by other heaps now; their pages go back to the system.
  ~RecyclingHeap();
  RecyclingHeap(const RecyclingHeap&) = delete;
  RecyclingHeap& operator=(const RecyclingHeap&) = delete;

  // Nested: the innermost counts.
  class Use {
   public:
    explicit Use(RecyclingHeap& heap);
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    internal::HeapBlocks* before_;
  };

  std::size_t bytes() const;  // that it has taken so far and keeps

 private:
  internal::HeapBlocks* blocks_;
};

// What operator new and operator delete ask.
namespace internal {

inline constexpr std::uintptr_t kHeapRange = std::uintptr_t{1} << 36;  // bytes of address space
// Where all blocks lie: kHeapRange bytes from here. At first where no program has memory.
extern std::atomic<std::uintptr_t> heap_range;
extern constinit thread_local HeapBlocks* heap_in_use;

// A block of the heap in use, aligned to `alignment`, a power of two; null where it has none.
void* take_block(std::size_t bytes, std::size_t alignment) noexcept;
inline bool is_block(const void* memory) noexcept {
  return reinterpret_cast<std::uintptr_t>(memory) - heap_range.load(std::memory_order_relaxed) < kHeapRange;
}
void give_back_block(void* memory) noexcept;  // is_block() must hold

}  // namespace internal
}  // namespace hone

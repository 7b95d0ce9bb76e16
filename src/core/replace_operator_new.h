// The program's operator new and delete, which let threads allocate from a RecyclingHeap. For one source file of
// a program, never of a library: what a program allocates with is the program's choice. With sanitizers, which
// bring their own, nothing is replaced. The forms for arrays and for std::nothrow call these.
#pragma once

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

#include <algorithm>
#include <cstdlib>
#include <new>

#include "core/recycling_heap.h"

namespace hone::internal {

inline void* allocate(std::size_t bytes, std::size_t alignment) {
  while (true) {
    if (heap_in_use != nullptr) [[unlikely]] {
      if (void* const block = take_block(bytes, alignment)) return block;
    }
    void* const memory =
        alignment <= alignof(std::max_align_t)
            ? std::malloc(std::max<std::size_t>(bytes, 1))
            : std::aligned_alloc(alignment,
                                 (std::max<std::size_t>(bytes, 1) + alignment - 1) / alignment * alignment);
    if (memory != nullptr) return memory;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}

inline void release(void* memory) noexcept {
  if (is_block(memory)) [[unlikely]]
    return give_back_block(memory);
  std::free(memory);
}

}  // namespace hone::internal

// Not inline: compilers would take new and free() apart, and warn that they do not belong together.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  return hone::internal::allocate(bytes, alignof(std::max_align_t));
}
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return hone::internal::allocate(bytes, static_cast<std::size_t>(alignment));
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { hone::internal::release(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  hone::internal::release(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept {
  hone::internal::release(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  hone::internal::release(memory);
}

#endif

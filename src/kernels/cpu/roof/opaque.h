// Hiding values from the compiler, for loops of arithmetic whose results nobody needs.
#pragma once

namespace hone::kernels::roof {

// From here on `value` may be anything and is needed: the compiler can neither compute with what it was nor
// leave out what made it.
template <typename T>
inline __attribute__((always_inline)) void make_opaque(T& value) {
  asm volatile("" : "+m"(value) : : "memory");
}

// All memory may have been read and written: a second pass over the same buffer is not the first one again.
inline __attribute__((always_inline)) void forget_memory() { asm volatile("" : : : "memory"); }

}  // namespace hone::kernels::roof

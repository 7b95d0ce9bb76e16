// Register-only arithmetic at the highest rate that the CPU's vector units reach: the compute roof. No memory
// traffic and enough independent accumulators that latency doesn't show. Timing is the caller's
// (lab/ceilings).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/dtype.h"

namespace hone::kernels::roof {

struct ArithmeticProbe {
  DType dtype = DType::kF32;            // of the multiplied operands; narrow types accumulate in 32 bits
  std::string instruction;              // "fma AVX3", "vdpbf16ps 512", …
  double operations_per_iteration = 0;  // multiplications plus additions
  void (*run)(int64_t iterations) = nullptr;  // on the calling thread
};

// The probes that this CPU can run: f32 and f64 always; bf16 and i8 where it has dot-product instructions.
std::vector<ArithmeticProbe> arithmetic_probes();

// The vector instruction set that the probes chose, and the dot-product extensions: part of a cache's key.
std::string vector_features();

namespace internal {
// Independent chains of multiply-adds. A core hides the latency when there are latency × pipes of them: 4 × 2
// on today's x86, 4 × 4 on wide Arm cores. x86 before AVX-512 has 16 registers, and two hold operands.
inline constexpr int kChains = 12;
inline constexpr int kChainsOf32Registers = 20;

// Appends the dot-product probes that this CPU supports (dot_product.cpp).
void add_dot_product_probes(std::vector<ArithmeticProbe>& probes);
}  // namespace internal

}  // namespace hone::kernels::roof

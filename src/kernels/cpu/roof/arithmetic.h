// Register-only arithmetic at the highest rate that the CPU's vector and matrix units reach: the compute
// roof. No memory traffic and enough independent accumulators that latency doesn't show. Timing is the
// caller's (lab/ceilings).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/dtype.h"

namespace hone::kernels::roof {

struct ArithmeticProbe {
  DType dtype = DType::kF32;            // of the multiplied operands; narrow types accumulate in 32 bits
  std::string method;                   // "fma" (vector registers) or "tiles" (matrix tiles)
  std::string instruction;              // "fma AVX3", "vdpbf16ps 512", "tdpbf16ps tiles", …
  double operations_per_iteration = 0;  // multiplications plus additions
  void (*run)(int64_t iterations) = nullptr;  // on the calling thread
};

// The probes that this process can run here: f32 and f64 always; bf16 and i8 where the CPU has dot-product
// instructions, and once more where it has matrix tiles. Asks the kernel for permission to use those.
std::vector<ArithmeticProbe> arithmetic_probes();

// The vector instruction set that the probes chose, and the dot-product and tile extensions: part of a
// cache's key.
std::string vector_features();

namespace internal {
// Independent chains of multiply-adds. A core hides the latency when there are latency × pipes of them: 4 × 2
// on today's x86, 4 × 4 on wide Arm cores. x86 before AVX-512 has 16 registers, and two hold operands.
inline constexpr int kChains = 12;
inline constexpr int kChainsOf32Registers = 20;

// Appends the dot-product probes that this CPU supports (dot_product.cpp).
void add_dot_product_probes(std::vector<ArithmeticProbe>& probes);

// Appends the probes on matrix tiles that this process may run (tiles.cpp).
void add_tile_probes(std::vector<ArithmeticProbe>& probes);
// The sum over all accumulators of a tile probe when every operand is 1: the products that an instruction
// adds, as the CPU counts them. Only where there is such a probe; exact for fewer than 2^18 iterations.
double tile_products(DType dtype, int64_t iterations);
}  // namespace internal

}  // namespace hone::kernels::roof

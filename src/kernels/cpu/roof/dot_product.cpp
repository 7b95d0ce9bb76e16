// Dot-product chains: bf16 pairs into f32, and u8 × i8 quadruples into i32, where x86 CPUs have instructions
// for them. Intrinsics, because Highway 1.0 doesn't reach these. Matrix tiles are in tiles.cpp. On
// optimisation, see arithmetic.cpp.
#include "kernels/cpu/roof/arithmetic.h"
#include "kernels/cpu/roof/opaque.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace hone::kernels::roof {
#if defined(__x86_64__)
namespace {

using internal::kChains;
using internal::kChainsOf32Registers;

// Vectors of 32-bit integers. Arrays of __m512i, which are vectors of 64-bit ones to the compiler, would not
// be kept in registers: GCC stores them in every round because the instruction has the other element type.
using Words512 = int __attribute__((vector_size(64)));
using Words256 = int __attribute__((vector_size(32)));

__attribute__((target("avx512f,avx512bf16"))) void run_bf16(int64_t iterations) {
  // Pairs (1, 1) and (1, -1): each chain adds 1·1 + 1·(-1) = 0 to itself and stays what it was.
  int ones = 0x3f803f80, signs = static_cast<int>(0xbf803f80u);
  float first = 1;
  make_opaque(ones);
  make_opaque(signs);
  make_opaque(first);
  const auto a = (__m512bh)_mm512_set1_epi32(ones);
  const auto b = (__m512bh)_mm512_set1_epi32(signs);
  __m512 chains[kChainsOf32Registers];
  for (int k = 0; k < kChainsOf32Registers; ++k) chains[k] = _mm512_set1_ps(first + static_cast<float>(k));
  for (int64_t i = 0; i < iterations; ++i) {
#pragma GCC unroll 32
    for (int k = 0; k < kChainsOf32Registers; ++k) chains[k] = _mm512_dpbf16_ps(chains[k], a, b);
  }
  __m512 result = chains[0];
  for (int k = 1; k < kChainsOf32Registers; ++k) result = _mm512_add_ps(result, chains[k]);
  make_opaque(result);
}

__attribute__((target("avx512f,avx512vnni"))) void run_vnni512(int64_t iterations) {
  int bytes = 0x01020304;
  make_opaque(bytes);
  const __m512i operand = _mm512_set1_epi32(bytes);
  Words512 chains[kChainsOf32Registers];
  for (int k = 0; k < kChainsOf32Registers; ++k) chains[k] = (Words512)_mm512_set1_epi32(bytes + k);
  for (int64_t i = 0; i < iterations; ++i) {
#pragma GCC unroll 32
    for (int k = 0; k < kChainsOf32Registers; ++k)
      chains[k] = (Words512)_mm512_dpbusd_epi32((__m512i)chains[k], operand, operand);
  }
  Words512 result = chains[0];
  for (int k = 1; k < kChainsOf32Registers; ++k) result += chains[k];
  make_opaque(result);
}

__attribute__((target("avx2,avxvnni"))) void run_vnni256(int64_t iterations) {
  int bytes = 0x01020304;
  make_opaque(bytes);
  const __m256i operand = _mm256_set1_epi32(bytes);
  Words256 chains[kChains];
  for (int k = 0; k < kChains; ++k) chains[k] = (Words256)_mm256_set1_epi32(bytes + k);
  for (int64_t i = 0; i < iterations; ++i) {
#pragma GCC unroll 32
    for (int k = 0; k < kChains; ++k)
      chains[k] = (Words256)_mm256_dpbusd_avx_epi32((__m256i)chains[k], operand, operand);
  }
  Words256 result = chains[0];
  for (int k = 1; k < kChains; ++k) result += chains[k];
  make_opaque(result);
}

}  // namespace

void internal::add_dot_product_probes(std::vector<ArithmeticProbe>& probes) {
  // Two operations (multiply, add) for each of 32 bf16 products, or of 64 (32) byte products, a chain.
  if (__builtin_cpu_supports("avx512bf16"))
    probes.push_back({DType::kBF16, "fma", "vdpbf16ps 512", 2.0 * 32 * kChainsOf32Registers, run_bf16});
  if (__builtin_cpu_supports("avx512vnni")) {
    probes.push_back({DType::kI8, "fma", "vpdpbusd 512", 2.0 * 64 * kChainsOf32Registers, run_vnni512});
  } else if (__builtin_cpu_supports("avxvnni")) {
    probes.push_back({DType::kI8, "fma", "vpdpbusd 256", 2.0 * 32 * kChains, run_vnni256});
  }
}

#else

void internal::add_dot_product_probes(std::vector<ArithmeticProbe>&) {}

#endif
}  // namespace hone::kernels::roof

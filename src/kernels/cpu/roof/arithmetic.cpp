// Fused multiply-add chains for f32 and f64, compiled for every instruction set that Highway knows on this
// architecture and chosen at run time.
//
// What the compiler must not do, and why it can't: fold the arithmetic (operands and starting values are
// opaque), merge chains (they start from different values), drop the loop (the sum of the chains counts as
// used), or reassociate (floating point, no -ffast-math). What must come out is a loop of independent vfmadd
// instructions on registers; `objdump -d` of this file's object shows it.
#include "kernels/cpu/roof/arithmetic.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/roof/arithmetic.cpp"
#include <hwy/foreach_target.h>
// foreach_target has to come before highway.h
#include <hwy/highway.h>

#include "kernels/cpu/roof/opaque.h"

HWY_BEFORE_NAMESPACE();
namespace hone::kernels::roof {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int kTargetChains =
    (HWY_ARCH_X86 && HWY_MAX_BYTES <= 32) ? internal::kChains : internal::kChainsOf32Registers;

// x ← 0.5 x + 0.5 goes to 1 from anywhere and stays: no overflow and no subnormal numbers, which some CPUs
// slow down for.
template <typename T>
HWY_INLINE void run_chains(int64_t iterations) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  T half = static_cast<T>(0.5);
  make_opaque(half);
  const V factor = hn::Set(d, half);
  const V term = hn::Set(d, half);
  V chains[kTargetChains];
  for (int k = 0; k < kTargetChains; ++k) chains[k] = hn::Set(d, half + static_cast<T>(k));
  for (int64_t i = 0; i < iterations; ++i) {
#pragma GCC unroll 32
    for (int k = 0; k < kTargetChains; ++k) chains[k] = hn::MulAdd(chains[k], factor, term);
  }
  for (int k = 1; k < kTargetChains; ++k) chains[0] = hn::Add(chains[0], chains[k]);
  T result = hn::GetLane(chains[0]);
  make_opaque(result);
}

void run_f32(int64_t iterations) { run_chains<float>(iterations); }
int64_t lanes_f32() { return static_cast<int64_t>(hn::Lanes(hn::ScalableTag<float>())) * kTargetChains; }

#if HWY_HAVE_FLOAT64
void run_f64(int64_t iterations) { run_chains<double>(iterations); }
int64_t lanes_f64() { return static_cast<int64_t>(hn::Lanes(hn::ScalableTag<double>())) * kTargetChains; }
#else
void run_f64(int64_t) {}
int64_t lanes_f64() { return 0; }
#endif

const char* target_name() { return hwy::TargetName(HWY_TARGET); }

}  // namespace HWY_NAMESPACE
}  // namespace hone::kernels::roof
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hone::kernels::roof {

HWY_EXPORT(run_f32);
HWY_EXPORT(run_f64);
HWY_EXPORT(lanes_f32);
HWY_EXPORT(lanes_f64);
HWY_EXPORT(target_name);

namespace {
void run_best_f32(int64_t iterations) { HWY_DYNAMIC_DISPATCH(run_f32)(iterations); }
void run_best_f64(int64_t iterations) { HWY_DYNAMIC_DISPATCH(run_f64)(iterations); }
}  // namespace

std::vector<ArithmeticProbe> arithmetic_probes() {
  const std::string instruction = std::string("fma ") + HWY_DYNAMIC_DISPATCH(target_name)();
  std::vector<ArithmeticProbe> probes;
  // Two operations a lane: a multiplication and an addition.
  const double f32 = 2.0 * static_cast<double>(HWY_DYNAMIC_DISPATCH(lanes_f32)());
  const double f64 = 2.0 * static_cast<double>(HWY_DYNAMIC_DISPATCH(lanes_f64)());
  probes.push_back({DType::kF32, "fma", instruction, f32, run_best_f32});
  if (f64 > 0) probes.push_back({DType::kF64, "fma", instruction, f64, run_best_f64});
  internal::add_dot_product_probes(probes);
  internal::add_tile_probes(probes);
  return probes;
}

std::string vector_features() {
  std::string features;
  for (const ArithmeticProbe& probe : arithmetic_probes()) {
    if (probe.dtype == DType::kF64) continue;  // the same instruction as f32's
    features += (features.empty() ? "" : ", ") + probe.instruction;
  }
  return features;
}

}  // namespace hone::kernels::roof
#endif

// Numbers of a seed's stream (core/philox.h) as CUDA kernels: a thread an element, whose number depends on its place alone, so
// that they are those of every other provider. Seed and place in the stream lie in the device's memory: a replay draws anew.
#pragma once

#include <cstdint>

#include "cuda/kernel_cache.h"

#include "core/dtype.h"
#include "core/result.h"

namespace hone::kernels::gpu {

// kDropout: elements are 0 or divided by what is kept of them. kBernoulli: 1 with the probability that each element is.
// kUniform: in [low, high). kNormal: with mean `low` and deviation `high`.
enum class RandomFunction : uint8_t { kDropout, kBernoulli, kUniform, kNormal };

struct RandomProgram {
  RandomFunction function = RandomFunction::kDropout;
  DType in = DType::kF32, out = DType::kF32;  // f32, f16, bf16; kBernoulli's result may also be bool
  int64_t elements = 0;
  double low = 0, high = 1;
  double ratio = 0.5;        // kDropout: what is dropped, where it is not in the device's memory
  bool reads_ratio = false;  // it is, f32
  bool may_rest = false;     // whether to drop at all is said by a bool there
  bool mask = false;         // which were kept is a result, too
};

inline constexpr const char* kRandomEntry = "hone_random";
inline constexpr int kRandomBlock = 256;

struct RandomKernel {
  cuda::KernelSource source;
  int64_t blocks = 0;  // of kRandomBlock threads
  // Parameters: elements (null for kUniform and kNormal), seed, place in the stream, ratio, whether to drop (null where there is none),
  // result, mask (or null).
};

Result<RandomKernel> generate_random(const RandomProgram& program);

// Classes, drawn by the logarithms of their weights: a block a row.
struct MultinomialProgram {
  DType in = DType::kF32, out = DType::kI32;  // f32, f16, bf16, f64; i32, i64
  int64_t rows = 1, classes = 1, samples = 1;
};
inline constexpr const char* kMultinomialEntry =
    "hone_multinomial";  // weights, seed, place in the stream, result
// Blocks of kRandomBlock threads, one a row.
Result<cuda::KernelSource> generate_multinomial(const MultinomialProgram& program);

}  // namespace hone::kernels::gpu

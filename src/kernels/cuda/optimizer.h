// Optimizers over many tensors as a CUDA kernel: parameters f32, or bf16 that are rounded stochastically
// (core/stochastic_rounding.h), and moments f32, updated where they lie or elsewhere. Addresses and
// sizes are an argument of the launch, so that one kernel serves all models.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "cuda/kernel_cache.h"

#include "core/dtype.h"
#include "core/result.h"

namespace hone::kernels::gpu {

struct OptimizerProgram {
  enum class Kind : uint8_t { kSgd, kAdamW };
  Kind kind = Kind::kAdamW;
  DType parameter = DType::kF32;  // or bf16
  DType gradient = DType::kF32;   // f32, f16, bf16; of those that are not f32, where they are
  bool mixed = false;   // `mixed`: each is of the one type or the other, as OptimizerTensors::wide says
  bool scaled = false;  // gradients are multiplied by a number in the device's memory
  float weight_decay = 0;
  float momentum = 0;  // of Sgd
  bool nesterov = false;
  float beta1 = 0.9F, beta2 = 0.999F, epsilon = 1e-8F;  // of AdamW

  bool rounds() const { return parameter == DType::kBF16; }
  std::size_t moments() const { return kind == Kind::kAdamW ? 2 : momentum != 0 ? 1 : 0; }
};

inline constexpr const char* kOptimizerEntry = "hone_optimize";
inline constexpr int kOptimizerBlock = 256;
inline constexpr int64_t kOptimizerChunk = 2048;  // elements of a block
inline constexpr std::size_t kOptimizerTensors =
    48;  // of one launch: arguments of kernels have 4 KB on every GPU

// The first argument of kOptimizerEntry, as it lies there. `first` says with which block each tensor begins, and how many
// blocks there are behind the last.
static_assert(kOptimizerTensors <= 64);
struct OptimizerTensors {
  std::array<const void*, kOptimizerTensors> x{}, gradient{}, m{}, v{};
  std::array<void*, kOptimizerTensors> next_x{}, next_m{}, next_v{};
  std::array<int64_t, kOptimizerTensors> size{};
  uint64_t wide = 0;                                // bit i: gradient i is f32, where they are mixed
  std::array<int32_t, kOptimizerTensors> number{};  // of parameters that are rounded
  std::array<int32_t, kOptimizerTensors + 1> first{};
  int32_t count = 0;
};

// Arguments of kOptimizerEntry: OptimizerTensors, then the addresses of the rate (f32), of the number of updates made before
// (i64; AdamW, and where parameters are rounded) and of the scale (f32; where `scaled`); null where there is none. Last the
// seed by which parameters are rounded (u64).
Result<cuda::KernelSource> generate_optimizer(const OptimizerProgram& program);

}  // namespace hone::kernels::gpu

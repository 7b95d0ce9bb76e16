// What a device's kernel does, told by its name: the kind of work, the library it comes from, the precision
// it computes in, and a name short enough to read. All of it is one table of patterns (kernel_family.cpp); a
// kernel that no pattern matches is kUnknown and keeps its own name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hone::trace {

enum class KernelWork : uint8_t {
  kUnknown,
  kMatrix,       // matrix products
  kConvolution,  // and its gradients
  kAttention,
  kPointwise,
  kReduction,
  kNormalization,
  kSoftmax,  // and losses on top of it
  kPooling,
  kLayout,  // changes the order of elements: NCHW ↔ NHWC, transposes, padding channels
  kCopy,    // copies and casts
  kFill,    // memset, constants
  kOptimizer,
  kCollective,
  kGather,  // look-ups, scatters, concatenation
  kEmbedding,
  kSort,
  kScan,
  kRandom,
  kAuxiliary,  // prepares or finishes another kernel: workspaces, split-K sums
};
inline constexpr int kKernelWorkCount = 20;
std::string_view kernel_work_name(KernelWork work);  // "matrix product"

// How numbers are multiplied. On matrix units (tensor cores) unless `vector` is in the name, and but for f64.
// k16Bit: f16 or bf16, the name does not say which.
enum class KernelMath : uint8_t {
  kUnknown,
  kF64,
  kVectorF32,
  kTf32,
  kBf16,
  kF16,
  k16Bit,
  kF8,
  kI8,
  kVectorF16
};
// "bf16 on tensor cores", "f32 without tensor cores"; empty: unknown
std::string_view kernel_math_name(KernelMath math);
bool on_tensor_cores(KernelMath math);

struct KernelFamily {
  KernelWork work = KernelWork::kUnknown;
  std::string_view library;  // "cuBLAS", "cuDNN", "PyTorch", "Triton", "NCCL", …; empty: unknown
  // Set for matrix products, convolutions and attention; kUnknown for all else.
  KernelMath math = KernelMath::kUnknown;

  std::string text() const;  // "matrix product, cuBLAS"
};

KernelFamily kernel_family(std::string_view name);

// "vectorized_elementwise_kernel<4, at::native::FillFunctor<int>, …>" → "fill i32"; names of libraries lose
// what only their authors need. At most `longest` bytes.
std::string kernel_short_name(std::string_view name, std::size_t longest = 64);

}  // namespace hone::trace

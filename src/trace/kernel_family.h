// What a device's kernel does, told by its name: the kind of work, the library it comes from, the precision
// it computes in, what decides between causes, and a name short enough to read. All of it is one table of
// patterns (kernel_family.cpp); a kernel that no pattern matches is kUnknown and keeps its own name. Linking
// looks at each distinct name once and keeps the answer (Trace::kernels).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trace/collective_kind.h"
#include "trace/name_patterns.h"

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
  kLayout,  // moves data only to put it into another order: NCHW ↔ NHWC, transposes
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
  kPadding,    // pads channels, or folds positions into them, for the kernel that follows
};
inline constexpr int kKernelWorkCount = static_cast<int>(KernelWork::kPadding) + 1;
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
std::string_view kernel_math_type(KernelMath math);  // "tf32"; of f32 without tensor cores "f32"
bool on_tensor_cores(KernelMath math);

struct KernelFamily {
  KernelWork work = KernelWork::kUnknown;
  std::string_view library;  // "cuBLAS", "cuDNN", "PyTorch", "Triton", "NCCL", …; empty: unknown
  // Set for matrix products, convolutions and attention; kUnknown for all else.
  KernelMath math = KernelMath::kUnknown;
  CollectiveKind collective = CollectiveKind::kOther;  // of kCollective
  bool generated = false;                              // by a compiler that fuses: Triton (Inductor), nvFuser
  bool channels_first = false;   // a normalisation over [N, C, H, W], where a faster order exists
  bool block_a_channel = false;  // a normalisation in which one block has all of a channel

  bool changes_layout() const { return work == KernelWork::kLayout; }
  std::string text() const;  // "matrix product, cuBLAS"
};

KernelFamily kernel_family(std::string_view name);

// The tables, for tests: rows that no name can reach, and how arithmetic is spelled.
std::vector<std::string_view> unreachable_kernel_rows();
std::span<const NamePattern<KernelMath>> kernel_math_table();

// "vectorized_elementwise_kernel<4, at::native::FillFunctor<int>, …>" → "fill i32"; names of libraries lose
// what only their authors need. At most `longest` bytes.
std::string kernel_short_name(std::string_view name, std::size_t longest = 64);

}  // namespace hone::trace

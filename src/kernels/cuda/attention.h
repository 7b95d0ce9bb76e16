// Scaled dot-product attention as one CUDA kernel, with masks and for any type, where the library's takes none: scores stay
// in registers and shared memory. Sums are of f32 without tensor cores: for short sequences, where what counts is that it is one
// kernel. The running maximum and sum are those of Milakov and Gimelshein, "Online normalizer calculation for softmax"
// (arXiv:1805.02867), and of Dao et al., "FlashAttention" (arXiv:2205.14135).
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "cuda/kernel_cache.h"

#include "core/dtype.h"
#include "core/result.h"

namespace hone::kernels::gpu {

// An operand's rows, of [batch, head, row]: in elements from where its tensor begins. The elements of a row lie together.
struct AttentionRows {
  int64_t offset = 0;
  std::array<int64_t, 3> strides{};
};

struct AttentionMaskRows {
  DType dtype = DType::kF32;         // bool: what counts; else what is added to the score
  std::array<int64_t, 4> strides{};  // of batch, head, query and key; 0 where it is broadcast
};

struct AttentionProgram {
  DType dtype = DType::kF32;  // of q, k, v and the result: f32, f16, bf16; computed in f32
  int64_t batch = 1, heads = 1, kv_heads = 1;
  int64_t queries = 1, keys = 1;
  int64_t head_dim = 1, value_dim = 1;
  float scale = 1;
  bool causal = false;  // query i sees keys 0…i
  AttentionRows q, k, v, out;
  std::optional<AttentionMaskRows> mask;
};

inline constexpr const char* kAttentionEntry = "hone_attention";
inline constexpr int kAttentionBlock = 128;
inline constexpr int64_t kMostAttentionColumns = 128;  // of a head: tiles of keys and values fit 48 KiB

struct AttentionKernel {
  cuda::KernelSource source;
  // Parameters of kAttentionEntry: q, k, v, the mask where there is one, the result. Blocks of kAttentionBlock threads.
  std::array<int64_t, 3> grid{};
};

// Extents and strides are constants of the source. Other types, wider heads, and more heads or batches than a grid has are
// unsupported.
Result<AttentionKernel> generate_attention(const AttentionProgram& program);

// The same on tensor cores (attention_mma.cpp). What is read lies in registers, each thread's as 16 bytes in a row, so that
// nothing waits for shared memory: which columns of queries and keys stand at which place of a product is free, as long as it is
// the same for both.
enum class AttentionSplit : uint8_t {
  kKeys,  // blocks of 16 queries, whose warps part the keys and join what they found: the most blocks for short sequences
  kQueries,  // blocks of 64 queries, 16 a warp: keys and values are read a quarter as often
};
inline constexpr const char* kAttentionMmaEntry = "hone_attention_mma";
// Unsupported: f32, and operands whose rows are not whole 16 bytes. Architectures from sm_80 on.
Result<AttentionKernel> generate_attention_mma(const AttentionProgram& program, AttentionSplit split);

}  // namespace hone::kernels::gpu

// Scaled dot-product attention by cuDNN: one operation (since 9.13) where every query sees every key and nothing but the result
// is wanted, else the pattern of products and functions that the library's engines fuse. Its gradient is in
// cudnn_attention_gradient.h.
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "cuda/cudnn_composition.h"

namespace hone::cuda {

// o = softmax(scale · q · kᵀ + mask) · v for each head of each batch; keys and values may have fewer heads, each for as many
// queries' in turn. f16 and bf16, summed in f32.
struct AttentionDesc {
  // Elements from one to the next; those of a row lie together.
  struct Strides {
    int64_t batch = 0, head = 0, row = 0;
    friend bool operator==(const Strides&, const Strides&) = default;
  };
  // What is added to the scores: [batch or 1, heads or 1, queries, keys].
  struct Mask {
    DType dtype = DType::kF32;
    Shape extents;
    std::vector<int64_t> strides;
    friend bool operator==(const Mask&, const Mask&) = default;
  };
  DType dtype = DType::kF16;
  int64_t batch = 1, heads = 1, kv_heads = 1, queries = 1, keys = 1;
  int64_t head_dim = 8, value_dim = 8;
  Strides q, k, v, o;
  bool causal = false;  // query i sees keys 0…i
  std::optional<Mask> mask = {};
  bool sums =
      false;  // gives the logarithm of each row's sum of exponentials, too: f32 [batch, heads, queries]
  friend bool operator==(const AttentionDesc&, const AttentionDesc&) = default;
};

// They lie on the host and are read when a run is given.
struct AttentionNumbers {
  alignas(kCudnnAlignment) float scale = 1;
  alignas(kCudnnAlignment) float never = -std::numeric_limits<float>::infinity();
  alignas(kCudnnAlignment) float one = 1;
};

// Addresses of one run.
struct AttentionOperands {
  const void* q = nullptr;
  const void* k = nullptr;
  const void* v = nullptr;
  const void* mask = nullptr;
  void* o = nullptr;
  void* sums = nullptr;
  const AttentionNumbers* numbers = nullptr;
};

// What the graphs of attention and of its gradient share.
class AttentionComposition : public CudnnComposition {
 public:
  const AttentionDesc& desc() const { return desc_; }

 protected:
  static constexpr int64_t kQ = 1, kK = 2, kV = 3, kO = 4, kScale = 5, kMask = 6, kNever = 7, kSums = 8;

  AttentionComposition(std::shared_ptr<const Cudnn> library, const AttentionDesc& desc)
      : CudnnComposition(std::move(library), desc.dtype != DType::kF32), desc_(desc) {}
  // An error where the library is of a version that has no such operation, or computes it wrongly, and where it does not
  // take these operands.
  static Status check(const Cudnn& library, const AttentionDesc& desc);
  // On Hopper the result of others would be wrong, and the library does not say so.
  static Status check_rows(const AttentionDesc::Strides& strides);

  Result<Piece> rows(int64_t uid, int64_t heads, int64_t count, int64_t columns,
                     const AttentionDesc::Strides& strides);
  Result<Piece> columns(int64_t uid, int64_t heads, int64_t count, int64_t columns,
                        const AttentionDesc::Strides& strides);  // the same, transposed
  Result<Piece> sums_piece();
  Result<Piece> between_scores(DType dtype = DType::kF32);
  // scale · q · kᵀ + mask, without what queries may not see.
  Result<Piece> scores(const Piece& q, const Piece& keys_across, const Piece& scale);
  // Scores that queries may see; the others are -∞.
  Result<Piece> admitted(const Piece& scores);

  AttentionDesc desc_;
};

class Attention : public AttentionComposition {
 public:
  // Rows that are not aligned to 16 bytes are ours to refuse: on Hopper the result would be wrong.
  static Result<std::shared_ptr<const Attention>> make(std::shared_ptr<const Cudnn> library,
                                                       const AttentionDesc& desc);

  // Of the sums, for which a run needs a place also where nobody wants them: without them the library has no engine for a
  // composition. 0: it needs none.
  std::size_t sums_bytes() const;
  std::vector<CudnnOperand> operands(const AttentionOperands& addresses) const;

 private:
  using AttentionComposition::AttentionComposition;
  bool is_one_operation() const { return !desc_.causal && !desc_.mask && !desc_.sums; }
  Status build();
  Status build_operation();
  Status build_composition();
};

}  // namespace hone::cuda

// Scaled dot-product attention by cuDNN's one operation for it (since 9.13), as data: no mask, every query sees every key.
#pragma once

#include <memory>
#include <vector>

#include "cuda/cudnn_graph.h"

namespace hone::cuda {

// o = softmax(scale · q · kᵀ) · v for each head of each batch; keys and values may have fewer heads, each for as many
// queries' in turn. f16 and bf16, summed in f32.
struct AttentionDesc {
  // Elements from one to the next; those of a row lie together.
  struct Strides {
    int64_t batch = 0, head = 0, row = 0;
    friend bool operator==(const Strides&, const Strides&) = default;
  };
  DType dtype = DType::kF16;
  int64_t batch = 1, heads = 1, kv_heads = 1, queries = 1, keys = 1;
  int64_t head_dim = 8, value_dim = 8;
  Strides q, k, v, o;
  friend bool operator==(const AttentionDesc&, const AttentionDesc&) = default;
};

// Addresses of one run; the scale lies on the host and is read when the run is given.
struct AttentionOperands {
  const void* q = nullptr;
  const void* k = nullptr;
  const void* v = nullptr;
  void* o = nullptr;
  const float* scale = nullptr;
};

class Attention : public CudnnGraph {
 public:
  // An error where the library is of a version that has no such operation, or computes it wrongly, and where it does not
  // take these operands. Rows that are not aligned to 16 bytes are ours to refuse: on Hopper the result would be wrong.
  static Result<std::shared_ptr<const Attention>> make(std::shared_ptr<const Cudnn> library,
                                                       const AttentionDesc& desc);

  const AttentionDesc& desc() const { return desc_; }
  std::vector<CudnnOperand> operands(const AttentionOperands& addresses) const;

 private:
  Attention(std::shared_ptr<const Cudnn> library, const AttentionDesc& desc)
      : CudnnGraph(std::move(library), desc.dtype != DType::kF32), desc_(desc) {}
  Status build();

  AttentionDesc desc_;
};

}  // namespace hone::cuda

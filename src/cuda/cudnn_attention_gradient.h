// The gradients of attention's queries, keys and values by cuDNN: of them, the result, its gradient and the sums that the
// forward pass gave. A pattern of products and functions that the library's engines fuse.
#pragma once

#include <memory>
#include <vector>

#include "cuda/cudnn_attention.h"

namespace hone::cuda {

struct AttentionGradientDesc {
  AttentionDesc forward;  // `sums` are read; `o` is where the result lies
  AttentionDesc::Strides d_o, dq, dk, dv;
  // Two runs give the same bits: the products of all scores stand in memory on the way to dq, and nothing is added by
  // atomics. Otherwise an f32 copy of dq is what they are added to.
  bool deterministic = true;
  friend bool operator==(const AttentionGradientDesc&, const AttentionGradientDesc&) = default;
};

struct AttentionGradientOperands {
  AttentionOperands forward;
  const void* d_o = nullptr;
  void* dq = nullptr;
  void* dk = nullptr;
  void* dv = nullptr;
  void* scratch = nullptr;  // of scratch_bytes()
};

class AttentionGradient : public AttentionComposition {
 public:
  static Result<std::shared_ptr<const AttentionGradient>> make(std::shared_ptr<const Cudnn> library,
                                                               const AttentionGradientDesc& desc);

  // What the graph needs beside the workspace of a plan.
  std::size_t scratch_bytes() const { return dots_bytes() + dq_sums_bytes(); }
  std::vector<CudnnOperand> operands(const AttentionGradientOperands& addresses) const;

 private:
  AttentionGradient(std::shared_ptr<const Cudnn> library, const AttentionGradientDesc& desc)
      : AttentionComposition(std::move(library), desc.forward), gradient_(desc) {}
  Status build();
  Status build_key_gradient(const Piece& by_score, const Piece& rows, int64_t uid, int64_t columns,
                            const AttentionDesc::Strides& strides);
  Result<Piece> dots(const Piece& d_o);
  std::size_t dots_bytes() const;
  std::size_t dq_sums_bytes() const;

  AttentionGradientDesc gradient_;
};

}  // namespace hone::cuda

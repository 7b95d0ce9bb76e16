// The epilogues that the own f32 kernels (gemm/, depthwise/) fuse: at most one residual tensor, then a clamp,
// both on registers; then activations on what was just written, while it is in the cache.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "kernels/cpu/dnnl/post_op.h"

namespace hone::kernels {

struct FusedEpilogue {
  bool residual = false;  // adds a tensor of the result's own shape and layout
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
  std::vector<PostOp> activations;

  // Whether zero stays zero without a residual: what the channel padding of a blocked result needs.
  bool keeps_zero() const;
};

// nullopt for what has another form. `shape` and `layout` are the result's.
std::optional<FusedEpilogue> fuse_epilogue(std::span<const PostOp> post_ops, const Shape& shape,
                                           Layout layout);

// What activate() computes.
bool is_activation(const PostOp& op);
// Applies `activations` in order to n floats in place. Where steps of channels are among them, the floats are
// positions of a block of 16 channels, of which `channel` is the first.
void activate(std::span<const PostOp> activations, float* values, int64_t n, int64_t channel = 0) noexcept;

}  // namespace hone::kernels

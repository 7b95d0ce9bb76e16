// The gradient of fused attention in f32: that of Q, K and V from the output's, with the weights computed again a few queries at a
// time. Nothing of the size Tq×Tk is in memory, neither here nor from the forward pass (Dao et al. 2022, section 3.1 and
// appendix B.4; here whole rows of weights fit a cache, so that no sums of the forward pass are needed).
#pragma once

#include <cstddef>

#include "core/result.h"
#include "kernels/cpu/attention/attention.h"

namespace hone::kernels {

struct AttentionGradientDesc {
  AttentionDesc forward;  // `out` is where the output's gradient lies
  AttentionStrides dq = {}, dk = {}, dv = {};
};

class AttentionGradient {
 public:
  static Result<AttentionGradient> create(const AttentionGradientDesc& desc);
  std::size_t scratch_bytes() const { return scratch_per_thread_ * static_cast<std::size_t>(threads_); }
  // No output overlaps an input. A query that may see no key has no part in any gradient. Scratch is aligned to 64 bytes.
  void execute(const float* q, const float* k, const float* v, const float* mask, const float* dy, float* dq,
               float* dk, float* dv, void* scratch) const noexcept;

 private:
  AttentionGradientDesc desc_;
  int64_t queries_at_once_ = 0;
  std::size_t scratch_per_thread_ = 0;
  int threads_ = 1;
};

}  // namespace hone::kernels

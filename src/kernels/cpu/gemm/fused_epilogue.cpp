#include "kernels/cpu/gemm/fused_epilogue.h"

#include <algorithm>

#include "kernels/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/gemm/fused_epilogue.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/simd/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hone::kernels {
namespace HWY_NAMESPACE {

template <typename F>
HWY_INLINE void each_vector(float* values, int64_t n, const F& f) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) hn::StoreU(f(hn::LoadU(kF32, values + i)), kF32, values + i);
  if (i < n) store_first(f(load_first(values + i, n - i)), values + i, n - i);
}

// n floats in blocks of 16, each with the same 16 numbers.
template <typename F>
HWY_INLINE void each_of_block(float* values, int64_t n, const float* block, const F& f) {
  constexpr int64_t kBlock = 16;
  for (int64_t lane = 0; lane < kBlock; lane += kLanes) {
    const VF number = hn::LoadU(kF32, block + lane);
    for (int64_t i = lane; i < n; i += kBlock)
      hn::StoreU(f(hn::LoadU(kF32, values + i), number), kF32, values + i);
  }
}

void Activate(const PostOp& op, float* values, int64_t n, int64_t channel) {
  using Kind = PostOp::Kind;
  const VF zero = hn::Zero(kF32);
  const VF one = splat(1.0F);
  const VF alpha = splat(op.alpha);
  const VF beta = splat(op.beta);
  switch (op.kind) {
    case Kind::kRelu:
      return each_vector(values, n, [=](VF x) HWY_ATTR { return max_second(zero, x); });
    case Kind::kClip:
      return each_vector(values, n, [=](VF x) HWY_ATTR { return min_second(beta, max_second(alpha, x)); });
    case Kind::kLeakyRelu:
      return each_vector(
          values, n, [=](VF x) HWY_ATTR { return hn::IfThenElse(hn::Gt(x, zero), x, hn::Mul(x, alpha)); });
    case Kind::kSigmoid:
      return each_vector(values, n, [](VF x) HWY_ATTR { return sigmoid_f32(x); });
    case Kind::kTanh:
      return each_vector(values, n, [](VF x) HWY_ATTR { return tanh_f32(x); });
    case Kind::kGeluErf:
      return each_vector(values, n, [](VF x) HWY_ATTR { return gelu_erf_f32(x); });
    case Kind::kGeluTanh:
      return each_vector(values, n, [](VF x) HWY_ATTR { return gelu_tanh_f32(x); });
    case Kind::kSwish:
      return each_vector(values, n,
                         [=](VF x) HWY_ATTR { return hn::Mul(x, sigmoid_f32(hn::Mul(x, alpha))); });
    case Kind::kHardSigmoid:
      return each_vector(values, n, [=](VF x) HWY_ATTR {
        return min_second(one, max_second(zero, hn::MulAdd(x, alpha, beta)));
      });
    case Kind::kHardSwish:
      return each_vector(values, n, [=](VF x) HWY_ATTR {
        const VF gate = hn::MulAdd(x, splat(1.0F / 6), splat(0.5F));
        return hn::Mul(x, min_second(one, max_second(zero, gate)));
      });
    case Kind::kChannelMul:
      return each_of_block(values, n, op.channels->data() + channel,
                           [](VF x, VF number) HWY_ATTR { return hn::Mul(x, number); });
    case Kind::kChannelAdd:
      return each_of_block(values, n, op.channels->data() + channel,
                           [](VF x, VF number) HWY_ATTR { return hn::Add(x, number); });
    case Kind::kQuantize: {
      // x / alpha as a product with the reciprocal, corrected once: rounds as the division does.
      const VF step = alpha;
      const VF inverse = splat(1.0F / op.alpha);
      const VF low = splat(op.low);
      const VF high = splat(op.high);
      const VF least = splat((op.low - 1) * op.alpha);  // finite, so that infinities end at the ends, too
      const VF most = splat((op.high + 1) * op.alpha);
      return each_vector(values, n, [=](VF given) HWY_ATTR {
        const VF x = min_second(most, max_second(least, given));
        const VF near = hn::Mul(x, inverse);
        const VF quotient = hn::MulAdd(hn::NegMulAdd(near, step, x), inverse, near);
        return hn::Mul(min_second(high, max_second(low, hn::Round(quotient))), step);
      });
    }
    default:
      return;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace hone::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hone::kernels {
namespace {

HWY_EXPORT(Activate);

}  // namespace

bool is_activation(const PostOp& op) {
  using Kind = PostOp::Kind;
  constexpr Kind kKinds[] = {Kind::kRelu,        Kind::kClip,      Kind::kLeakyRelu, Kind::kSigmoid,
                             Kind::kTanh,        Kind::kGeluErf,   Kind::kGeluTanh,  Kind::kSwish,
                             Kind::kHardSigmoid, Kind::kHardSwish, Kind::kQuantize,  Kind::kChannelMul,
                             Kind::kChannelAdd};
  return std::find(std::begin(kKinds), std::end(kKinds), op.kind) != std::end(kKinds);
}

std::optional<FusedEpilogue> fuse_epilogue(std::span<const PostOp> post_ops, const Shape& shape,
                                           Layout layout) {
  FusedEpilogue fused;
  if (!post_ops.empty() && post_ops[0].kind == PostOp::Kind::kBinaryAdd) {
    if (post_ops[0].operand_shape != shape || post_ops[0].operand_layout != layout) return std::nullopt;
    fused.residual = true;
    post_ops = post_ops.subspan(1);
  }
  if (!post_ops.empty() && post_ops[0].kind == PostOp::Kind::kRelu) {
    fused.low = 0;
    post_ops = post_ops.subspan(1);
  } else if (!post_ops.empty() && post_ops[0].kind == PostOp::Kind::kClip) {
    fused.low = post_ops[0].alpha;
    fused.high = post_ops[0].beta;
    post_ops = post_ops.subspan(1);
  }
  if (!std::all_of(post_ops.begin(), post_ops.end(), is_activation)) return std::nullopt;
  fused.activations.assign(post_ops.begin(), post_ops.end());
  return fused;
}

bool FusedEpilogue::keeps_zero() const {
  const auto keeps = [](const PostOp& op) {
    return op.kind == PostOp::Kind::kQuantize || op.is_of_channel() || op.kind == PostOp::Kind::kRelu ||
           (op.kind == PostOp::Kind::kClip && op.alpha <= 0 && op.beta >= 0);
  };
  return low <= 0 && high >= 0 && std::all_of(activations.begin(), activations.end(), keeps);
}

void activate(std::span<const PostOp> activations, float* values, int64_t n, int64_t channel) noexcept {
  for (const PostOp& op : activations) HWY_DYNAMIC_DISPATCH(Activate)(op, values, n, channel);
}

}  // namespace hone::kernels
#endif

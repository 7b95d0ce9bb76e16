#include "model/zoo/transformer.h"

#include <cmath>
#include <limits>
#include <numbers>

namespace hone::model::zoo {
namespace {

ValueId weigh(const Module& at, ValueId scores, ValueId values) {
  return at.op("MatMul", {at.op("Softmax", {scores}, {{"axis", int64_t{-1}}}), values});
}

ValueId scaled_scores(const Module& at, ValueId queries, ValueId keys, const Heads& heads) {
  const float scale = std::sqrt(static_cast<float>(heads.width));
  return at.op("Div", {at.op("MatMul", {queries, keys}), at.scalar(scale)});
}

ValueId in_heads(const Module& at, ValueId x, const Heads& heads) {
  return at.reshape(x, {Module::Extent{x, 0}, Module::Extent{x, 1}, heads.count, heads.width});
}

ValueId mean(const Module& at, ValueId x) {
  return at.op("ReduceMean", {x, at.ints({-1})}, {{"keepdims", int64_t{1}}});
}

}  // namespace

ValueId linear(const Module& at, ValueId x, int64_t in, int64_t out, Initial initial) {
  const ValueId product = at.op("MatMul", {x, at.parameter("weight", {in, out}, initial)});
  return at.op("Add", {at.parameter("bias", {out}, kTransformer), product});
}

ValueId linear_gemm(const Module& at, ValueId x, int64_t in, int64_t out, Initial initial) {
  return at.op("Gemm",
               {x, at.parameter("weight", {out, in}, initial), at.parameter("bias", {out}, kTransformer)},
               {{"alpha", 1.0f}, {"beta", 1.0f}, {"transB", int64_t{1}}});
}

ValueId layer_norm(const Module& at, ValueId x, int64_t width, float epsilon, LayerNormForm form) {
  const ValueId scale = at.parameter("weight", {width}, kScale);
  const ValueId shift = at.parameter("bias", {width}, kShift);
  if (form == LayerNormForm::kOperator)
    return at.op("LayerNormalization", {x, scale, shift}, {{"axis", int64_t{-1}}, {"epsilon", epsilon}});
  const ValueId centred = at.op("Sub", {x, mean(at, x)});
  const ValueId variance = mean(at, at.op("Pow", {centred, at.scalar(2)}));
  const ValueId deviation = at.op("Sqrt", {at.op("Add", {variance, at.scalar(epsilon)})});
  return at.op("Add", {at.op("Mul", {at.op("Div", {centred, deviation}), scale}), shift});
}

ValueId gelu_erf(const Module& at, ValueId x) {
  const ValueId erf = at.op("Erf", {at.op("Div", {x, at.scalar(std::numbers::sqrt2_v<float>)})});
  return at.op("Mul", {at.op("Mul", {x, at.op("Add", {erf, at.scalar(1)})}), at.scalar(0.5f)});
}

ValueId gelu_tanh(const Module& at, ValueId x) {
  const ValueId half = at.op("Mul", {x, at.scalar(0.5f)});
  const ValueId cube = at.op("Mul", {at.op("Pow", {x, at.scalar(3)}), at.scalar(0.044715f)});
  const auto factor = static_cast<float>(std::sqrt(2 / std::numbers::pi));
  const ValueId inner = at.op("Mul", {at.op("Add", {x, cube}), at.scalar(factor)});
  return at.op("Mul", {half, at.op("Add", {at.op("Tanh", {inner}), at.scalar(1)})});
}

ValueId cut_to_length(const Module& at, ValueId places, ValueId x, const Ints& axes) {
  const ValueId length = at.op("Gather", {at.op("Shape", {x}), at.ints({1})}, {{"axis", int64_t{0}}});
  const ValueId ends =
      axes.size() == 1 ? length
                       : at.op("Concat", std::vector<ValueId>(axes.size(), length), {{"axis", int64_t{0}}});
  return at.op("Slice", {places, at.ints(Ints(axes.size(), 0)), ends, at.ints(axes)});
}

ValueId split_heads(const Module& at, ValueId x, const Heads& heads) {
  return at.op("Transpose", {in_heads(at, x, heads)}, {{"perm", Ints{0, 2, 1, 3}}});
}

ValueId split_heads_transposed(const Module& at, ValueId x, const Heads& heads) {
  return at.op("Transpose", {in_heads(at, x, heads)}, {{"perm", Ints{0, 2, 3, 1}}});
}

ValueId merge_heads(const Module& at, ValueId x, const Heads& heads) {
  const ValueId together = at.op("Transpose", {x}, {{"perm", Ints{0, 2, 1, 3}}});
  return at.reshape(together, {Module::Extent{together, 0}, Module::Extent{together, 1}, heads.hidden()});
}

ValueId attend_masked(const Module& at, ValueId queries, ValueId keys, ValueId values, ValueId added,
                      const Heads& heads) {
  return weigh(at, at.op("Add", {scaled_scores(at, queries, keys, heads), added}), values);
}

ValueId attend_all(const Module& at, ValueId queries, ValueId keys, ValueId values, const Heads& heads) {
  return weigh(at, scaled_scores(at, queries, keys, heads), values);
}

ValueId attend_where(const Module& at, ValueId queries, ValueId keys, ValueId values, ValueId visible,
                     const Heads& heads) {
  const ValueId scores = scaled_scores(at, queries, keys, heads);
  const ValueId lowest = at.scalar(std::numeric_limits<float>::lowest());
  return weigh(at, at.op("Where", {visible, scores, lowest}), values);
}

ValueId attend_scaled(const Module& at, ValueId queries, ValueId keys, ValueId values, const Heads& heads) {
  const float scale = std::pow(static_cast<float>(heads.width), -0.25f);  // √(1/√width) on each side
  const ValueId left = at.op("Mul", {queries, at.scalar(scale)});
  const ValueId right = at.op("Mul", {keys, at.scalar(scale)});
  return weigh(at, at.op("MatMul", {left, right}), values);
}

}  // namespace hone::model::zoo

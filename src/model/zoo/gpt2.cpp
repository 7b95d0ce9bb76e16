// GPT-2: layers that normalise before attention and feed-forward; the head shares the embedding's weights.
#include <cmath>
#include <numeric>

#include <fmt/core.h>

#include "model/zoo/models.h"
#include "model/zoo/transformer.h"

namespace hone::model::zoo {
namespace {

constexpr float kGpt2Epsilon = 1e-5f;

// Hugging Face's Conv1D: Gemm on rows, so the leading axes are folded before and unfolded after.
ValueId conv1d(const Module& at, ValueId x, int64_t in, int64_t out, Initial initial) {
  const ValueId rows = at.op("Reshape", {x, at.ints({-1, in})});
  const ValueId product = at.op(
      "Gemm", {rows, at.parameter("weight", {in, out}, initial), at.parameter("bias", {out}, kTransformer)},
      {{"alpha", 1.0f}, {"beta", 1.0f}});
  return at.reshape(product, {Module::Extent{x, 0}, Module::Extent{x, 1}, out});
}

struct Gpt {
  const GptSizes& sizes;
  Heads heads;
  ValueId visible;

  // Projections back into the residual stream start smaller: 2 · layers of them add up.
  Initial residual() const { return {0, 0.02f / std::sqrt(2.0f * static_cast<float>(sizes.layers))}; }

  ValueId normalise(const Module& at, ValueId x) const {
    return layer_norm(at, x, sizes.hidden, kGpt2Epsilon, LayerNormForm::kOperator);
  }

  ValueId attention(const Module& at, ValueId x) const {
    const int64_t hidden = sizes.hidden;
    const ValueId joint = conv1d(at["c_attn"], x, hidden, 3 * hidden, kTransformer);
    const std::vector<ValueId> parts =
        at.ops("Split", {joint, at.ints({hidden, hidden, hidden})}, 3, {{"axis", int64_t{2}}});
    const ValueId queries = split_heads(at, parts[0], heads);
    const ValueId keys = split_heads_transposed(at, parts[1], heads);
    const ValueId values = split_heads(at, parts[2], heads);
    const ValueId context = merge_heads(at, attend_where(at, queries, keys, values, visible, heads), heads);
    return conv1d(at["c_proj"], context, hidden, hidden, residual());
  }

  ValueId feed_forward(const Module& at, ValueId x) const {
    const ValueId wide = conv1d(at["c_fc"], x, sizes.hidden, 4 * sizes.hidden, kTransformer);
    return conv1d(at["c_proj"], gelu_tanh(at["act"], wide), 4 * sizes.hidden, sizes.hidden, residual());
  }

  ValueId block(const Module& at, ValueId x) const {
    x = at.op("Add", {attention(at["attn"], normalise(at["ln_1"], x)), x});
    return at.op("Add", {x, feed_forward(at["mlp"], normalise(at["ln_2"], x))});
  }
};

// Position t sees the positions up to itself: [1, 1, T, T].
ValueId causal_mask(const Module& at, int64_t length) {
  Tensor mask(DType::kBool, {1, 1, length, length});
  for (int64_t i = 0; i < length * length; ++i)
    mask.as<bool>()[static_cast<std::size_t>(i)] = i % length <= i / length;
  return at.constant(std::move(mask));
}

}  // namespace

Result<Built> build_gpt2(const Common& common, const GptSizes& sizes) {
  if (sizes.length <= 0 || sizes.length > sizes.positions)
    return invalid(fmt::format("gpt2: a length of {} is not in [1, {}]", sizes.length, sizes.positions));
  Network network("gpt2", common.seed);
  const Module root = network.root();
  const Module transformer = root["transformer"];
  const ValueId ids =
      network.input("input_ids", DType::kI64, {common.batch_dim(), common.length_dim(sizes.length)});

  const Module word = transformer["wte"];
  const Module place = transformer["wpe"];
  const ValueId embedding = word.parameter("weight", {sizes.vocabulary, sizes.hidden}, kTransformer);
  const int64_t length = common.open_length ? sizes.positions : sizes.length;
  const auto cut = [&](ValueId table, const Ints& axes) {
    return common.open_length ? cut_to_length(transformer, table, ids, axes) : table;
  };
  std::vector<int64_t> places(static_cast<std::size_t>(length));
  std::iota(places.begin(), places.end(), 0);
  const ValueId words = word.op("Gather", {embedding, ids}, {{"axis", int64_t{0}}});
  const ValueId positions =
      place.op("Gather",
               {place.parameter("weight", {sizes.positions, sizes.hidden}, kTransformer),
                cut(place.constant(Tensor::i64({1, length}, places)), {1})},
               {{"axis", int64_t{0}}});
  ValueId x = transformer.op("Add", {words, positions});

  const Gpt gpt{
      sizes, {sizes.heads, sizes.hidden / sizes.heads}, cut(causal_mask(transformer, length), {2, 3})};
  for (int64_t i = 0; i < sizes.layers; ++i) x = gpt.block(transformer["h"][i], x);
  x = gpt.normalise(transformer["ln_f"], x);
  const Module head = root["lm_head"];
  x = head.op("MatMul", {x, head.op("Transpose", {embedding}, {{"perm", Ints{1, 0}}})});
  network.output(x, "logits", {common.batch_dim(), common.length_dim(sizes.length), sizes.vocabulary});
  return std::move(network).finish();
}

}  // namespace hone::model::zoo

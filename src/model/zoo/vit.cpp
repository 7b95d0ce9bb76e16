// ViT: patches as tokens behind a class token, layers that normalise before attention and feed-forward.
#include <fmt/core.h>

#include "model/zoo/convolutional.h"
#include "model/zoo/models.h"
#include "model/zoo/transformer.h"

namespace hone::model::zoo {
namespace {

constexpr float kVitEpsilon = 1e-12f;

ValueId normalise(const Module& at, ValueId x, const VitSizes& sizes) {
  return layer_norm(at, x, sizes.hidden, kVitEpsilon, LayerNormForm::kOperator);
}

ValueId embed(const Module& at, ValueId image, const VitSizes& sizes) {
  const Module patches = at["patch_embeddings"];
  ValueId x = convolve(patches["projection"], image,
                       {.channels = sizes.hidden,
                        .kernel = sizes.patch,
                        .stride = sizes.patch,
                        .padded = false,
                        .bias = true,
                        .gain = 1});
  x = patches.reshape(x, {Module::Extent{x, 0}, sizes.hidden, -1});
  x = patches.op("Transpose", {x}, {{"perm", Ints{0, 2, 1}}});
  const ValueId token = at.op("Expand", {at.parameter("cls_token", {1, 1, sizes.hidden}, kTransformer),
                                         at.shape({Module::Extent{image, 0}, 1, sizes.hidden})});
  x = at.op("Concat", {token, x}, {{"axis", int64_t{1}}});
  const int64_t side = sizes.size / sizes.patch;
  return at.op("Add",
               {x, at.parameter("position_embeddings", {1, side * side + 1, sizes.hidden}, kTransformer)});
}

ValueId attention(const Module& at, ValueId x, const VitSizes& sizes) {
  const Heads heads{sizes.heads, sizes.hidden / sizes.heads};
  const Module self = at["attention"];
  const int64_t hidden = sizes.hidden;
  const ValueId queries = split_heads(self, linear(self["query"], x, hidden, hidden), heads);
  const ValueId keys = split_heads_transposed(self, linear(self["key"], x, hidden, hidden), heads);
  const ValueId values = split_heads(self, linear(self["value"], x, hidden, hidden), heads);
  const ValueId context = merge_heads(self, attend_scaled(self, queries, keys, values, heads), heads);
  return linear(at["output"]["dense"], context, hidden, hidden);
}

ValueId layer(const Module& at, ValueId x, const VitSizes& sizes) {
  const ValueId seen = attention(at["attention"], normalise(at["layernorm_before"], x, sizes), sizes);
  x = at.op("Add", {seen, x});
  const Module inner = at["intermediate"];
  const ValueId wide = gelu_erf(
      inner["intermediate_act_fn"],
      linear(inner["dense"], normalise(at["layernorm_after"], x, sizes), sizes.hidden, sizes.intermediate));
  const Module output = at["output"];
  return output.op("Add", {linear(output["dense"], wide, sizes.intermediate, sizes.hidden), x});
}

}  // namespace

Result<Built> build_vit(const Common& common, const VitSizes& sizes) {
  if (sizes.size <= 0 || sizes.size % sizes.patch != 0)
    return invalid(
        fmt::format("vit: a size of {} is not a multiple of its patches' {}", sizes.size, sizes.patch));
  Network network("vit", common.seed);
  const Module root = network.root();
  const Module vit = root["vit"];
  const ValueId image =
      network.input("pixel_values", DType::kF32, {common.batch_dim(), 3, sizes.size, sizes.size});

  ValueId x = embed(vit["embeddings"], image, sizes);
  for (int64_t i = 0; i < sizes.layers; ++i) x = layer(vit["encoder"]["layer"][i], x, sizes);
  x = normalise(vit["layernorm"], x, sizes);
  const ValueId first = root.op("Gather", {x, root.index(0)}, {{"axis", int64_t{1}}});
  x = linear_gemm(root["classifier"], first, sizes.hidden, sizes.classes);
  network.output(x, "logits", {common.batch_dim(), sizes.classes});
  return std::move(network).finish();
}

}  // namespace hone::model::zoo

// BERT: embeddings, layers of self-attention and feed-forward that normalise after each residual sum; then a pooler, or
// the head that finds masked tokens again.
#include <limits>
#include <numeric>

#include <fmt/core.h>

#include "core/onnx_dtype.h"
#include "model/zoo/models.h"
#include "model/zoo/transformer.h"

namespace hone::model::zoo {
namespace {

constexpr float kBertEpsilon = 1e-12f;

struct Bert {
  const BertSizes& sizes;
  bool open_length;
  Heads heads;

  LayerNormForm form() const {
    return sizes.spelled_layer_norm ? LayerNormForm::kPrimitives : LayerNormForm::kOperator;
  }
  ValueId normalise(const Module& at, ValueId x) const {
    return layer_norm(at["LayerNorm"], x, sizes.hidden, kBertEpsilon, form());
  }

  ValueId table(const Module& at, int64_t rows) const {
    return at.parameter("weight", {rows, sizes.hidden}, kTransformer);
  }

  ValueId embed(const Module& at, ValueId vocabulary, ValueId ids, ValueId types) const {
    const auto look_up = [&](const char* name, ValueId rows, ValueId indices) {
      return at[name].op("Gather", {rows, indices}, {{"axis", int64_t{0}}});
    };
    const int64_t length = open_length ? sizes.positions : sizes.length;
    std::vector<int64_t> places(static_cast<std::size_t>(length));
    std::iota(places.begin(), places.end(), 0);
    ValueId positions = at.constant(Tensor::i64({1, length}, places));
    if (open_length) positions = cut_to_length(at, positions, ids, {1});
    const ValueId words = look_up("word_embeddings", vocabulary, ids);
    const ValueId kinds = look_up("token_type_embeddings", table(at["token_type_embeddings"], 2), types);
    const ValueId sum = at.op("Add", {words, kinds});
    const ValueId where = table(at["position_embeddings"], sizes.positions);
    return normalise(at, at.op("Add", {sum, look_up("position_embeddings", where, positions)}));
  }

  // `added`: to the scores; kNoValue: every token sees all.
  ValueId attention(const Module& at, ValueId x, ValueId added) const {
    const Module self = at["self"];
    const int64_t hidden = sizes.hidden;
    const ValueId queries = split_heads(self, linear(self["query"], x, hidden, hidden), heads);
    const ValueId keys = split_heads_transposed(self, linear(self["key"], x, hidden, hidden), heads);
    const ValueId values = split_heads(self, linear(self["value"], x, hidden, hidden), heads);
    const ValueId seen = added.valid() ? attend_masked(self, queries, keys, values, added, heads)
                                       : attend_all(self, queries, keys, values, heads);
    const ValueId context = merge_heads(self, seen, heads);
    const Module output = at["output"];
    return normalise(output, output.op("Add", {linear(output["dense"], context, hidden, hidden), x}));
  }

  ValueId layer(const Module& at, ValueId x, ValueId added) const {
    x = attention(at["attention"], x, added);
    const Module inner = at["intermediate"];
    const ValueId wide =
        gelu_erf(inner["intermediate_act_fn"], linear(inner["dense"], x, sizes.hidden, sizes.intermediate));
    const Module output = at["output"];
    const ValueId narrow = linear(output["dense"], wide, sizes.intermediate, sizes.hidden);
    return normalise(output, output.op("Add", {narrow, x}));
  }

  ValueId encode(const Module& at, ValueId vocabulary, ValueId ids, ValueId types, ValueId added) const {
    ValueId x = embed(at["embeddings"], vocabulary, ids, types);
    for (int64_t i = 0; i < sizes.layers; ++i) x = layer(at["encoder"]["layer"][i], x, added);
    return x;
  }

  // Scores over the vocabulary, whose embeddings are the decoder's weights.
  ValueId find_again(const Module& at, ValueId x, ValueId vocabulary) const {
    const Module transform = at["transform"];
    const ValueId dense = linear(transform["dense"], x, sizes.hidden, sizes.hidden);
    x = normalise(transform, gelu_erf(transform["transform_act_fn"], dense));
    const Module decoder = at["decoder"];
    const ValueId rows = decoder.op("Transpose", {vocabulary}, {{"perm", Ints{1, 0}}});
    return decoder.op(
        "Add", {decoder.op("MatMul", {x, rows}), at.parameter("bias", {sizes.vocabulary}, kTransformer)});
  }
};

Status check_sizes(const std::string& name, const BertSizes& sizes) {
  if (sizes.length <= 0 || sizes.length > sizes.positions)
    return invalid(fmt::format("{}: a length of {} is not in [1, {}]", name, sizes.length, sizes.positions));
  if (sizes.hidden % sizes.heads != 0)
    return invalid(
        fmt::format("{}: {} heads do not divide a hidden size of {}", name, sizes.heads, sizes.hidden));
  return {};
}

// From 1 for a token and 0 for padding, [N, T], to what is added to the scores, [N, 1, 1, T].
ValueId added_mask(const Module& at, ValueId mask) {
  const ValueId wide = at.op("Unsqueeze", {at.op("Unsqueeze", {mask, at.ints({1})}), at.ints({2})});
  const ValueId real = at.op("Cast", {wide}, {{"to", int64_t{dtype_to_onnx(DType::kF32)}}});
  return at.op("Mul", {at.op("Sub", {at.scalar(1), real}), at.scalar(std::numeric_limits<float>::lowest())});
}

}  // namespace

BertSizes minilm_sizes() {
  return {.layers = 6, .hidden = 384, .intermediate = 1536, .spelled_layer_norm = false};
}

Result<Built> build_bert(const Common& common, const std::string& name, const BertSizes& sizes) {
  HONE_CHECK(check_sizes(name, sizes));
  Network network(name, common.seed);
  const Module root = network.root();
  const graph::Dims tokens = {common.batch_dim(), common.length_dim(sizes.length)};
  const ValueId ids = network.input("input_ids", DType::kI64, tokens);
  const ValueId mask = network.input("attention_mask", DType::kI64, tokens);
  const ValueId types = network.input("token_type_ids", DType::kI64, tokens);

  const Bert bert{sizes, common.open_length, {sizes.heads, sizes.hidden / sizes.heads}};
  const ValueId added = added_mask(root, mask);
  const ValueId vocabulary = bert.table(root["embeddings"]["word_embeddings"], sizes.vocabulary);
  const ValueId x = bert.encode(root, vocabulary, ids, types, added);

  const Module pooler = root["pooler"];
  const ValueId first = pooler.op("Gather", {x, pooler.index(0)}, {{"axis", int64_t{1}}});
  const ValueId pooled = pooler.op("Tanh", {linear_gemm(pooler["dense"], first, sizes.hidden, sizes.hidden)});
  network.output(x, "last_hidden_state", {common.batch_dim(), common.length_dim(sizes.length), sizes.hidden});
  network.output(pooled, "pooler_output", {common.batch_dim(), sizes.hidden});
  return std::move(network).finish();
}

Result<Built> build_bert_mlm(const Common& common, const BertSizes& sizes) {
  const std::string name = "bert_mlm";
  HONE_CHECK(check_sizes(name, sizes));
  Network network(name, common.seed);
  const Module bert_root = network.root()["bert"];
  const ValueId ids =
      network.input("input_ids", DType::kI64, {common.batch_dim(), common.length_dim(sizes.length)});
  const Bert bert{sizes, common.open_length, {sizes.heads, sizes.hidden / sizes.heads}};
  const ValueId vocabulary = bert.table(bert_root["embeddings"]["word_embeddings"], sizes.vocabulary);
  // All tokens are of the first kind: one row, for every place.
  const ValueId types = bert_root.constant(Tensor::zeros(DType::kI64, {1, 1}));
  const ValueId x = bert.encode(bert_root, vocabulary, ids, types, graph::kNoValue);
  const ValueId logits = bert.find_again(network.root()["cls"]["predictions"], x, vocabulary);
  network.output(logits, "logits", {common.batch_dim(), common.length_dim(sizes.length), sizes.vocabulary});
  return std::move(network).finish();
}

}  // namespace hone::model::zoo

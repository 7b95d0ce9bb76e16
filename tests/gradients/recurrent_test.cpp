// Gradients through time, and of contractions, against finite differences.
#include "tests/gradients/nodes.h"
#include <gtest/gtest.h>

namespace hone::gradients {
namespace {

using graph::GraphBuilder;
using graph::kNoValue;
using graph::ValueId;

constexpr int64_t kBatch = 2, kInput = 3, kHidden = 2;

int64_t gates_of(const std::string& op) { return op == "LSTM" ? 4 : op == "GRU" ? 3 : 1; }

// All inputs that the layer has: X, W, R, B, initial_h, initial_c, P.
std::vector<Shape> shapes_of(const std::string& op, int64_t steps, int64_t directions, bool batch_first) {
  const int64_t rows = gates_of(op) * kHidden;
  const auto swapped = [&](int64_t a, int64_t b, int64_t c) {
    return batch_first ? Shape{b, a, c} : Shape{a, b, c};
  };
  std::vector<Shape> shapes{swapped(steps, kBatch, kInput),
                            {directions, rows, kInput},
                            {directions, rows, kHidden},
                            {directions, 2 * rows},
                            swapped(directions, kBatch, kHidden)};
  if (op == "LSTM") {
    shapes.push_back(shapes.back());
    shapes.push_back({directions, 3 * kHidden});
  }
  return shapes;
}

// Something of every output, or one of them alone.
Build layer(const std::string& op, const Attributes& attributes, int shown, const Ints& lengths) {
  return [=](GraphBuilder& b, const Values& x) {
    Values in{x[0], x[1], x[2], x[3], kNoValue, x[4]};
    if (!lengths.empty()) {
      const std::vector<int32_t> counts(lengths.begin(), lengths.end());
      in[4] = b.constant("lengths", Tensor::of<int32_t>(DType::kI32, {kBatch}, counts));
    }
    if (op == "LSTM") in.insert(in.end(), {x[5], x[6]});
    const Values out = b.add_many(op, in, op == "LSTM" ? 3 : 2, attributes);
    if (shown >= 0) return out[static_cast<std::size_t>(shown)];
    ValueId all = b.add("ReduceSum", {b.add("Mul", {out[0], out[0]})});
    for (std::size_t i = 1; i < out.size(); ++i)
      all = b.add("Mul", {all, b.add("ReduceMean", {b.add("Exp", {out[i]})})});
    return all;
  };
}

void check_layer(const std::string& op, Attributes attributes, int shown = -1, const Ints& lengths = {},
                 int64_t steps = 3) {
  SCOPED_TRACE(op);
  attributes.set("hidden_size", kHidden);
  const int64_t directions = attributes.text("direction", "forward") == "bidirectional" ? 2 : 1;
  const bool batch_first = attributes.integer("layout", 0) != 0;
  check_gradient(shapes_of(op, steps, directions, batch_first), layer(op, attributes, shown, lengths),
                 {.known_extents_only = true});
}

TEST(RecurrentGradient, OfEveryOutput) {
  for (const char* op : {"RNN", "GRU", "LSTM"}) {
    for (const int shown : {0, 1, -1}) check_layer(op, {}, shown);
    check_layer(op, {}, 0, {}, 1);
  }
  check_layer("LSTM", {}, 2);
}

TEST(RecurrentGradient, OfEveryDirectionAndLayout) {
  for (const char* op : {"RNN", "GRU", "LSTM"})
    for (const char* direction : {"reverse", "bidirectional"})
      for (const int64_t layout : {0, 1}) check_layer(op, {{"direction", direction}, {"layout", layout}});
}

TEST(RecurrentGradient, OfSequencesOfTheirOwnLength) {
  for (const char* op : {"RNN", "GRU", "LSTM"})
    for (const char* direction : {"forward", "reverse", "bidirectional"})
      check_layer(op, {{"direction", direction}}, -1, {1, 3});
}

TEST(RecurrentGradient, OfOtherCells) {
  check_layer("GRU", {{"linear_before_reset", int64_t{1}}});
  check_layer("LSTM", {{"input_forget", int64_t{1}}});
  for (const char* op : {"RNN", "GRU", "LSTM"}) check_layer(op, {{"clip", 0.8f}});
  for (const char* activation : {"Relu", "Affine", "LeakyRelu", "ThresholdedRelu", "ScaledTanh",
                                 "HardSigmoid", "Elu", "Softsign", "Softplus"})
    check_layer("RNN", {{"activations", Strings{activation}},
                        {"activation_alpha", Floats{0.7f}},
                        {"activation_beta", Floats{0.6f}}});
}

TEST(RecurrentGradient, OfALayerWithoutBiasesAndStates) {
  const Build bare = [](GraphBuilder& b, const Values& x) {
    return b.add_many("LSTM", x, 1, {{"hidden_size", kHidden}})[0];
  };
  check_gradient({{2, kBatch, kInput}, {1, 4 * kHidden, kInput}, {1, 4 * kHidden, kHidden}}, bare,
                 {.known_extents_only = true});
}

// Queries, keys, values; a state, decays and rates where the rule has them.
TEST(LinearAttentionGradient, OfEveryRule) {
  const GradientOptions extents{.low = -1, .high = 0.5, .needs_extents = true, .batched = {0, 1, 2, 3, 4, 5}};
  const auto attention = [](const std::string& rule, int64_t queries, int64_t keys) {
    return Attributes{{"q_num_heads", queries}, {"kv_num_heads", keys}, {"update_rule", rule}};
  };
  const std::vector<Shape> plain{{2, 5, 4}, {2, 5, 2}, {2, 5, 6}};
  check_gradient(plain, node("LinearAttention", attention("linear", 4, 2)), extents);
  check_gradient({{1, 3, 4}, {1, 3, 4}, {1, 3, 2}, {1, 2, 2, 1}, {1, 3, 2}},
                 node("LinearAttention", attention("gated", 2, 2)), extents);
  check_gradient({{1, 3, 4}, {1, 3, 2}, {1, 3, 3}, {1, 1, 2, 3}, {1, 3, 1}, {1, 3, 1}},
                 node("LinearAttention", attention("gated_delta", 2, 1)), extents);
  const Build with_state = [&](GraphBuilder& b, const Values& x) {
    const Values out = b.add_many("LinearAttention", x, 2, attention("linear", 4, 2));
    return b.add("Mul", {b.add("ReduceSum", {out[0]}), out[1]});
  };
  check_gradient(plain, with_state, extents);
}

TEST(EinsumGradient, OfProductsSumsAndTurns) {
  const auto check = [](const char* equation, const std::vector<Shape>& shapes) {
    SCOPED_TRACE(equation);
    check_gradient(shapes, node("Einsum", {{"equation", equation}}));
  };
  check("ij->ji", {{2, 3}});
  check("ij->", {{2, 3}});
  check("ij,jk->ik", {{2, 3}, {3, 4}});
  check("ij,jk", {{2, 3}, {3, 4}});
  check("i,j->ij", {{2}, {3}});
  check("i,i->", {{4}, {4}});
  check("ij,ij->ij", {{2, 3}, {2, 3}});
  check("bqhd,bkhd->bhqk", {{2, 3, 2, 4}, {2, 5, 2, 4}});
  check("bhqk,bkhd->bqhd", {{2, 2, 3, 5}, {2, 5, 2, 4}});
  check("bij,jkl->bikl", {{2, 3, 4}, {4, 2, 3}});
  check("abc,cde->e", {{2, 3, 4}, {4, 2, 3}});  // labels of one operand that are summed alone
  check("ij,jk,kl->il", {{2, 3}, {3, 4}, {4, 2}});
  check("a,b,ab->ab", {{2}, {3}, {2, 3}});
  check("ijkl,klmn->ijmn", {{2, 3, 2, 4}, {2, 4, 3, 2}});
}

TEST(EinsumGradient, OfEllipsesThatBroadcast) {
  const auto check = [](const char* equation, const std::vector<Shape>& shapes) {
    SCOPED_TRACE(equation);
    check_gradient(shapes, node("Einsum", {{"equation", equation}}));
  };
  check("...ij,...jk->...ik", {{2, 3, 4}, {2, 4, 2}});
  check("...ij,...jk->...ik", {{2, 1, 3, 4}, {5, 4, 2}});
  check("...i->...", {{2, 3, 4}});
  check("...ij,jk", {{2, 3, 4}, {4, 2}});
}

}  // namespace
}  // namespace hone::gradients

// Gradients of convolution and normalization, and of networks made of several operators.
#include "tests/gradients/nodes.h"
#include <gtest/gtest.h>

#include "core/onnx_dtype.h"
#include "graph/differentiate.h"

namespace hone::gradients {
namespace {

using graph::GraphBuilder;
using graph::kNoValue;
using graph::ValueId;

void check_conv(const std::vector<Shape>& shapes, const Attributes& attributes) {
  check_gradient(shapes, [&](GraphBuilder& b, const Values& x) { return b.add("Conv", x, attributes); },
                 {.needs_extents = true});
}

TEST(ConvGradient, OfPlainWindows) {
  check_conv({{2, 3, 5, 4}, {2, 3, 3, 2}, {2}}, {});
  check_conv({{1, 2, 7}, {3, 2, 3}}, {{"pads", Ints{1, 2}}});
  check_conv({{1, 1, 3, 4, 3}, {2, 1, 2, 2, 2}, {2}}, {{"pads", Ints{0, 1, 0, 1, 0, 1}}});
  check_conv({{3, 2, 4, 4}, {5, 2, 1, 1}}, {});
}

TEST(ConvGradient, OfStridesThatLeaveRowsUnread) {
  for (const int64_t extent : {5, 6, 7, 8})
    for (const int64_t stride : {2, 3})
      check_conv({{1, 2, extent}, {2, 2, 3}, {2}}, {{"strides", Ints{stride}}, {"pads", Ints{1, 0}}});
}

TEST(ConvGradient, OfDilatedAndGroupedWindows) {
  check_conv({{1, 2, 9, 8}, {3, 2, 2, 3}}, {{"dilations", Ints{2, 1}}, {"strides", Ints{2, 3}}});
  check_conv({{2, 6, 5}, {4, 3, 3}, {4}}, {{"group", int64_t{2}}, {"pads", Ints{1, 1}}});
  check_conv({{2, 3, 5, 5}, {3, 1, 3, 3}}, {{"group", int64_t{3}}, {"strides", Ints{2, 2}}});
}

TEST(ConvGradient, OfAutomaticPads) {
  for (const char* mode : {"SAME_UPPER", "SAME_LOWER", "VALID"})
    check_conv({{1, 2, 6, 5}, {2, 2, 2, 3}}, {{"auto_pad", mode}, {"strides", Ints{2, 2}}});
}

// The second derivatives of a convolution.
TEST(ConvWeightGradientGradient, OfStridedDilatedAndGroupedWindows) {
  const auto check = [](const Shape& x, const Shape& g, Attributes attributes, const Ints& kernel) {
    attributes.set("kernel_shape", kernel);
    check_gradient({x, g}, node("hone.ConvWeightGradient", attributes), {.needs_extents = true});
  };
  check({2, 3, 5, 4}, {2, 2, 3, 3}, {}, {3, 2});
  check({1, 2, 7}, {1, 3, 8}, {{"pads", Ints{1, 2}}}, {3});
  check({1, 2, 8}, {1, 2, 3}, {{"strides", Ints{3}}, {"pads", Ints{1, 0}}}, {3});
  check({1, 2, 9, 8}, {1, 3, 4, 2}, {{"dilations", Ints{2, 1}}, {"strides", Ints{2, 3}}}, {2, 3});
  check({2, 6, 5}, {2, 4, 5}, {{"group", int64_t{2}}, {"pads", Ints{1, 1}}}, {3});
  check({3, 2, 4, 4}, {3, 5, 4, 4}, {}, {1, 1});
}

TEST(ConvGradient, CanBeDifferentiatedAgain) {
  check_gradient({{2, 2, 5}, {3, 2, 2}},
                 [](GraphBuilder& b, const Values& x) {
                   const ValueId y = b.add("Conv", x, {{"strides", Ints{2}}});
                   const auto first = graph::differentiate(b, b.add("Mul", {y, y}), x);
                   if (!first.ok()) throw std::logic_error(first.error().message);
                   return b.add("Add", {b.add("ReduceSum", {b.add("Mul", {(*first)[0], (*first)[0]})}),
                                        b.add("ReduceSum", {b.add("Mul", {(*first)[1], (*first)[1]})})});
                 },
                 {.known_extents_only = true});
}

void check_transposed(const std::vector<Shape>& shapes, const Attributes& attributes) {
  check_gradient(shapes, node("ConvTranspose", attributes), {.needs_extents = true});
}

TEST(ConvTransposeGradient, OfPlainAndStridedWindows) {
  check_transposed({{2, 3, 4}, {3, 2, 3}, {2}}, {});
  check_transposed({{2, 3, 4, 3}, {3, 2, 2, 2}}, {{"strides", Ints{2, 2}}});
  check_transposed({{1, 2, 3, 4}, {2, 3, 3, 2}, {3}}, {{"strides", Ints{2, 3}}, {"pads", Ints{1, 0, 0, 1}}});
  check_transposed({{1, 2, 2, 3, 2}, {2, 1, 2, 2, 2}}, {{"strides", Ints{1, 2, 1}}});
}

TEST(ConvTransposeGradient, OfDilatedAndGroupedWindows) {
  check_transposed({{1, 4, 3, 3}, {4, 3, 2, 2}, {6}}, {{"group", int64_t{2}}, {"dilations", Ints{2, 1}}});
  check_transposed({{2, 3, 4}, {3, 1, 3}}, {{"group", int64_t{3}}, {"strides", Ints{2}}});
}

TEST(ConvTransposeGradient, OfOutputsLargerThanTheWindowsReach) {
  check_transposed({{1, 2, 3}, {2, 2, 3}}, {{"strides", Ints{3}}, {"output_padding", Ints{2}}});
  // As much as a stride: a convolution over it would see one more window.
  check_transposed({{1, 2, 3}, {2, 2, 3}}, {{"dilations", Ints{2}}, {"output_padding", Ints{1}}});
  check_transposed({{1, 2, 3}, {2, 2, 3}}, {{"strides", Ints{2}}, {"output_shape", Ints{6}}});
  check_transposed({{1, 2, 3}, {2, 2, 3}}, {{"strides", Ints{2}}, {"output_shape", Ints{11}}});
  check_transposed({{1, 2, 3}, {2, 2, 3}}, {{"strides", Ints{2}}, {"auto_pad", "SAME_LOWER"}});
}

const GradientOptions kPositive{.low = 0.5, .high = 2};

TEST(NormalizationGradient, OfLayersOverTheLastAxes) {
  check_gradient({{3, 5}, {5}, {5}}, node("LayerNormalization"));
  check_gradient({{2, 3, 4}, {3, 4}}, node("LayerNormalization", {{"axis", int64_t{1}}, {"epsilon", 0.1f}}));
  check_gradient({{2, 3, 4}, {4}}, node("RMSNormalization"));
  check_gradient({{2, 3, 4}, {3, 4}}, node("RMSNormalization", {{"axis", int64_t{-2}}, {"epsilon", 0.1f}}));
}

// Higher derivatives, and what the operators mean where a provider has no kernel for them.
TEST(NormalizationGradient, OfItselfByOrdinaryOperators) {
  for (const std::size_t read : {0, 1, 2}) {
    SCOPED_TRACE(read);
    const auto part = [&](const char* op, const Attributes& attributes) -> Build {
      return [=](GraphBuilder& b, const Values& v) { return b.add_many(op, v, 3, attributes)[read]; };
    };
    const Attributes wide{{"epsilon", 0.1f}};
    check_gradient({{3, 5}, {3, 5}, {5}}, part("hone.LayerNormalizationGradient", wide));
    check_gradient({{3, 2, 4}, {3, 2, 4}, {2}}, part("hone.BatchNormalizationGradient", wide));
    check_gradient({{3, 2, 4}, {3, 2, 4}, {2}, {3, 2, 4}}, part("hone.BatchNormalizationGradient", wide),
                   kPositive);
  }
}

TEST(NormalizationGradient, OfLayersThroughTheirStatistics) {
  const Attributes in_doubles{{"stash_type", dtype_to_onnx(DType::kF64)}};
  for (const std::size_t read : {0, 1, 2, 3}) {  // one output, or all of them
    const Build layer = [=](GraphBuilder& b, const Values& x) {
      const Values out = b.add_many("LayerNormalization", x, 3, in_doubles);
      if (read < 3) return out[read];
      return b.add("Mul", {out[0], b.add("Add", {out[1], out[2]})});
    };
    check_gradient({{3, 5}, {5}, {5}}, layer);
  }
}

TEST(NormalizationGradient, OfBatchesByRunningStatistics) {
  const std::vector<Shape> shapes{{2, 3, 4}, {3}, {3}, {3}, {3}};
  check_gradient(shapes, node("BatchNormalization", {{"epsilon", 0.1f}}), kPositive);
  check_gradient({{4, 3}, {3}, {3}, {3}, {3}}, node("BatchNormalization"), kPositive);
}

TEST(NormalizationGradient, OfBatchesByTheirOwnStatistics) {
  for (const Shape& x : {Shape{4, 3}, Shape{3, 2, 4}, Shape{2, 2, 3, 2}}) {
    const Shape c{x[1]};
    for (const std::size_t read : {0, 1, 2, 3}) {  // the running statistics, too
      const Build batch = [=](GraphBuilder& b, const Values& v) {
        const Values out = b.add_many("BatchNormalization", v, 3,
                                      {{"training_mode", int64_t{1}}, {"momentum", 0.7f}, {"epsilon", 0.1f}});
        if (read < 3) return out[read];
        return b.add("Mul", {b.add("ReduceMean", {out[0], ints(b, {0})}),
                             b.add("ReduceSum", {b.add("Mul", {out[1], out[2]})})});
      };
      SCOPED_TRACE(read);
      check_gradient({x, c, c, c, c}, batch, kPositive);
    }
  }
}

TEST(NormalizationGradient, OfGroupsAndInstances) {
  check_gradient({{2, 6, 3}, {6}, {6}}, node("GroupNormalization", {{"num_groups", int64_t{3}}}));
  check_gradient({{2, 4, 2, 3}, {4}, {4}},
                 node("GroupNormalization", {{"num_groups", int64_t{1}}, {"epsilon", 0.1f}}));
  check_gradient({{2, 3, 5}, {3}, {3}}, node("InstanceNormalization"));
  check_gradient({{1, 2, 3, 4}, {2}, {2}}, node("InstanceNormalization", {{"epsilon", 0.1f}}));
}

TEST(NormalizationGradient, ByNormsAndDeviations) {
  for (const int64_t p : {1, 2})
    for (const int64_t axis : {-1, 0})
      check_gradient({{3, 4}}, node("LpNormalization", {{"p", p}, {"axis", axis}}));
  check_gradient({{2, 2, 2, 3}}, node("MeanVarianceNormalization"));
  check_gradient({{3, 4}}, node("MeanVarianceNormalization", {{"axes", Ints{1}}}));
}

TEST(AttentionGradient, OfHeadsOfTheirOwnAxis) {
  const std::vector<Shape> heads{{2, 3, 4, 5}, {2, 3, 6, 5}, {2, 3, 6, 2}};
  check_gradient(heads, node("Attention"), {.known_extents_only = true});
  check_gradient(heads, node("Attention", {{"is_causal", int64_t{1}}}), {.known_extents_only = true});
  check_gradient(heads, node("Attention", {{"scale", 0.3f}, {"softcap", 1.5f}}),
                 {.known_extents_only = true});
}

TEST(AttentionGradient, OfPackedAndSharedHeads) {
  const Attributes shared{
      {"q_num_heads", int64_t{4}}, {"kv_num_heads", int64_t{2}}, {"is_causal", int64_t{1}}};
  check_gradient({{2, 3, 12}, {2, 3, 6}, {2, 3, 4}}, node("Attention", shared), {.known_extents_only = true});
  // One value as query, key and value.
  const Build self = [](GraphBuilder& b, const Values& x) {
    return b.add("Attention", {x[0], x[0], x[0]},
                 {{"q_num_heads", int64_t{2}}, {"kv_num_heads", int64_t{2}}});
  };
  check_gradient({{1, 3, 4}}, self, {.known_extents_only = true});
}

TEST(AttentionGradient, OfMasksAndPastKeys) {
  const std::vector<Shape> shapes{{1, 2, 3, 4}, {1, 2, 3, 4}, {1, 2, 3, 4},
                                  {3, 5},       {1, 2, 2, 4}, {1, 2, 2, 4}};
  check_gradient(shapes, node("Attention", {{"is_causal", int64_t{1}}}), {.known_extents_only = true});
  const Build boolean = [](GraphBuilder& b, const Values& x) {
    // The third key is beyond the mask.
    const ValueId wide = b.constant("mask", Tensor::i64({3, 2}, Ints{1, 1, 0, 1, 1, 0}));
    const ValueId seen = b.add("Cast", {wide}, {{"to", dtype_to_onnx(DType::kBool)}});
    return b.add("Attention", {x[0], x[1], x[2], seen});
  };
  check_gradient({{1, 2, 3, 4}, {1, 2, 3, 4}, {1, 2, 3, 4}}, boolean, {.known_extents_only = true});
  for (const int64_t stage : {0, 1, 2, 3}) {  // through the scores that are shown
    const Build scores = [=](GraphBuilder& b, const Values& x) {
      Values in = x;
      const Values out =
          b.add_many("Attention", in, 4, {{"qk_matmul_output_mode", stage}, {"softcap", 2.0f}});
      return b.add("Mul", {b.add("ReduceSum", {out[0]}), out[3]});
    };
    check_gradient(shapes, scores, {.known_extents_only = true});
  }
  const Build present = [](GraphBuilder& b, const Values& x) {
    const Values out = b.add_many("Attention", x, 3);
    return b.add("Mul", {b.add("ReduceSum", {out[0]}), b.add("Mul", {out[1], out[2]})});
  };
  check_gradient(shapes, present, {.known_extents_only = true});
}

TEST(AttentionGradient, OfKeysThatArePadding) {
  const Build padded = [](GraphBuilder& b, const Values& x) {
    return b.add("Attention", {x[0], x[1], x[2], kNoValue, kNoValue, kNoValue, ints(b, {2, 3})});
  };
  check_gradient({{2, 1, 2, 3}, {2, 1, 4, 3}, {2, 1, 4, 2}}, padded, {.known_extents_only = true});
}

TEST(AttentionGradient, OfTurns) {
  for (const int64_t interleaved : {0, 1}) {
    const Build rotary = [=](GraphBuilder& b, const Values& x) {
      const ValueId cosines = b.constant("cos", random_doubles({5, 2}, 3));
      const ValueId sines = b.constant("sin", random_doubles({5, 2}, 4));
      const ValueId at = b.constant("at", Tensor::i64({2, 3}, Ints{0, 1, 4, 2, 2, 3}));
      return b.add("RotaryEmbedding", {x[0], cosines, sines, at},
                   {{"interleaved", interleaved}, {"rotary_embedding_dim", int64_t{4}}});
    };
    check_gradient({{2, 2, 3, 6}}, rotary, {.known_extents_only = true});
  }
}

TEST(NetworkGradient, SumsWhatFlowsBackOverSeveralPaths) {
  const Build mixed = [](GraphBuilder& b, const Values& x) {
    const ValueId h = b.add("Tanh", {b.add("MatMul", {x[0], x[1]})});
    const ValueId gate = b.add("Sigmoid", {h});
    const ValueId skip = b.add("Add", {b.add("Mul", {h, gate}), h});
    return b.add("Softmax", {b.add("Sub", {skip, b.add("ReduceMean", {h})})});
  };
  check_gradient({{3, 4}, {4, 5}}, mixed);
}

}  // namespace
}  // namespace hone::gradients

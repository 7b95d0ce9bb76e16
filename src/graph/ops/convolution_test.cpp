#include <gtest/gtest.h>

#include "graph/ops/infer_test.h"

namespace hone::graph {
namespace {

const Dim kHeight = Dim::symbol("H");

TEST(ConvolutionTypes, ConvKeepsSymbolsThatTheWindowCannotChange) {
  const Attributes same{{"pads", Ints{1, 1, 1, 1}}};
  EXPECT_EQ(first_type("Conv", {f32({kBatch, 3, kHeight, 224}), f32({8, 3, 3, 3})}, same), "f32[N,8,H,224]");
  const Attributes halved{{"pads", Ints{1, 1, 1, 1}}, {"strides", Ints{2, 2}}};
  EXPECT_EQ(first_type("Conv", {f32({kBatch, 3, kHeight, 224}), f32({8, 3, 3, 3})}, halved),
            "f32[N,8,?,112]");
}

TEST(ConvolutionTypes, UnknownWeightsAndRanksAreNoErrors) {
  EXPECT_EQ(first_type("Conv", {f32({1, 3, 8, 8}), unranked(DType::kF32)}), "f32[1,?,?,?]");
  EXPECT_EQ(first_type("Conv", {f32({1, 3, 8, 8}), unranked(DType::kF32)}, {{"kernel_shape", Ints{3, 3}}}),
            "f32[1,?,6,6]");
  EXPECT_EQ(first_type("Conv", {unranked(DType::kF32), f32({8, 3, 3, 3})}), "f32[*]");
}

TEST(ConvolutionTypes, MisfitsAreErrors) {
  EXPECT_TRUE(first_type("Conv", {f32({1, 4, 8, 8}), f32({8, 3, 3, 3})}).starts_with("error"));
  EXPECT_TRUE(first_type("Conv", {f32({1, 3, 2, 2}), f32({8, 3, 3, 3})}).starts_with("error"));
  EXPECT_TRUE(first_type("Conv", {f32({1, 3, 8}), f32({8, 3, 3, 3})}).starts_with("error"));
  EXPECT_TRUE(first_type("Conv", {f32({1, 3, 8, 8}), f32({8, 3, 3, 3})}, {{"group", int64_t{-1}}})
                  .starts_with("error"));
}

TEST(ConvolutionTypes, TransposedConvolutionGrows) {
  const Attributes twice{{"strides", Ints{2, 2}}};
  EXPECT_EQ(first_type("ConvTranspose", {f32({1, 4, 8, kHeight}), f32({4, 6, 2, 2})}, twice),
            "f32[1,6,16,?]");
  EXPECT_EQ(first_type("ConvTranspose", {f32({1, 4, 8, 8}), f32({4, 6, 3, 3})},
                       {{"output_shape", Ints{17, 17}}, {"strides", Ints{2, 2}}}),
            "f32[1,6,17,17]");
}

TEST(ConvolutionTypes, PoolingGivesIndicesToo) {
  const auto types = infer_text("MaxPool", {f32({kBatch, 3, 8, 8})},
                                {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}}, 2);
  ASSERT_TRUE(types.ok());
  EXPECT_EQ((*types)[0], "f32[N,3,4,4]");
  EXPECT_EQ((*types)[1], "i64[N,3,4,4]");
  EXPECT_EQ(first_type("GlobalAveragePool", {f32({kBatch, 3, kHeight, 8})}), "f32[N,3,1,1]");
}

TEST(ConvolutionTypes, GradientsHaveTheShapeOfWhatTheyAreOf) {
  const Attributes window{{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"group", int64_t{2}}};
  EXPECT_EQ(first_type("hone.ConvWeightGradient", {f32({kBatch, 6, 9, 9}), f32({kBatch, 8, 4, 4})}, window),
            "f32[8,3,3,3]");
  EXPECT_EQ(first_type("hone.ConvWeightGradient", {f32({kBatch, Dim(), kHeight, 9}), unranked(DType::kF32)},
                       window),
            "f32[?,?,3,3]");
  EXPECT_TRUE(first_type("hone.ConvWeightGradient", {f32({1, 6, 9, 9}), f32({1, 8, 5, 4})}, window)
                  .starts_with("error"));
  EXPECT_TRUE(first_type("hone.ConvWeightGradient", {f32({1, 5, 9, 9}), f32({1, 8, 4, 4})}, window)
                  .starts_with("error"));
  const Attributes pool{{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}};
  EXPECT_EQ(first_type("hone.MaxPoolGradient", {f32({kBatch, 3, 4, 4}), f32({kBatch, 3, 8, 8})}, pool),
            "f32[N,3,8,8]");
  EXPECT_EQ(first_type("hone.AveragePoolGradient", {f32({1, 3, 4, 4}), int_constant({1, 3, 8, 8})}, pool),
            "f32[1,3,8,8]");
  EXPECT_TRUE(
      first_type("hone.MaxPoolGradient", {f32({1, 3, 5, 4}), f32({1, 3, 8, 8})}, pool).starts_with("error"));
  EXPECT_EQ(cost_of("hone.ConvWeightGradient", {f32({2, 6, 9, 9}), f32({2, 8, 4, 4})}, window).flops,
            2.0 * 2 * 8 * 16 * 3 * 9);
}

TEST(ConvolutionCost, CountsMultiplyAddsTwiceAndEveryByteOnce) {
  // The first layer of ResNet-50: 2 · 64 · 112² · 3 · 7² FLOPs.
  const Cost cost = cost_of("Conv", {f32({1, 3, 224, 224}), f32({64, 3, 7, 7})},
                            {{"strides", Ints{2, 2}}, {"pads", Ints{3, 3, 3, 3}}});
  EXPECT_EQ(cost.flops, 2.0 * 64 * 112 * 112 * 3 * 49);
  EXPECT_EQ(cost.bytes_read, 4.0 * (3 * 224 * 224 + 64 * 3 * 49));
  EXPECT_EQ(cost.bytes_written, 4.0 * 64 * 112 * 112);
  EXPECT_EQ(cost_of("Conv", {f32({1, 8, 4, 4}), f32({8, 1, 1, 1}), f32({8})}, {{"group", int64_t{8}}}).flops,
            8 * 16 * 3.0);
  EXPECT_EQ(cost_of("ConvTranspose", {f32({1, 4, 8, 8}), f32({4, 6, 2, 2})}, {{"strides", Ints{2, 2}}}).flops,
            2.0 * 4 * 64 * 6 * 4);
}

TEST(ConvolutionCost, KnowsTheFewestFlopsWhereWinogradsAlgorithmApplies) {
  const auto ratio = [](const TensorType& x, const TensorType& w, Attributes attributes = {}) {
    const Cost cost = cost_of("Conv", {x, w}, std::move(attributes));
    return cost.flops / cost.least_flops;
  };
  EXPECT_NEAR(ratio(f32({1, 512, 34, 34}), f32({512, 512, 3, 3})), 4, 0.1);
  EXPECT_EQ(ratio(f32({1, 512, 34, 34}), f32({512, 512, 3, 3}), {{"strides", Ints{2, 2}}}), 1);
  EXPECT_EQ(ratio(f32({1, 512, 34, 34}), f32({512, 512, 3, 3}), {{"dilations", Ints{2, 2}}}), 1);
  EXPECT_EQ(ratio(f32({1, 512, 34, 34}), f32({512, 512, 1, 1})), 1);
  EXPECT_EQ(ratio(f32({1, 512, 34, 34}), f32({512, 1, 3, 3}), {{"group", int64_t{512}}}), 1);
  EXPECT_EQ(ratio(f32({1, 16, 34}), f32({16, 16, 3})), 1);
}

}  // namespace
}  // namespace hone::graph

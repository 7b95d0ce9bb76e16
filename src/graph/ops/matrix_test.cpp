#include <gtest/gtest.h>

#include "graph/ops/infer_test.h"

namespace hone::graph {
namespace {

const Dim kLength = Dim::symbol("T");

TEST(MatrixTypes, MatMulBroadcastsBatchesAndDropsVectorAxes) {
  EXPECT_EQ(first_type("MatMul", {f32({kBatch, kLength, 8}), f32({8, 4})}), "f32[N,T,4]");
  EXPECT_EQ(first_type("MatMul", {f32({kBatch, 1, 2, 8}), f32({3, 8, 4})}), "f32[N,3,2,4]");
  EXPECT_EQ(first_type("MatMul", {f32({8}), f32({8})}), "f32[]");
  EXPECT_TRUE(first_type("MatMul", {f32({2, 8}), f32({7, 2})}).starts_with("error"));
}

TEST(MatrixTypes, GemmTransposes) {
  EXPECT_EQ(first_type("Gemm", {f32({8, kBatch}), f32({4, 8}), f32({4})},
                       {{"transA", int64_t{1}}, {"transB", int64_t{1}}}),
            "f32[N,4]");
  EXPECT_TRUE(first_type("Gemm", {f32({2, 8}), f32({8, 4}), f32({5})}).starts_with("error"));
}

TEST(MatrixTypes, EinsumNamesItsOutputs) {
  EXPECT_EQ(first_type("Einsum", {f32({kBatch, 12, kLength, 64}), f32({kBatch, 12, 7, 64})},
                       {{"equation", std::string("bhqd,bhkd->bhqk")}}),
            "f32[N,12,T,7]");
  EXPECT_TRUE(first_type("Einsum", {f32({2, 3})}, {{"equation", std::string("i")}}).starts_with("error"));
}

TEST(MatrixTypes, AttentionGivesTheGrownCache) {
  const Attributes heads{{"q_num_heads", int64_t{4}}, {"kv_num_heads", int64_t{2}}};
  const auto types = infer_text("Attention",
                                {f32({kBatch, kLength, 32}), f32({kBatch, 3, 16}), f32({kBatch, 3, 20}),
                                 TestInput::none(), f32({kBatch, 2, 5, 8}), f32({kBatch, 2, 5, 10})},
                                heads, 4);
  ASSERT_TRUE(types.ok()) << types.error().message;
  EXPECT_EQ(*types,
            (std::vector<std::string>{"f32[N,T,40]", "f32[N,2,8,8]", "f32[N,2,8,10]", "f32[N,4,T,8]"}));
}

TEST(MatrixTypes, RecurrentLayersLayOutDirections) {
  const Attributes both{{"direction", std::string("bidirectional")}, {"hidden_size", int64_t{5}}};
  const auto types =
      infer_text("LSTM", {f32({kLength, kBatch, 3}), f32({2, 20, 3}), f32({2, 20, 5})}, both, 3);
  ASSERT_TRUE(types.ok()) << types.error().message;
  EXPECT_EQ(*types, (std::vector<std::string>{"f32[T,2,N,5]", "f32[2,N,5]", "f32[2,N,5]"}));
}

TEST(MatrixCost, ProductsCountTwoAMultiplyAdd) {
  EXPECT_EQ(cost_of("MatMul", {f32({2, 3, 5}), f32({2, 5, 7})}).flops, 2.0 * 2 * 3 * 5 * 7);
  EXPECT_EQ(cost_of("Gemm", {f32({3, 5}), f32({5, 7}), f32({7})}).flops, 3 * 7 * 11.0);
  EXPECT_EQ(cost_of("Einsum", {f32({3, 5}), f32({5, 7})}, {{"equation", std::string("ij,jk->ik")}}).flops,
            2.0 * 3 * 5 * 7);
  EXPECT_EQ(cost_of("Attention", {f32({2, 4, 3, 8}), f32({2, 4, 7, 8}), f32({2, 4, 7, 6})}).flops,
            2.0 * 4 * 3 * 7 * (2 * 14 + 5));
  // 1 step, batch 1: four gates of 5 · (3 + 5) multiply-adds, an activation each, and five more a hidden
  // element.
  EXPECT_EQ(cost_of("LSTM", {f32({1, 1, 3}), f32({1, 20, 3}), f32({1, 20, 5})}).flops,
            5 * (2.0 * 4 * 8 + 4 + 5));
}

TEST(NormalizationTypes, StatisticsKeepTheOuterAxes) {
  const auto types = infer_text(
      "LayerNormalization",
      {tensor_type(DType::kF16, Dims{kBatch, kLength, 8}), tensor_type(DType::kF16, Dims{8})}, {}, 3);
  ASSERT_TRUE(types.ok());
  EXPECT_EQ(*types, (std::vector<std::string>{"f16[N,T,8]", "f32[N,T,1]", "f32[N,T,1]"}));
  EXPECT_TRUE(first_type("InstanceNormalization", {f32({1, 3, 4}), f32({2}), f32({3})}).starts_with("error"));
}

TEST(VisionTypes, ResizeUsesKnownScalesAndSizes) {
  const Tensor scales = Tensor::f32({4}, std::vector<float>{1, 1, 2, 2});
  EXPECT_EQ(first_type("Resize", {f32({kBatch, 3, 8, kLength}), TestInput::none(), scales}), "f32[N,3,16,?]");
  EXPECT_EQ(
      first_type("Resize",
                 {f32({kBatch, 3, 8, kLength}), TestInput::none(), TestInput::none(), int_constant({9, 7})},
                 {{"axes", Ints{2, 3}}}),
      "f32[N,3,9,7]");
  EXPECT_EQ(first_type("Resize", {f32({kBatch, 3, 8, 8}), TestInput::none(), f32({4})}), "f32[?,?,?,?]");
}

TEST(VisionTypes, SamplersFollowTheGrid) {
  EXPECT_EQ(first_type("GridSample", {f32({kBatch, 3, 8, 8}), f32({kBatch, 5, 6, 2})}), "f32[N,3,5,6]");
  EXPECT_EQ(first_type("AffineGrid", {f32({2, 2, 3}), int_constant({2, 3, 5, 6})}), "f32[2,5,6,2]");
  EXPECT_EQ(first_type("NonMaxSuppression", {f32({1, 6, 4}), f32({1, 1, 6})}), "i64[?,3]");
}

TEST(VisionTypes, GradientsOfSamplersHaveTheTypeOfWhatTheyAreOf) {
  const TestInput g = f32({kBatch, 3, 5, 6}), grid = f32({kBatch, 5, 6, 2});
  EXPECT_EQ(first_type("hone.GridSampleGradient", {g, int_constant({4, 3, 8, 9}), grid}), "f32[4,3,8,9]");
  EXPECT_TRUE(first_type("hone.GridSampleGradient", {g, int_constant({4, 3, 8}), grid}).starts_with("error"));
  EXPECT_EQ(first_type("hone.GridSampleGridGradient", {g, f32({kBatch, 3, 8, 9}), grid}), "f32[N,5,6,2]");
  EXPECT_TRUE(first_type("hone.GridSampleGridGradient", {g, f32({kBatch, 3, 8}), grid}).starts_with("error"));
  EXPECT_EQ(
      cost_of("hone.GridSampleGridGradient", {f32({1, 3, 5, 6}), f32({1, 3, 8, 9}), f32({1, 5, 6, 2})}).flops,
      2.0 * 4 * (3 * 30 + 2 * 30));
  const TestInput bins = f32({7, 3, 2, 2}), boxes = f32({7, 4}), images = tensor_type(DType::kI64, Dims{7});
  const Attributes largest{{"mode", std::string("max")}};
  EXPECT_EQ(first_type("hone.RoiAlignGradient", {bins, int_constant({2, 3, 8, 9}), boxes, images}),
            "f32[2,3,8,9]");
  EXPECT_TRUE(first_type("hone.RoiAlignGradient", {bins, int_constant({2, 3, 8, 9}), boxes, images}, largest)
                  .starts_with("error"));  // which was the largest the images say
  EXPECT_EQ(first_type("hone.RoiAlignGradient",
                       {bins, int_constant({2, 3, 8, 9}), boxes, images, f32({2, 3, 8, 9})}, largest),
            "f32[2,3,8,9]");
}

TEST(VisionTypes, ColumnsOfADeformedConvolution) {
  const Attributes window{{"kernel_shape", Ints{3, 2}}, {"pads", Ints{1, 0, 1, 1}}};
  const TestInput x = f32({kBatch, 4, 8, 9}), offset = f32({kBatch, 12, 8, 9}), mask = f32({kBatch, 6, 8, 9});
  EXPECT_EQ(first_type("hone.DeformColumns", {x, offset, mask}, window), "f32[N,24,72]");
  EXPECT_TRUE(first_type("hone.DeformColumns", {f32({kBatch, 4, 8}), offset}, window).starts_with("error"));
  const TestInput g = f32({kBatch, 24, 72});
  EXPECT_EQ(*infer_text("hone.DeformColumnsGradient", {g, x, offset, mask}, window, 3),
            (std::vector<std::string>{"f32[N,4,8,9]", "f32[N,12,8,9]", "f32[N,6,8,9]"}));
  EXPECT_FALSE(infer_text("hone.DeformColumnsGradient", {g, x, offset}, window, 3).ok());
}

TEST(VisionTypes, BoundedSuppressionKnowsHowManyRowsThereCanBe) {
  const auto rows = [](TestInput most) {
    return infer_text("hone.NonMaxSuppression", {f32({2, 6, 4}), f32({2, 5, 6}), std::move(most)}, {}, 2)
        ->front();
  };
  EXPECT_EQ(rows(int_constant({3})), "i64[30,3]");
  EXPECT_EQ(rows(int_constant({100})), "i64[60,3]");
  EXPECT_EQ(rows(int_constant({-1})), "i64[0,3]");
  EXPECT_EQ(rows(tensor_type(DType::kI64, Dims{1})), "i64[?,3]");
  EXPECT_EQ(first_type("hone.FirstRows", {f32({4, 3}), Tensor::scalar_i64(2)}), "f32[?,3]");
}

TEST(SignalTypes, SpectraHalveWhenOnesided) {
  const Attributes onesided{{"onesided", int64_t{1}}};
  EXPECT_EQ(first_type("DFT", {f32({kBatch, 10, 1})}, onesided), "f32[N,6,2]");
  EXPECT_EQ(first_type("STFT", {f32({kBatch, 128, 1}), Tensor::scalar_i64(8), f32({16})}), "f32[N,15,9,2]");
  EXPECT_EQ(first_type("HannWindow", {Tensor::scalar_i64(10)}), "f32[10]");
}

}  // namespace
}  // namespace hone::graph

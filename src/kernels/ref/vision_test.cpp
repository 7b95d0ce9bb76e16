#include "kernels/ref/test_call.h"

namespace hone::kernels::ref {
namespace {

const Tensor kSquare = floats({1, 1, 2, 2}, {1, 2, 3, 4});

TEST(RefResize, NearestDoublesAnyElementType) {
  const Tensor scales = floats({4}, {1, 1, 1, 2});
  expect_values(run("Resize", {kSquare, {}, scales}), 0, {1, 1, 2, 4}, {1, 1, 2, 2, 3, 3, 4, 4});
  const Tensor bytes = Tensor::of<uint8_t>(DType::kU8, {2}, std::vector<uint8_t>{7, 9});
  expect_values(run("Resize", {bytes, {}, floats({1}, {2})}), 0, {4}, {7, 7, 9, 9});
}

TEST(RefResize, LinearAlignsCentresOrCorners) {
  const Tensor line = floats({2}, {0, 3}), sizes = Tensor::i64({1}, std::vector<int64_t>{4});
  Attributes linear{{"mode", std::string("linear")}};
  expect_values(run("Resize", {line, {}, {}, sizes}, linear), 0, {4}, {0, 0.75, 2.25, 3});
  linear.set("coordinate_transformation_mode", std::string("align_corners"));
  expect_values(run("Resize", {line, {}, {}, sizes}, linear), 0, {4}, {0, 1, 2, 3});
}

TEST(RefResize, AntialiasAveragesAllThatItSkips) {
  const Attributes attributes{
      {"mode", std::string("linear")}, {"antialias", int64_t{1}}, {"exclude_outside", int64_t{1}}};
  const auto y = run("Resize", {floats({4}, {8, 8, 8, 8}), {}, floats({1}, {0.5F})}, attributes);
  expect_values(y, 0, {2}, {8, 8});
}

TEST(RefResize, CropsAndExtrapolates) {
  const Attributes crop{{"mode", std::string("linear")},
                        {"coordinate_transformation_mode", std::string("tf_crop_and_resize")},
                        {"extrapolation_value", -1.0F}};
  const auto y =
      run("Resize",
          {floats({3}, {0, 1, 2}), floats({2}, {0.5F, 1.5F}), {}, Tensor::i64({1}, std::vector<int64_t>{3})},
          crop);
  expect_values(y, 0, {3}, {1, 2, -1});
}

TEST(RefResize, UnknownModesAreUnsupported) {
  const auto y = run("Resize", {kSquare, {}, floats({4}, {1, 1, 2, 2})}, {{"mode", std::string("lanczos")}});
  ASSERT_FALSE(y.ok());
  EXPECT_EQ(y.error().code, ErrorCode::kUnsupported);
}

TEST(RefGridSample, PadsOutsideAsTold) {
  const Tensor grid = floats({1, 1, 2, 2}, {0, 0, -3, -3});
  expect_values(run("GridSample", {kSquare, grid}), 0, {1, 1, 1, 2}, {2.5, 0});
  expect_values(run("GridSample", {kSquare, grid}, {{"padding_mode", std::string("border")}}), 0,
                {1, 1, 1, 2}, {2.5, 1});
  // -3 is pixel -2.5, mirrored at -0.5 to 1.5, which is the last pixel's edge.
  const auto reflected = run("GridSample", {kSquare, grid},
                             {{"padding_mode", std::string("reflection")}, {"mode", std::string("nearest")}});
  expect_values(reflected, 0, {1, 1, 1, 2}, {1, 4});
  EXPECT_TRUE(run("GridSample", {kSquare, floats({1, 1, 1, 2}, {NAN, INFINITY})}).ok());
}

// Half between all four pixels: each gets a quarter. Outside nothing is read, so nothing goes back.
// By PyTorch 2.15 in f64, which ONNX Runtime 1.32 agrees with: a cubic at a border reads the last pixel for each that lies outside, and its place
// between them stays.
TEST(RefGridSample, CubicsAtABorderRepeatPixels) {
  const Tensor x = floats({1, 1, 2, 3}, {1, 2, 4, 3, 0, -1});
  const Tensor grid = floats({1, 1, 4, 2}, {-1.4F, -1.2F, 1.3F, 0.5F, -0.9F, 1.9F, 5, -7});
  const Attributes cubic{{"mode", std::string("cubic")}, {"padding_mode", std::string("border")}};
  expect_values(run("GridSample", {x, grid}, cubic), 0, {1, 1, 1, 4},
                {0.90550002, -1.00178125, 3.33271875, 4});
  Attributes aligned = cubic;
  aligned.set("align_corners", int64_t{1});
  expect_values(run("GridSample", {x, grid}, aligned), 0, {1, 1, 1, 4},
                {0.74425597, 0.09749805, 2.93351808, 4});
}

TEST(RefGridSample, GivesBackWhatItRead) {
  const Tensor shape = ints({4}, {1, 1, 2, 2}), g = floats({1, 1, 1, 2}, {4, 8});
  const Tensor grid = floats({1, 1, 2, 2}, {0, 0, -3, -3});
  expect_values(run("hone.GridSampleGradient", {g, shape, grid}), 0, {1, 1, 2, 2}, {1, 1, 1, 1});
  // To the right are the second column's numbers, downwards the second row's; a pixel is one unit of the grid.
  expect_values(run("hone.GridSampleGridGradient", {g, kSquare, grid}), 0, {1, 1, 2, 2}, {4, 8, 0, 0});
  const Tensor lost = floats({1, 1, 2, 2}, {NAN, INFINITY, 1e30, -1e30});
  for (const char* padding : {"zeros", "border", "reflection"}) {
    const auto moved =
        run("hone.GridSampleGridGradient", {g, kSquare, lost}, {{"padding_mode", std::string(padding)}});
    expect_values(moved, 0, {1, 1, 2, 2}, {0, 0, 0, 0});
    EXPECT_TRUE(
        run("hone.GridSampleGradient", {g, shape, lost}, {{"padding_mode", std::string(padding)}}).ok());
  }
}

TEST(RefGridSample, RefusesGradientsOfAnotherShape) {
  const Tensor shape = ints({4}, {1, 1, 2, 2}), grid = floats({1, 1, 2, 2}, {0, 0, -3, -3});
  const Tensor g = floats({1, 1, 2, 1}, {4, 8});
  EXPECT_TRUE(fails("hone.GridSampleGradient", {g, shape, grid}));
  EXPECT_TRUE(fails("hone.GridSampleGridGradient", {g, kSquare, grid}));
  EXPECT_TRUE(fails("hone.GridSampleGradient", {g, ints({4}, {1, 1, -2, 2}), grid}));
  EXPECT_TRUE(fails("hone.GridSampleGradient", {g, ints({3}, {1, 1, 2}), grid}));
  EXPECT_TRUE(fails("hone.GridSampleGradient", {g, ints({4}, {1, 1, 0, 2}), grid}));
}

TEST(RefRoiAlign, RefusesGradientsThatDoNotFit) {
  const Tensor shape = ints({4}, {1, 1, 2, 2}), boxes = floats({1, 4}, {0, 0, 2, 2}),
               g = floats({1, 1, 1, 1}, {1});
  expect_values(run("hone.RoiAlignGradient", {g, shape, boxes, ints({1}, {0})}), 0, {1, 1, 2, 2},
                {0.25, 0.25, 0.25, 0.25}, 1e-6);
  EXPECT_TRUE(fails("hone.RoiAlignGradient", {g, shape, boxes, ints({1}, {1})}));  // no such image
  EXPECT_TRUE(fails("hone.RoiAlignGradient", {floats({1, 1, 2, 1}, {1, 1}), shape, boxes, ints({1}, {0})}));
  EXPECT_TRUE(
      fails("hone.RoiAlignGradient", {g, shape, boxes, ints({1}, {0})}, {{"mode", std::string("max")}}));
}

TEST(RefAffineGrid, IdentityCoversTheImage) {
  const Tensor theta = floats({1, 2, 3}, {1, 0, 0, 0, 1, 0}),
               size = Tensor::i64({4}, std::vector<int64_t>{1, 1, 1, 2});
  expect_values(run("AffineGrid", {theta, size}), 0, {1, 1, 2, 2}, {-0.5, 0, 0.5, 0});
  EXPECT_FALSE(run("AffineGrid", {theta, Tensor::i64({3}, std::vector<int64_t>{1, 1, 1})}).ok());
}

TEST(RefRoiAlign, AveragesBinsAndRefusesBrokenRegions) {
  const Tensor image = Tensor::i64({1}, std::vector<int64_t>{0});
  const Attributes one{{"sampling_ratio", int64_t{1}},
                       {"coordinate_transformation_mode", std::string("output_half_pixel")}};
  expect_values(run("RoiAlign", {kSquare, floats({1, 4}, {0, 0, 1, 1}), image}, one), 0, {1, 1, 1, 1}, {2.5});
  EXPECT_FALSE(run("RoiAlign", {kSquare, floats({1, 4}, {0, 0, 1e30F, 1}), image}).ok());
  EXPECT_FALSE(
      run("RoiAlign", {kSquare, floats({1, 4}, {0, 0, 1, 1}), Tensor::i64({1}, std::vector<int64_t>{1})})
          .ok());
}

TEST(RefNonMaxSuppression, KeepsTheBestOfOverlappingBoxes) {
  const Tensor boxes = floats({1, 3, 4}, {0, 0, 1, 1, 0, 0.1F, 1, 1.1F, 0, 10, 1, 11});
  const Tensor scores = floats({1, 1, 3}, {0.8F, 0.9F, 0.7F});
  const auto y = run("NonMaxSuppression", {boxes, scores, Tensor::scalar_i64(3), Tensor::scalar_f32(0.5F)});
  expect_values(y, 0, {2, 3}, {0, 0, 1, 0, 0, 2});
  expect_values(run("NonMaxSuppression", {boxes, scores}), 0, {0, 3}, {});
}

TEST(RefNonMaxSuppression, HasABoundedFormOfWhichTheFirstRowsAreTheBoxes) {
  const Tensor boxes = floats({1, 3, 4}, {0, 0, 1, 1, 0, 0.1F, 1, 1.1F, 0, 10, 1, 11});
  const Tensor scores = floats({1, 1, 3}, {0.8F, 0.9F, 0.7F});
  const auto y =
      run("hone.NonMaxSuppression", {boxes, scores, Tensor::scalar_i64(9), Tensor::scalar_f32(0.5F)}, {}, 2);
  expect_values(y, 0, {3, 3}, {0, 0, 1, 0, 0, 2, 0, 0, 0});
  expect_values(y, 1, {}, {2});
  expect_values(run("hone.FirstRows", *y), 0, {2, 3}, {0, 0, 1, 0, 0, 2});
  EXPECT_FALSE(run("hone.FirstRows", {boxes, Tensor::scalar_i64(2)}).ok());
  EXPECT_FALSE(run("hone.FirstRows", {boxes, Tensor::scalar_i64(-1)}).ok());
}

TEST(RefSignal, TransformInvertsItself) {
  const Tensor x = floats({1, 5, 1}, {1, -2, 3, 0.5F, 4});
  const Attributes onesided{{"onesided", int64_t{1}}};
  const auto spectrum = run("DFT", {x}, onesided);
  ASSERT_TRUE(spectrum.ok());
  EXPECT_EQ((*spectrum)[0].shape(), (Shape{1, 3, 2}));
  EXPECT_NEAR((*spectrum)[0].at(0), 6.5, 1e-6);
  const Attributes back{{"onesided", int64_t{1}}, {"inverse", int64_t{1}}};
  expect_values(run("DFT", {(*spectrum)[0], Tensor::scalar_i64(5)}, back), 0, {1, 5, 1}, {1, -2, 3, 0.5, 4});
  EXPECT_FALSE(run("DFT", {x, Tensor::scalar_i64(0)}).ok());
}

TEST(RefSignal, FramesAndWindows) {
  const auto y = run("STFT", {floats({1, 4, 1}, {1, 2, 3, 4}), Tensor::scalar_i64(2), floats({2}, {1, 1})});
  expect_values(y, 0, {1, 2, 2, 2}, {3, 0, -1, 0, 7, 0, -1, 0});
  expect_values(run("HannWindow", {Tensor::scalar_i64(4)}), 0, {4}, {0, 0.5, 1, 0.5});
  expect_values(run("HannWindow", {Tensor::scalar_i64(3)}, {{"periodic", int64_t{0}}}), 0, {3}, {0, 1, 0});
  EXPECT_FALSE(run("HannWindow", {Tensor::scalar_i64(-1)}).ok());
}

}  // namespace
}  // namespace hone::kernels::ref

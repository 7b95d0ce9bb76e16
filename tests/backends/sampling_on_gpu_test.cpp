// GridSample, the gradient of its grid, and RoiAlign on a GPU against the reference: without one by kernels that the host runs thread by thread, on one as
// they are (ctest -L cuda).
#include <array>
#include <cmath>

#include "tests/backends/compare.h"
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/plan.h"
#include "runtime/testing/providers.h"

namespace hone::backends {
namespace {

using graph::GraphBuilder;
using graph::ValueId;
using ::testing::HasSubstr;

class SamplingOnGpu : public ::testing::TestWithParam<const char*> {
 protected:
  CompareOptions options(double tolerance) const {
    CompareOptions options;
    options.provider = provider_;
    options.tolerance = tolerance;
    return options;
  }
  const std::shared_ptr<const runtime::Provider> provider_ = runtime::testing::provider_named(GetParam());
};
INSTANTIATE_TEST_SUITE_P(All, SamplingOnGpu, ::testing::Values(runtime::testing::kCudaOnHost),
                         [](const auto& test) { return std::string(test.param); });
INSTANTIATE_TEST_SUITE_P(Gpu, SamplingOnGpu, ::testing::ValuesIn(runtime::testing::gpu_providers()));
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SamplingOnGpu);

// Points within the image, on its border and far outside; more channels than a thread has.
TEST_P(SamplingOnGpu, GridsOfEveryModeAndPaddingAgree) {
  int turn = 0;
  for (const std::string mode : {"nearest", "linear", "cubic"}) {
    for (const std::string padding : {"zeros", "border", "reflection"}) {
      for (const int64_t align : {0, 1}) {
        const DType dtype = std::array{DType::kF32, DType::kF16, DType::kBF16, DType::kF64}[turn % 4];
        const DType grid_type = turn % 5 == 4 ? DType::kF64 : DType::kF32;
        const bool volume = turn++ % 3 == 2;
        const Shape x = volume ? Shape{2, 3, 4, 5, 3} : Shape{2, 11, 6, 7};
        const Shape grid = volume ? Shape{2, 3, 2, 4, 3} : Shape{2, 9, 5, 2};
        SCOPED_TRACE(fmt::format("{} {} align {} {}", mode, padding, align, dtype_name(dtype)));
        CompareOptions given = options(dtype == DType::kBF16 ? 1e-2 : 1e-5);
        Tensor where = random_floats_of(grid_type, grid, 3, -1.6, 1.6);
        if (grid_type == DType::kF32) {
          const float odd[] = {-1, 1, 0, 1e20F, -1e20F, NAN, 3, -3};
          for (std::size_t i = 0; i < std::size(odd); ++i) where.as<float>()[i * 5 + 1] = odd[i];
        }
        given.inputs = {random_floats_of(dtype, x, 5), where};
        compare_all_kernels(
            [&](GraphBuilder& b) -> std::vector<ValueId> {
              return {b.add("GridSample", {input_of(b, "x", dtype, x), input_of(b, "grid", grid_type, grid)},
                            {{"mode", mode}, {"padding_mode", padding}, {"align_corners", align}})};
            },
            given);
      }
    }
  }
  const Shape line{1, 2, 9};
  compare_all_kernels(
      [&](GraphBuilder& b) -> std::vector<ValueId> {
        return {b.add("GridSample", {f32_input(b, "x", line), f32_input(b, "grid", {1, 20, 1})})};
      },
      options(1e-5));
}

// Points on pixels, on the border, far outside and nowhere; a volume, whose corners are more than a thread keeps.
TEST_P(SamplingOnGpu, GradientsOfGridSampleAgree) {
  int turn = 0;
  for (const std::string mode : {"nearest", "linear", "cubic"}) {
    for (const std::string padding : {"zeros", "border", "reflection"}) {
      for (const int64_t align : {0, 1}) {
        const DType dtype = std::array{DType::kF32, DType::kF64, DType::kF16, DType::kBF16}[turn % 4];
        const DType grid_type = dtype == DType::kF64 ? DType::kF64 : DType::kF32;
        const bool volume = turn++ % 3 == 2;
        const Shape x = volume ? Shape{2, 3, 4, 5, 3} : Shape{2, 11, 6, 7};
        const Shape grid = volume ? Shape{2, 3, 2, 4, 3} : Shape{2, 9, 5, 2};
        Shape y{2, x[1]};
        y.insert(y.end(), grid.begin() + 1, grid.end() - 1);
        SCOPED_TRACE(fmt::format("{} {} align {} {}", mode, padding, align, dtype_name(dtype)));
        CompareOptions given = options(1e-5);
        Tensor where = random_floats_of(grid_type, grid, 3, -2.6, 2.6);
        if (grid_type == DType::kF32) {
          const float odd[] = {-1, 1, 0, 1e20F, -1e20F, NAN, 3, -3};
          for (std::size_t i = 0; i < std::size(odd); ++i) where.as<float>()[i * 5 + 1] = odd[i];
        }
        given.inputs = {random_floats_of(dtype, y, 4), random_floats_of(dtype, x, 5), where};
        CompareOptions of_images = given;
        of_images.inputs.erase(of_images.inputs.begin() + 1);
        compare_all_kernels(
            [&](GraphBuilder& b) -> std::vector<ValueId> {
              return {b.add("hone.GridSampleGradient",
                            {input_of(b, "g", dtype, y),
                             b.constant("shape", Tensor::i64({static_cast<int64_t>(x.size())}, x)),
                             input_of(b, "grid", grid_type, grid)},
                            {{"mode", mode}, {"padding_mode", padding}, {"align_corners", align}})};
            },
            of_images);
        compare_all_kernels(
            [&](GraphBuilder& b) -> std::vector<ValueId> {
              return {b.add("hone.GridSampleGridGradient",
                            {input_of(b, "g", dtype, y), input_of(b, "x", dtype, x),
                             input_of(b, "grid", grid_type, grid)},
                            {{"mode", mode}, {"padding_mode", padding}, {"align_corners", align}})};
            },
            given);
      }
    }
  }
}

// Thousands of points on a few pixels: more than one tile is sorted, and pieces of one pixel are joined; the same each time.
TEST_P(SamplingOnGpu, ManyPointsOfOnePixelAddUpInOrder) {
  const auto build = [](GraphBuilder& b) -> std::vector<ValueId> {
    const ValueId shape = b.constant("shape", Tensor::i64({4}, std::vector<int64_t>{2, 35, 2, 3}));
    return {b.add("hone.GridSampleGradient",
                  {f32_input(b, "g", {2, 35, 40, 30}), shape, f32_input(b, "grid", {2, 40, 30, 2})},
                  {{"padding_mode", "border"}})};
  };
  compare_all_kernels(build, options(1e-5));
  auto plan = runtime::Plan::compile(make_graph(build), *provider_);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  const std::vector<Tensor> inputs = {random_floats({2, 35, 40, 30}, 1), random_floats({2, 40, 30, 2}, 2)};
  const auto first = (*plan)->run(inputs), second = (*plan)->run(inputs);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ((*first)[0].to_doubles(), (*second)[0].to_doubles());
}

Tensor regions_of(DType dtype) {
  return cast_floats(Tensor::f32({5, 4}, std::vector<float>{0, 0, 20, 20, 3.5F, 2.25F, 19, 30, -8, -4,
                                                            2, 3, 10, 10, 10,   10,    5,  40, 70, 44}),
                     dtype);
}

TEST_P(SamplingOnGpu, RegionsOfEveryModeAgree) {
  int turn = 0;
  for (const std::string mode : {"avg", "max"}) {
    for (const std::string coordinates : {"half_pixel", "output_half_pixel"}) {
      for (const int64_t ratio : {0, 1, 3}) {
        const DType dtype = std::array{DType::kF32, DType::kF16, DType::kF64}[turn++ % 3];
        SCOPED_TRACE(fmt::format("{} {} {} {}", mode, coordinates, ratio, dtype_name(dtype)));
        CompareOptions given = options(1e-5);
        given.inputs = {{}, regions_of(dtype), Tensor::i64({5}, std::vector<int64_t>{0, 1, 1, 0, 1})};
        compare_all_kernels(
            [&](GraphBuilder& b) -> std::vector<ValueId> {
              return {b.add("RoiAlign",
                            {input_of(b, "x", dtype, {2, 3, 12, 10}), input_of(b, "r", dtype, {5, 4}),
                             input_of(b, "n", DType::kI64, {5})},
                            {{"mode", mode},
                             {"coordinate_transformation_mode", coordinates},
                             {"sampling_ratio", ratio},
                             {"spatial_scale", 0.5F},
                             {"output_height", int64_t{3}},
                             {"output_width", int64_t{4}}})};
            },
            given);
      }
    }
  }
}

TEST_P(SamplingOnGpu, ARegionOfNoImageIsAnErrorOfTheRun) {
  auto plan = runtime::Plan::compile(
      make_graph([](GraphBuilder& b) -> std::vector<ValueId> {
        return {b.add("RoiAlign", {f32_input(b, "x", {2, 3, 12, 10}), f32_input(b, "r", {5, 4}),
                                   input_of(b, "n", DType::kI64, {5})})};
      }),
      *provider_);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  std::vector<Tensor> inputs = {random_floats({2, 3, 12, 10}, 1), regions_of(DType::kF32),
                                Tensor::i64({5}, std::vector<int64_t>{0, 1, 1, 0, 1})};
  EXPECT_TRUE((*plan)->run(inputs).ok());
  for (const int64_t wrong : {2, -1}) {
    inputs[2].as<int64_t>()[3] = wrong;
    const auto failed = (*plan)->run(inputs);
    ASSERT_FALSE(failed.ok());
    EXPECT_THAT(failed.error().message, HasSubstr("a region is in an image that does not exist"));
  }
  inputs[2].as<int64_t>()[3] = 0;
  inputs[1].as<float>()[2] = 1e30F;
  EXPECT_FALSE((*plan)->run(inputs).ok());
}

}  // namespace
}  // namespace hone::backends

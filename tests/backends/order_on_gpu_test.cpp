// TopK and cumulative sums on a GPU against the reference: without one by kernels that the host runs thread by thread, on one
// as they are (ctest -L cuda).
#include <cmath>
#include <tuple>

#include "tests/backends/compare.h"
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kernels/cuda/top_k.h"
#include "runtime/plan.h"
#include "runtime/testing/providers.h"

namespace hone::backends {
namespace {

using graph::GraphBuilder;
using graph::ValueId;

class OrderOnGpu : public ::testing::TestWithParam<const char*> {
 protected:
  CompareOptions options() const {
    CompareOptions options;
    options.provider = provider_;
    return options;
  }
  static Build top_k(DType dtype, const Shape& shape, int64_t k, int64_t axis, bool largest) {
    return [=](GraphBuilder& b) -> std::vector<ValueId> {
      return b.add_many("TopK", {input_of(b, "x", dtype, shape), ints(b, {k})}, 2,
                        {{"axis", axis}, {"largest", int64_t{largest}}});
    };
  }
  const std::shared_ptr<const runtime::Provider> provider_ = runtime::testing::provider_named(GetParam());
};
INSTANTIATE_TEST_SUITE_P(All, OrderOnGpu, ::testing::Values(runtime::testing::kCudaOnHost),
                         [](const auto& test) { return std::string(test.param); });
INSTANTIATE_TEST_SUITE_P(Gpu, OrderOnGpu, ::testing::ValuesIn(runtime::testing::gpu_providers()));
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(OrderOnGpu);

// Integers repeat: ties are most of them.
TEST_P(OrderOnGpu, TheBestOfEveryTypeAgreeAlongEveryAxis) {
  int64_t turn = 0;
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kF64, DType::kI8, DType::kU8,
                            DType::kI16, DType::kI32, DType::kI64, DType::kU64}) {
    const int64_t axis = turn % 3;
    SCOPED_TRACE(fmt::format("{} axis {}", dtype_name(dtype), axis));
    const bool is_unsigned = dtype == DType::kU8 || dtype == DType::kU64;
    CompareOptions given = options();
    if (is_unsigned) given.int_low = 0;
    compare_all_kernels(top_k(dtype, {4, 5, 17}, 3, axis, turn % 2 == 0), given);
    ++turn;
  }
}

// A chunk a line and lines in blocks that they do not fill; rounds of chunks; whole lines in memory.
TEST_P(OrderOnGpu, TheBestOfShortAndOfLongAxesAgree) {
  bool turn = false;
  for (const auto& [shape, k, axis] :
       std::vector<std::tuple<Shape, int64_t, int64_t>>{{{7, 1}, 1, -1},
                                                        {{1, 2}, 2, -1},
                                                        {{300, 8}, 2, -1},
                                                        {{3, 1000}, 1000, -1},
                                                        {{2, 4096}, 5, -1},
                                                        {{2, 4097}, 5, -1},
                                                        {{20001}, 300, 0},
                                                        {{9001, 2}, 2048, 0},
                                                        {{5000, 3}, 5000, 0},
                                                        {{2, 9001}, 2049, -1}}) {
    SCOPED_TRACE(fmt::format("{} k {} axis {}", shape_text(shape), k, axis));
    turn = !turn;
    compare_all_kernels(top_k(turn ? DType::kF32 : DType::kI64, shape, k, axis, turn), options());
  }
}

// NaN is the largest and the smallest, both zeros are equal and keep their signs, infinities are numbers.
TEST_P(OrderOnGpu, NanComesFirstAndZerosAreEqual) {
  Tensor floats = random_floats({2, 61}, 3);
  const float odd[] = {NAN, -0.0F, 0.0F, INFINITY, -INFINITY, -NAN, 0.0F, -0.0F, 1e-42F, -1e-42F};
  for (std::size_t i = 0; i < std::size(odd); ++i) floats.as<float>()[i * 7 + 2] = odd[i];
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kF64}) {
    for (const bool largest : {true, false}) {
      CompareOptions given = options();
      given.inputs = {cast_floats(floats, dtype)};
      SCOPED_TRACE(dtype_name(dtype));
      compare_all_kernels(top_k(dtype, {2, 61}, 61, -1, largest), given);
    }
  }
  const graph::Graph graph = make_graph(top_k(DType::kF32, {3}, 3, -1, true));
  auto plan = runtime::Plan::compile(graph, *provider_);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  const auto best = (*plan)->run(std::vector{Tensor::f32({3}, std::vector{-0.0F, 0.0F, -0.0F})});
  ASSERT_TRUE(best.ok()) << best.error().message;
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(std::signbit((*best)[0].as<float>()[i]), i != 1);
    EXPECT_EQ((*best)[1].as<int64_t>()[i], static_cast<int64_t>(i));
  }
}

// A sort's places, of which nobody asks the values, and the other way round.
TEST_P(OrderOnGpu, OneOfTheTwoResultsIsEnough) {
  for (const std::size_t wanted : {0, 1}) {
    compare_all_kernels(
        [&](GraphBuilder& b) -> std::vector<ValueId> {
          return {top_k(DType::kF32, {3, 40}, 7, -1, true)(b)[wanted]};
        },
        options());
  }
}

TEST_P(OrderOnGpu, CumulativeSumsAndProductsAgree) {
  struct Case {
    Shape shape;
    int64_t axis;
  };
  int turn = 0;
  for (const Case& c :
       {Case{{4, 5, 17}, 1}, Case{{3, 200}, 1}, Case{{2, 4099, 3}, 1}, Case{{70, 40000}, 0}}) {
    for (const DType dtype :
         {DType::kF32, DType::kI64, DType::kI32, DType::kF16, DType::kBF16, DType::kF64}) {
      // Four forms in turn; half types add up to more than they hold where lines are long.
      const int64_t exclusive = turn & 1, reverse = turn >> 1 & 1;
      if (dtype_size(dtype) == 2 && element_count(c.shape) > 600) continue;
      if (element_count(c.shape) > 600 && dtype != DType::kF32 && dtype != DType::kI64) continue;
      if (element_count(c.shape) > 100000 && dtype != DType::kF32) continue;
      ++turn;
      SCOPED_TRACE(fmt::format("{} {} axis {} exclusive {} reverse {}", dtype_name(dtype),
                               shape_text(c.shape), c.axis, exclusive, reverse));
      CompareOptions given = options();
      given.low = 0;  // what cancels out leaves an error as large as the sums were
      const auto scan = [&](const char* op) {
        compare_all_kernels(
            [&](GraphBuilder& b) -> std::vector<ValueId> {
              return {b.add(op,
                            {input_of(b, "x", dtype, c.shape), b.constant("a", Tensor::scalar_i64(c.axis))},
                            {{"exclusive", exclusive}, {"reverse", reverse}})};
            },
            given);
      };
      scan("CumSum");
      if (c.shape.back() != 17 || turn % 3 != 0) continue;
      given.low = 0.5;
      scan("CumProd");
    }
  }
}

TEST(TopKKernels, GoThroughMemoryByRoundsWhereFewAreWantedAndAsAWholeWhereManyAre) {
  using kernels::gpu::generate_top_k;
  EXPECT_EQ(generate_top_k({.extent = 4096, .k = 4096})->launches.size(), 1U);
  EXPECT_EQ(generate_top_k({.extent = 4096, .k = 4096})->scratch_bytes, 0U);
  EXPECT_EQ(generate_top_k({.extent = 100000, .k = 1000})->launches.size(), 4U);
  // 2¹⁷ items in chunks of 2¹²: five sizes behind the sort of chunks, with one to five steps across them.
  EXPECT_EQ(generate_top_k({.extent = 100000, .k = 50000})->launches.size(),
            1U + (1 + 2 + 3 + 4 + 5) + 5 + 1);
  EXPECT_FALSE(generate_top_k({.dtype = DType::kBool, .extent = 4}).ok());
  EXPECT_FALSE(generate_top_k({.extent = 4, .k = 5}).ok());
}

}  // namespace
}  // namespace hone::backends

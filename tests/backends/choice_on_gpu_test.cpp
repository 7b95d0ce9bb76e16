// Trilu, OneHot, TensorScatter and ReverseSequence on a GPU against the reference: without one by kernels that the host runs
// thread by thread, on one as they are (ctest -L cuda).
#include <array>

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
using Values = std::vector<ValueId>;
using ::testing::HasSubstr;

class ChoiceOnGpu : public ::testing::TestWithParam<const char*> {
 protected:
  CompareOptions options() const {
    CompareOptions options;
    options.provider = provider_;
    options.tolerance = 0;
    return options;
  }
  const std::shared_ptr<const runtime::Provider> provider_ = runtime::testing::provider_named(GetParam());
};
INSTANTIATE_TEST_SUITE_P(All, ChoiceOnGpu, ::testing::Values(runtime::testing::kCudaOnHost),
                         [](const auto& test) { return std::string(test.param); });
INSTANTIATE_TEST_SUITE_P(Gpu, ChoiceOnGpu, ::testing::ValuesIn(runtime::testing::gpu_providers()));
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ChoiceOnGpu);

// Diagonals within the matrix and far outside of it, known and computed.
TEST_P(ChoiceOnGpu, TrianglesAgree) {
  int turn = 0;
  for (const int64_t diagonal : {0, 2, -3, 100, -100}) {
    for (const int64_t upper : {0, 1}) {
      const DType dtype = std::array{DType::kF32, DType::kF16, DType::kBool, DType::kI64}[turn % 4];
      const bool known = turn++ % 2 == 0;
      SCOPED_TRACE(fmt::format("{} {} {}", diagonal, upper, dtype_name(dtype)));
      CompareOptions given = options();
      given.inputs = {{}, Tensor::scalar_i64(diagonal)};
      compare_all_kernels(
          [&](GraphBuilder& b) -> Values {
            const ValueId x = input_of(b, "x", dtype, {3, 9, 7});
            const ValueId k =
                known ? b.constant("k", Tensor::scalar_i64(diagonal)) : input_of(b, "k", DType::kI64, {});
            return {b.add("Trilu", {x, k}, {{"upper", upper}})};
          },
          given);
    }
  }
  compare_all_kernels(
      [](GraphBuilder& b) -> Values {
        return {b.add("Trilu", {f32_input(b, "x", {5, 8})})};
      },
      options());
}

// Indices count from the end too; those of no class are off everywhere.
TEST_P(ChoiceOnGpu, OneHotVectorsAgree) {
  int turn = 0;
  for (const int64_t axis : {-1, 0, 1}) {
    for (const DType indices : {DType::kI64, DType::kI32, DType::kF32, DType::kU8}) {
      const DType values = turn++ % 2 == 0 ? DType::kF32 : DType::kI8;
      SCOPED_TRACE(fmt::format("{} {}", axis, dtype_name(indices)));
      CompareOptions given = options();
      given.low = -8;
      given.high = 8;
      given.int_low = indices == DType::kU8 ? 0 : -8;
      given.int_high = 8;
      compare_all_kernels(
          [&](GraphBuilder& b) -> Values {
            return {b.add("OneHot",
                          {input_of(b, "i", indices, {4, 50}), b.constant("depth", Tensor::scalar_i64(6)),
                           input_of(b, "v", values, {2})},
                          {{"axis", axis}})};
          },
          given);
    }
  }
}

TEST_P(ChoiceOnGpu, CachesTakeNewEntries) {
  int turn = 0;
  for (const std::string mode : {"linear", "circular"}) {
    for (const int64_t axis : {-2, 1}) {
      const DType dtype = turn++ % 2 == 0 ? DType::kF32 : DType::kF16;
      Shape update{3, 8, 8, 5};
      update[axis == 1 ? 1 : 2] = 3;
      SCOPED_TRACE(fmt::format("{} {}", mode, axis));
      CompareOptions given = options();
      given.inputs = {{},
                      {},
                      Tensor::i64({3}, mode == "linear" ? std::vector<int64_t>{0, 5, 2}
                                                        : std::vector<int64_t>{7, 14, -2})};
      compare_all_kernels(
          [&](GraphBuilder& b) -> Values {
            return {b.add("TensorScatter",
                          {input_of(b, "cache", dtype, {3, 8, 8, 5}), input_of(b, "u", dtype, update),
                           input_of(b, "at", DType::kI64, {3})},
                          {{"mode", mode}, {"axis", axis}})};
          },
          given);
    }
  }
  const graph::Graph graph = make_graph([](GraphBuilder& b) -> Values {
    return {b.add("TensorScatter", {f32_input(b, "cache", {2, 8, 5}), f32_input(b, "u", {2, 3, 5}),
                                    input_of(b, "at", DType::kI64, {2})})};
  });
  auto plan = runtime::Plan::compile(graph, *provider_);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  for (const auto& [start, right] : {std::pair{0, true}, {5, true}, {6, false}, {-1, false}}) {
    const auto ran = (*plan)->run(std::vector{random_floats({2, 8, 5}, 1), random_floats({2, 3, 5}, 2),
                                              Tensor::i64({2}, std::vector<int64_t>{1, start})});
    ASSERT_EQ(ran.ok(), right) << start;
    if (right) continue;
    EXPECT_THAT(ran.error().message, HasSubstr("the update does not fit behind its index"));
  }
}

TEST_P(ChoiceOnGpu, SequencesAreTurnedRound) {
  for (const int64_t time : {0, 1}) {
    CompareOptions given = options();
    given.inputs = {{}, Tensor::i64({4}, std::vector<int64_t>{0, 1, 6, 3})};
    const graph::Graph graph = make_graph([&](GraphBuilder& b) -> Values {
      return {b.add("ReverseSequence",
                    {f32_input(b, "x", time == 0 ? Shape{6, 4, 5} : Shape{4, 6, 5}),
                     input_of(b, "n", DType::kI64, {4})},
                    {{"time_axis", time}, {"batch_axis", 1 - time}})};
    });
    compare_all_kernels(graph, given);
    auto plan = runtime::Plan::compile(graph, *provider_);
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    const auto failed =
        (*plan)->run(std::vector{random_floats(time == 0 ? Shape{6, 4, 5} : Shape{4, 6, 5}, 1),
                                 Tensor::i64({4}, std::vector<int64_t>{0, 1, 7, 3})});
    EXPECT_FALSE(failed.ok());
  }
}

}  // namespace
}  // namespace hone::backends

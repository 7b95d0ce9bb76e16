// Scatters on a GPU against the reference, by every reduction: without one by kernels that the host runs thread by thread, on
// one as they are (ctest -L cuda).
#include <cmath>
#include <limits>

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

struct Scatter {
  Shape data, indices, updates;
  const char* op;
  int64_t bound;  // indices are below it, and not below its negative
  int64_t axis = 0;
};

class ScatterOnGpu : public ::testing::TestWithParam<const char*> {
 protected:
  CompareOptions options(const Scatter& scatter, double tolerance) const {
    CompareOptions options;
    options.provider = provider_;
    options.tolerance = tolerance;
    std::vector<int64_t> places(static_cast<std::size_t>(element_count(scatter.indices)));
    uint32_t state = 12345;
    for (int64_t& place : places) {
      state = state * 1664525U + 1013904223U;
      place = static_cast<int64_t>(state >> 8) % (2 * scatter.bound) - scatter.bound;
    }
    options.inputs = {{}, Tensor::i64(scatter.indices, places)};
    return options;
  }
  static Build scatter(const Scatter& s, DType dtype, const std::string& reduction) {
    return [=](GraphBuilder& b) -> std::vector<ValueId> {
      Attributes attributes{{"reduction", reduction}};
      if (std::string(s.op) == "ScatterElements") attributes.set("axis", s.axis);
      return {b.add(s.op,
                    {input_of(b, "d", dtype, s.data), input_of(b, "i", DType::kI64, s.indices),
                     input_of(b, "u", dtype, s.updates)},
                    attributes)};
    };
  }
  const std::shared_ptr<const runtime::Provider> provider_ = runtime::testing::provider_named(GetParam());
};
INSTANTIATE_TEST_SUITE_P(All, ScatterOnGpu, ::testing::Values(runtime::testing::kCudaOnHost),
                         [](const auto& test) { return std::string(test.param); });
INSTANTIATE_TEST_SUITE_P(Gpu, ScatterOnGpu, ::testing::ValuesIn(runtime::testing::gpu_providers()));
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ScatterOnGpu);

const std::vector<Scatter> kScatters = {
    {{50, 33}, {7, 11, 1}, {7, 11, 33}, "ScatterND", 50},
    {{9, 70}, {300, 1}, {300, 70}, "ScatterND", 3},    // long runs of one place, over pieces' ends
    {{40, 4}, {5000, 1}, {5000, 4}, "ScatterND", 40},  // more than one tile is sorted
    {{6, 7, 3}, {90, 2}, {90, 3}, "ScatterND", 6},
    {{64, 10}, {64, 1}, {64, 1}, "ScatterElements", 10, 1},
    {{6, 5}, {200, 5}, {200, 5}, "ScatterElements", 6},
    {{5, 4, 9}, {3, 4, 31}, {3, 4, 31}, "ScatterElements", 9, -1}};

TEST_P(ScatterOnGpu, FloatsAgreeByEveryReduction) {
  int turn = 0;
  for (const Scatter& s : kScatters) {
    for (const char* const reduction : {"none", "add", "mul", "min", "max"}) {
      const DType dtype = std::array{DType::kF32, DType::kF16, DType::kBF16, DType::kF64}[turn++ % 4];
      SCOPED_TRACE(fmt::format("{} {} {} {}", s.op, shape_text(s.updates), reduction, dtype_name(dtype)));
      CompareOptions wanted = options(s, dtype == DType::kBF16 ? 2e-2 : 4e-6);
      if (reduction == std::string("mul")) {  // hundreds of factors: products that do not leave the type
        wanted.low = 0.95;
        wanted.high = 1.05;
      }
      compare_all_kernels(scatter(s, dtype, reduction), wanted);
    }
  }
}

// Sums and products of integers wrap, as on the host, whatever the order.
TEST_P(ScatterOnGpu, IntegersAndBoolsAreExact) {
  int turn = 0;
  for (const DType dtype : {DType::kI8, DType::kI16, DType::kI32, DType::kI64, DType::kU8, DType::kU16,
                            DType::kU32, DType::kU64, DType::kBool}) {
    for (const char* const reduction : {"none", "add", "mul", "min", "max"}) {
      if (++turn % 2 != 0) continue;  // each type by half of them, each of them on half of the types
      const Scatter& s = kScatters[static_cast<std::size_t>(turn / 2) % kScatters.size()];
      SCOPED_TRACE(fmt::format("{} {} {}", dtype_name(dtype), s.op, reduction));
      CompareOptions wanted = options(s, 0);
      wanted.int_low = -100;  // of unsigned types the largest numbers
      wanted.int_high = 100;
      compare_all_kernels(scatter(s, dtype, reduction), wanted);
    }
  }
}

// A NaN is smaller and larger than everything, among the data and among the updates.
TEST_P(ScatterOnGpu, NanWinsEveryComparison) {
  const Scatter s{{8, 5}, {40, 1}, {40, 5}, "ScatterND", 8};
  Tensor data = random_floats(s.data, 1), updates = random_floats(s.updates, 2);
  for (const std::size_t at : {3, 17}) data.as<float>()[at] = NAN;
  for (const std::size_t at : {0, 55, 121}) updates.as<float>()[at] = NAN;
  updates.as<float>()[77] = -INFINITY;
  updates.as<float>()[78] = INFINITY;
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kF64}) {
    for (const char* const reduction : {"min", "max", "add"}) {
      SCOPED_TRACE(fmt::format("{} {}", dtype_name(dtype), reduction));
      CompareOptions wanted = options(s, 1e-5);
      wanted.inputs[0] = cast_floats(data, dtype);
      wanted.inputs.push_back(cast_floats(updates, dtype));
      compare_all_kernels(scatter(s, dtype, reduction), wanted);
    }
  }
}

// Factors that overflow f32 between them have a product that does not.
TEST_P(ScatterOnGpu, ProductsMayLeaveTheTypeInBetween) {
  const Scatter s{{2}, {4}, {4}, "ScatterElements", 1};
  CompareOptions wanted = options(s, 1e-6);
  wanted.inputs[0] = Tensor::f32({2}, std::vector<float>{2, 3});
  wanted.inputs[1] = Tensor::i64({4}, std::vector<int64_t>{1, 1, 1, 1});
  wanted.inputs.push_back(Tensor::f32({4}, std::vector<float>{1e30F, 1e30F, 1e-30F, 1e-30F}));
  compare_all_kernels(scatter(s, DType::kF32, "mul"), wanted);
}

// A shape that inference cannot judge; a wrong one is the reference's to refuse, and no kernel reads behind the end.
TEST_P(ScatterOnGpu, NothingToScatterLeavesACopyAndShapesThatDoNotFitAreRefused) {
  for (const char* const reduction : {"none", "mul"}) {
    const Scatter s{{4, 3}, {0, 3}, {0, 3}, "ScatterElements", 1};
    compare_all_kernels(scatter(s, DType::kF32, reduction), options(s, 0));
  }
  for (const Scatter& s : {Scatter{{4, 3}, {2, 3}, {1, 3}, "ScatterElements", 1},
                           Scatter{{4, 3}, {2, 5}, {2, 5}, "ScatterElements", 1},
                           Scatter{{4, 3}, {2, 1}, {1, 3}, "ScatterND", 1}}) {
    for (const char* const reduction : {"none", "max"}) {
      SCOPED_TRACE(fmt::format("{} {} {}", s.op, shape_text(s.updates), reduction));
      const graph::Graph graph = make_graph(scatter(s, DType::kF32, reduction));
      auto plan = runtime::Plan::compile(graph, *provider_);
      ASSERT_TRUE(plan.ok()) << plan.error().message;
      const auto failed = (*plan)->run(std::vector{
          random_floats(s.data, 1), Tensor::zeros(DType::kI64, s.indices), random_floats(s.updates, 2)});
      ASSERT_FALSE(failed.ok());
      EXPECT_THAT(failed.error().message, HasSubstr(s.op));
    }
  }
}

TEST_P(ScatterOnGpu, AnIndexOutOfRangeIsToldByEveryReduction) {
  for (const char* const reduction : {"none", "add", "mul", "min", "max"}) {
    const Scatter s{{4, 3}, {5, 1}, {5, 3}, "ScatterND", 4};
    auto plan = runtime::Plan::compile(make_graph(scatter(s, DType::kI32, reduction)), *provider_);
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    std::vector<Tensor> inputs = {Tensor::zeros(DType::kI32, s.data),
                                  Tensor::i64(s.indices, std::vector<int64_t>{0, 3, -4, 1, 2}),
                                  Tensor::zeros(DType::kI32, s.updates)};
    EXPECT_TRUE((*plan)->run(inputs).ok());
    for (const int64_t wrong : {int64_t{4}, int64_t{-5}, std::numeric_limits<int64_t>::min()}) {
      inputs[1].as<int64_t>()[3] = wrong;
      const auto failed = (*plan)->run(inputs);
      ASSERT_FALSE(failed.ok()) << reduction << " " << wrong;
      EXPECT_THAT(failed.error().message, HasSubstr("an index is out of range for a tensor of shape [4,3]"));
    }
  }
}

// The order in which updates of one place are combined does not change from run to run.
TEST_P(ScatterOnGpu, SumsRepeatBitForBit) {
  const Scatter s{{5, 40}, {700, 1}, {700, 40}, "ScatterND", 5};
  auto plan = runtime::Plan::compile(make_graph(scatter(s, DType::kF32, "add")), *provider_);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  const std::vector<Tensor> inputs = {random_floats(s.data, 1), options(s, 0).inputs[1],
                                      random_floats(s.updates, 2)};
  const auto first = (*plan)->run(inputs), again = (*plan)->run(inputs);
  ASSERT_TRUE(first.ok() && again.ok());
  EXPECT_TRUE(same_tensor((*first)[0], (*again)[0]));
}

}  // namespace
}  // namespace hone::backends

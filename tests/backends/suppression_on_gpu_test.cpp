// NonMaxSuppression on a GPU against the reference: without one by kernels that the host runs thread by thread, on one as they
// are (ctest -L cuda).
#include <cmath>
#include <random>

#include "tests/backends/compare.h"
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/cuda/non_max_suppression.h"
#include "runtime/interpreter.h"
#include "runtime/plan.h"
#include "runtime/testing/providers.h"

namespace hone::backends {
namespace {

using graph::GraphBuilder;
using graph::ValueId;
using ::testing::HasSubstr;

struct Suppression {
  int64_t batch = 1, boxes = 10, classes = 1;
  int64_t most = 5;
  std::optional<float> iou = 0.4F, score = 0.3F;
  bool centre = false;
  DType dtype = DType::kF32;
};

class SuppressionOnGpu : public ::testing::TestWithParam<const char*> {
 protected:
  static std::vector<ValueId> inputs_of(GraphBuilder& b, const Suppression& s) {
    const auto number = [&](std::optional<float> x) { return x ? scalar(b, *x) : graph::kNoValue; };
    std::vector<ValueId> inputs = {input_of(b, "boxes", s.dtype, {s.batch, s.boxes, 4}),
                                   input_of(b, "scores", s.dtype, {s.batch, s.classes, s.boxes}),
                                   ints(b, {s.most}), number(s.iou), number(s.score)};
    while (!inputs.back().valid()) inputs.pop_back();
    return inputs;
  }
  static Attributes attributes_of(const Suppression& s) { return {{"center_point_box", int64_t{s.centre}}}; }
  static graph::Graph bounded(const Suppression& s) {
    return make_graph([&](GraphBuilder& b) {
      return b.add_many("hone.NonMaxSuppression", inputs_of(b, s), 2, attributes_of(s));
    });
  }
  static graph::Graph as_in_models(const Suppression& s) {
    return make_graph([&](GraphBuilder& b) -> std::vector<ValueId> {
      return {b.add("NonMaxSuppression", inputs_of(b, s), attributes_of(s))};
    });
  }
  // Boxes in clusters, in whole numbers: many overlap, many by exactly as much, and scores repeat.
  CompareOptions options(const Suppression& s) const {
    CompareOptions options;
    options.provider = provider_;
    std::mt19937 random(static_cast<unsigned>(s.boxes * 7 + s.classes));
    std::uniform_int_distribution<int> cluster(0, 5), jitter(-3, 3), size(2, 9), score(0, 12);
    Tensor boxes(DType::kF32, {s.batch, s.boxes, 4}), scores(DType::kF32, {s.batch, s.classes, s.boxes});
    for (std::size_t i = 0; i < boxes.as<float>().size(); i += 4) {
      for (std::size_t k = 0; k < 2; ++k) {
        const int from = 8 * cluster(random) + jitter(random), extent = size(random);
        const bool swapped = !s.centre && cluster(random) == 0;  // corners in any order
        boxes.as<float>()[i + k] = static_cast<float>(swapped ? from + extent : from);
        boxes.as<float>()[i + 2 + k] = static_cast<float>(s.centre ? extent : swapped ? from : from + extent);
      }
    }
    for (float& x : scores.as<float>()) x = static_cast<float>(score(random)) / 12;
    options.inputs = {cast_floats(boxes, s.dtype), cast_floats(scores, s.dtype)};
    return options;
  }
  const std::shared_ptr<const runtime::Provider> provider_ = runtime::testing::provider_named(GetParam());
};
INSTANTIATE_TEST_SUITE_P(All, SuppressionOnGpu, ::testing::Values(runtime::testing::kCudaOnHost),
                         [](const auto& test) { return std::string(test.param); });
INSTANTIATE_TEST_SUITE_P(Gpu, SuppressionOnGpu, ::testing::ValuesIn(runtime::testing::gpu_providers()));
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SuppressionOnGpu);

TEST_P(SuppressionOnGpu, TheSameBoxesAreKept) {
  for (const Suppression& s :
       {Suppression{}, Suppression{.boxes = 1, .most = 1}, Suppression{.batch = 3, .boxes = 77, .classes = 5},
        Suppression{.boxes = 700, .classes = 2, .most = 1000, .iou = 0.9F},
        Suppression{.batch = 2, .boxes = 130, .classes = 300, .most = 2},
        Suppression{.boxes = 200, .most = 40, .iou = {}}, Suppression{.boxes = 200, .most = 40, .score = {}},
        Suppression{.boxes = 90, .classes = 3, .most = 20, .centre = true},
        Suppression{.boxes = 64, .most = 64, .iou = 0, .score = 2},  // nothing is kept
        Suppression{.boxes = 64, .most = 64, .iou = -1},             // the first box suppresses all others
        Suppression{.boxes = 50, .most = 20, .dtype = DType::kF16},
        Suppression{.boxes = 50, .most = 20, .dtype = DType::kF64}}) {
    SCOPED_TRACE(fmt::format("{} boxes, {} classes, most {}", s.boxes, s.classes, s.most));
    compare_all_kernels(bounded(s), options(s));
  }
}

// The plan's form: the selection on the device, and only as many rows as there are taken on the host.
TEST_P(SuppressionOnGpu, AModelsOperatorIsSelectedByAKernelAndCutOnTheHost) {
  for (const Suppression& s :
       {Suppression{.batch = 2, .boxes = 60, .classes = 4, .most = 10},
        Suppression{.boxes = 9, .score = 1.0F}, Suppression{.boxes = 300, .classes = 40, .most = 300}}) {
    const graph::Graph graph = as_in_models(s);
    const std::vector<Tensor> inputs = options(s).inputs;
    const auto wanted = runtime::interpret(graph, inputs);
    ASSERT_TRUE(wanted.ok()) << wanted.error().message;
    auto plan = runtime::Plan::compile(graph, *provider_);
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    std::string steps;
    for (const auto& step : (*plan)->steps()) steps += fmt::format("{}: {}; ", step.op, step.implementation);
    EXPECT_THAT(steps, HasSubstr("hone.NonMaxSuppression: hone suppression (CUDA)"));
    EXPECT_THAT(steps, HasSubstr("hone.FirstRows: interpreted on the host"));
    for (int run = 0; run < 2; ++run) {
      const auto found = (*plan)->run(inputs);
      ASSERT_TRUE(found.ok()) << found.error().message;
      EXPECT_TRUE(same_tensor((*found)[0], (*wanted)[0])) << shape_text((*found)[0].shape());
    }
  }
}

// How many are wanted is data, or there are more boxes than a block marks: on the host, as it is.
TEST_P(SuppressionOnGpu, WhatNoKernelTakesStaysOnTheHost) {
  const graph::Graph open = make_graph([&](GraphBuilder& b) -> std::vector<ValueId> {
    return {b.add("NonMaxSuppression", {f32_input(b, "b", {1, 6, 4}), f32_input(b, "s", {1, 2, 6}),
                                        input_of(b, "most", DType::kI64, {1}), scalar(b, 0.5F)})};
  });
  const std::vector<Tensor> inputs = {random_floats({1, 6, 4}, 1), random_floats({1, 2, 6}, 2),
                                      Tensor::i64({1}, std::vector<int64_t>{2})};
  auto plan = runtime::Plan::compile(open, *provider_);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ((*plan)->steps().back().implementation, "interpreted on the host");
  const auto found = (*plan)->run(inputs), wanted = runtime::interpret(open, inputs);
  ASSERT_TRUE(found.ok() && wanted.ok());
  EXPECT_TRUE(same_tensor((*found)[0], (*wanted)[0]));

  const Suppression many{.boxes = 70000, .most = 3};
  auto large = runtime::Plan::compile(as_in_models(many), *provider_);
  ASSERT_TRUE(large.ok()) << large.error().message;
  EXPECT_EQ((*large)->steps().back().op, "NonMaxSuppression");
}

TEST(SuppressionKernels, HaveAThreadForSixteenBoxesAsLongAsThereAreThreads) {
  using kernels::gpu::generate_suppression;
  EXPECT_EQ(generate_suppression({.boxes = 20, .most = 5})->threads, 32);
  EXPECT_EQ(generate_suppression({.boxes = 8400, .most = 5})->threads, 1024);
  EXPECT_EQ(generate_suppression({.boxes = 65536, .most = 5})->threads, 1024);
  EXPECT_FALSE(generate_suppression({.boxes = 65537, .most = 5}).ok());
  EXPECT_FALSE(generate_suppression({.boxes = 4, .most = 5}).ok());
  EXPECT_FALSE(generate_suppression({.dtype = DType::kI32, .boxes = 4, .most = 4}).ok());
}

}  // namespace
}  // namespace hone::backends

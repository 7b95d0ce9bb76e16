#include "runtime/plan.h"

#include <algorithm>
#include <limits>

#include <gtest/gtest.h>

#include "core/memory_budget.h"
#include "core/scope.h"
#include "graph/builder.h"
#include "graph/text.h"
#include "runtime/interpreter.h"
#include "runtime/memory_plan.h"
#include "runtime/testing/idle_provider.h"
#include "runtime/testing/providers.h"
#include "runtime/testing/spans.h"

namespace hone::runtime {
namespace {

using graph::GraphBuilder;
using graph::ValueId;
using testing::IdleProvider;
using testing::Spans;

graph::Graph chain(int length) {
  GraphBuilder b("chain");
  ValueId x = b.input("x", graph::tensor_type(DType::kF32, Shape{4}));
  for (int i = 0; i < length; ++i) x = b.add("Relu", {x});
  b.output(x);
  return *std::move(b).finish();
}

// What a plan promises on every device.
class PlanOnDevices : public ::testing::TestWithParam<const char*> {
 protected:
  const std::shared_ptr<const Provider> provider_ = testing::provider_named(GetParam());
};

// y = 2 x + w, and w itself.
graph::Graph affine() {
  GraphBuilder b("affine");
  const ValueId x = b.input("x", graph::tensor_type(DType::kF32, Shape{3}));
  const ValueId w = b.constant("w", Tensor::f32({3}, std::vector<float>{10, 20, 30}));
  b.output(b.add("Add", {b.add("Mul", {x, b.constant("two", Tensor::scalar_f32(2))}), w}));
  b.output(b.add("Identity", {w}));
  return *std::move(b).finish();
}

Tensor three(float a, float b, float c) { return Tensor::f32({3}, std::vector<float>{a, b, c}); }

TEST_P(PlanOnDevices, ReadsWhatARunMadeOfWhatWasWritten) {
  auto plan = Plan::compile(affine(), *provider_);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  ASSERT_TRUE((*plan)->write(0, three(1, 2, 3)).ok());
  for (int run = 0; run < 2; ++run) {  // an input stays written
    ASSERT_TRUE((*plan)->run().ok());
    EXPECT_TRUE(same_tensor(*(*plan)->read(0), three(12, 24, 36)));
  }
  ASSERT_TRUE((*plan)->write(0, three(0, 0, 1)).ok());
  ASSERT_TRUE((*plan)->start().ok());
  ASSERT_TRUE((*plan)->finish().ok());
  EXPECT_TRUE(same_tensor(*(*plan)->read(0), three(10, 20, 32)));
  EXPECT_TRUE(same_tensor(*(*plan)->read(1), three(10, 20, 30))) << "a constant that is an output";
}

TEST_P(PlanOnDevices, IsForetoldWithoutTakingMemory) {
  PlanOptions options;
  options.autotune = false;
  const Device& device = *provider_->device();
  const std::size_t before = memory_in_use();
  restart_memory_peak();
  GraphBuilder b("large");
  ValueId x = b.input("x", graph::tensor_type(DType::kF32, Shape{256, 256}));
  for (int i = 0; i < 3; ++i) x = b.add("MatMul", {x, b.add("Softmax", {x}, {{"axis", int64_t{-1}}})});
  b.output(x);
  const graph::Graph graph = *std::move(b).finish();
  const auto forecast = Plan::forecast(graph, *provider_, options);
  ASSERT_TRUE(forecast.ok()) << forecast.error().message;
  if (device.host_visible()) {
    EXPECT_LT(memory_peak() - before, 256 * 256 * 4u) << "not one of its values";
  } else {
    EXPECT_EQ(device.use().peak, 0U);
  }
  const auto plan = Plan::compile(graph, *provider_, options);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(forecast->memory.arena_bytes, (*plan)->memory().arena_bytes);
  EXPECT_EQ(forecast->memory.weights_bytes, (*plan)->memory().weights_bytes);
  EXPECT_EQ(forecast->memory.constants_bytes, (*plan)->memory().constants_bytes);
  ASSERT_EQ(forecast->steps.size(), (*plan)->steps().size());
  for (std::size_t i = 0; i < forecast->steps.size(); ++i)
    EXPECT_EQ(forecast->steps[i].scratch_bytes, (*plan)->steps()[i].scratch_bytes);
}

TEST_P(PlanOnDevices, OutlivesItsProvider) {
  std::unique_ptr<Plan> plan;
  {
    const auto provider = testing::provider_named(GetParam());
    plan = *Plan::compile(affine(), *provider);
  }
  const auto outputs = plan->run(std::vector{three(1, 1, 1)});
  ASSERT_TRUE(outputs.ok()) << outputs.error().message;
  EXPECT_TRUE(same_tensor((*outputs)[0], three(12, 22, 32)));
}

TEST_P(PlanOnDevices, WritesOnlyWhatFits) {
  auto plan = Plan::compile(affine(), *provider_);
  ASSERT_TRUE(plan.ok());
  for (const Tensor& wrong : {Tensor::zeros(DType::kF32, {4}), Tensor::zeros(DType::kI32, {3})}) {
    const Status status = (*plan)->write(0, wrong);
    ASSERT_FALSE(status.ok());
    EXPECT_NE(status.error().message.find("input 'x': the plan is for f32[3], not for"), std::string::npos)
        << status.error().message;
  }
}

TEST_P(PlanOnDevices, AnErrorInTheDataNamesItsNodeAndTheNextRunIsClean) {
  GraphBuilder b("gather");
  const ValueId index = b.input("index", graph::tensor_type(DType::kI64, Shape{2}));
  const ValueId data = b.add("Neg", {b.input("x", graph::tensor_type(DType::kF32, Shape{3}))});
  b.output(b.add("Relu", {b.add("GatherElements", {data, index})}));
  auto plan = Plan::compile(*std::move(b).finish(), *provider_);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  const std::string gather = (*plan)->steps()[1].name;
  for (const int64_t at : {0, 7, 2, -9, 1}) {
    const Tensor wanted = Tensor::i64({2}, std::vector<int64_t>{0, at});
    const auto outputs = (*plan)->run(std::vector{wanted, three(-5, -6, -7)});
    if (at >= 0 && at < 3) {
      ASSERT_TRUE(outputs.ok()) << at << ": " << outputs.error().message;
      EXPECT_EQ((*outputs)[0].at(1), 5.0 + static_cast<double>(at));
      continue;
    }
    ASSERT_FALSE(outputs.ok()) << at;
    EXPECT_NE(outputs.error().message.find("node '" + gather + "' (GatherElements"), std::string::npos)
        << outputs.error().message;
    EXPECT_NE(outputs.error().message.find("index"), std::string::npos) << outputs.error().message;
  }
}

// Also where a kernel writes over its input.
TEST_P(PlanOnDevices, NumbersAreCheckedWhereTheyAreMade) {
  GraphBuilder b("log");
  b.output(b.add("Relu",
                 {b.add("Log", {b.add("Neg", {b.input("x", graph::tensor_type(DType::kF32, Shape{3}))})})}));
  PlanOptions options;
  options.check_numbers = true;
  auto plan = Plan::compile(*std::move(b).finish(), *provider_, options);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_TRUE((*plan)->run(std::vector{three(-1, -2, -3)}).ok());
  const auto bad = (*plan)->run(std::vector{three(-1, 2, -3)});
  ASSERT_FALSE(bad.ok());
  EXPECT_NE(bad.error().message.find("(Log"), std::string::npos) << bad.error().message;
}

TEST_P(PlanOnDevices, LanesComputeTheSame) {
  GraphBuilder b("branches");
  const ValueId x = b.add("Neg", {b.input("x", graph::tensor_type(DType::kF32, Shape{3}))});
  std::vector<ValueId> ends;
  for (const char* op : {"Relu", "Abs", "Floor"}) {
    ValueId y = x;
    for (int i = 0; i < 3; ++i) y = b.add("Add", {b.add(op, {y}), x});
    ends.push_back(y);
  }
  b.output(b.add("Concat", ends, {{"axis", int64_t{0}}}));
  const graph::Graph graph = *std::move(b).finish();
  const auto wanted = interpret(graph, std::vector{three(1.5F, -2, 3)});
  PlanOptions options;
  options.overlap = Overlap::kAlways;
  const auto provider = testing::provider_named(GetParam(), 2);
  auto plan = Plan::compile(graph, *provider, options);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  const bool any = std::any_of((*plan)->steps().begin(), (*plan)->steps().end(),
                               [](const PlanStep& step) { return step.lanes > 1; });
  EXPECT_EQ(any, provider->lanes() > 1);
  for (int run = 0; run < 3; ++run) {
    const auto got = (*plan)->run(std::vector{three(1.5F, -2, 3)});
    ASSERT_TRUE(got.ok()) << got.error().message;
    EXPECT_TRUE(same_tensor((*got)[0], (*wanted)[0]));
  }
}

// A value that rests in the host's memory while the device computes.
TEST_P(PlanOnDevices, CopiesBetweenTheDeviceAndTheHostAsTheGraphSays) {
  const auto graph = graph::parse(R"(graph "offload" (%x: f32[3], %h: f32[3]@host) {
    %a: f32[3] = Neg(%x)
    %kept: f32[3]@host = hone.CopyTo(%a) {device = "host"}
    %b: f32[3] = hone.CopyTo(%h) {device = "device0"}
    %s: f32[3] = Add(%a, %b)
    %back: f32[3] = hone.CopyTo(%kept) {device = "device0"}
    %y: f32[3] = Mul(%s, %back)
    return %y, %kept
  })");
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  auto plan = Plan::compile(*graph, *provider_);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_GE((*plan)->memory().host_bytes, 2 * 12u);
  EXPECT_EQ((*plan)->steps()[1].implementation, "copy device0 to host");
  for (int run = 0; run < 2; ++run) {
    const auto got = (*plan)->run(std::vector{three(1, 2, 3), three(10, 20, 30)});
    ASSERT_TRUE(got.ok()) << got.error().message;
    EXPECT_TRUE(same_tensor((*got)[0], three(9 * -1, 18 * -2, 27 * -3)));
    EXPECT_TRUE(same_tensor((*got)[1], three(-1, -2, -3)));
  }
}

TEST(Plan, HasOneDevice) {
  const auto graph =
      graph::parse("graph \"g\" (%h: f32[3]@device1) { %y: f32[3]@device1 = Neg(%h) return %y }");
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  const auto plan = Plan::compile(*graph, IdleProvider());
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(plan.error().message.find("device1"), std::string::npos) << plan.error().message;
}

TEST_P(PlanOnDevices, MarksEveryStepAsItRuns) {
  auto plan = Plan::compile(affine(), *provider_);
  ASSERT_TRUE(plan.ok());
  ASSERT_TRUE((*plan)->write(0, three(1, 2, 3)).ok());
  Spans spans;
  ASSERT_TRUE((*plan)->run().ok());
  EXPECT_EQ(spans.steps, 1);
  ASSERT_EQ(spans.operators.size(), (*plan)->steps().size());
  for (uint32_t i = 0; i < spans.operators.size(); ++i) EXPECT_EQ(spans.operators[i], i);
}

INSTANTIATE_TEST_SUITE_P(Gpu, PlanOnDevices, ::testing::ValuesIn(testing::gpu_providers()),
                         [](const auto& test) { return std::string(test.param); });
INSTANTIATE_TEST_SUITE_P(All, PlanOnDevices, ::testing::Values("cpu", "null", testing::kCudaWithoutGpu),
                         [](const auto& test) { return std::string(test.param); });

TEST(Plan, OnADeviceOfItsOwnRunsWhenTheHostWaits) {
  auto plan = Plan::compile(affine(), *testing::provider_named("null"));
  ASSERT_TRUE(plan.ok());
  ASSERT_TRUE((*plan)->write(0, three(1, 2, 3)).ok());
  Spans spans;
  ASSERT_TRUE((*plan)->start().ok());
  EXPECT_TRUE(spans.operators.empty());
  ASSERT_TRUE((*plan)->finish().ok());
  EXPECT_FALSE(spans.operators.empty());
}

TEST(Plan, EndsWithoutChoosingFurtherWhenItsProgressSaysSo) {
  PlanOptions options;
  std::size_t asked = 0;
  options.progress = [&](std::size_t, std::size_t, const std::string&) { return ++asked < 3; };
  auto plan = Plan::compile(chain(1000), IdleProvider(), options);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(asked, 3U);
}

TEST(Plan, AnInPlaceChainNeedsTheInputAndOneBufferMore) {
  auto plan = Plan::compile(chain(20), IdleProvider());
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ((*plan)->memory().arena_bytes, 2 * kBufferAlignment);
}

TEST(Plan, RefusesWhatMemoryCannotHoldAndNamesIt) {
  GraphBuilder b("vast");
  ValueId x = b.input("x", graph::tensor_type(DType::kF32, Shape{int64_t{1} << 22, int64_t{1} << 22}));
  b.output(b.add("Relu", {x}));
  auto plan = Plan::compile(*std::move(b).finish(), IdleProvider());
  ASSERT_FALSE(plan.ok());
  EXPECT_NE(plan.error().message.find("'x' (f32[4194304,4194304]) takes 64.0 TiB"), std::string::npos)
      << plan.error().message;
}

// The exporters' idiom for "while": as many trips as an int64 can say. Only what can never end is refused.
graph::Graph while_loop(bool ends) {
  GraphBuilder body("body");
  body.input("trip", graph::tensor_type(DType::kI64, Shape{}));
  ValueId going = body.input("going", graph::tensor_type(DType::kBool, Shape{}));
  ValueId x = body.input("x", graph::tensor_type(DType::kF32, Shape{}));
  ValueId next = body.add("Add", {x, body.constant("one", Tensor::scalar_f32(1))});
  body.output(ends ? body.add("Less", {next, body.constant("limit", Tensor::scalar_f32(7))})
                   : body.add("Identity", {going}));
  body.output(next);
  GraphBuilder b("loop");
  graph::Node node;
  node.op = "Loop";
  node.inputs = {b.constant("trips", Tensor::scalar_i64(std::numeric_limits<int64_t>::max())),
                 graph::kNoValue, b.input("x", graph::tensor_type(DType::kF32, Shape{}))};
  node.bodies = {std::make_shared<const graph::Graph>(*std::move(body).finish())};
  const std::string name = "y";
  b.output((*b.try_add(std::move(node), std::span(&name, 1)))[0]);
  return *std::move(b).finish();
}

TEST(Loop, ThatNothingCanEndIsRefused) {
  const Tensor zero = Tensor::scalar_f32(0);
  auto outputs = interpret(while_loop(true), std::vector{zero});
  ASSERT_TRUE(outputs.ok()) << outputs.error().message;
  EXPECT_EQ((*outputs)[0].at(0), 7);
  outputs = interpret(while_loop(false), std::vector{zero});
  ASSERT_FALSE(outputs.ok());
  EXPECT_NE(outputs.error().message.find("the loop never ends"), std::string::npos)
      << outputs.error().message;
}

// Two equal candidates for every node; counts how often kernels are made.
class TwoCandidates : public HostProvider {
 public:
  std::string_view name() const override { return "two"; }
  std::string signature(Share) const override { return "two"; }
  Result<std::vector<Candidate>> candidates(const graph::Graph& graph, const graph::Node& node,
                                            Share share) const override {
    HONE_ASSIGN(const std::vector<Candidate> one, IdleProvider().candidates(graph, node, share));
    std::vector<Candidate> two;
    for (const char* name : {"a", "b"}) {
      two.push_back({name, [this, make = one[0].make] {
                       ++made;
                       return make();
                     }});
    }
    return two;
  }
  mutable int made = 0;
};

// Not after the measurement, or the last candidate's weights.
TEST(Plan, EndsWithinAMeasurementWhenTold) {
  for (const int most : {2, 3, 5}) {
    const TwoCandidates provider;
    PlanOptions options;
    int asked = 0;
    options.keep_going = [&] { return ++asked <= most; };
    const auto plan = Plan::compile(chain(10), provider, options);
    ASSERT_FALSE(plan.ok());
    EXPECT_EQ(plan.error().code, ErrorCode::kCancelled);
    EXPECT_EQ(plan.error().message, interrupted_choice().message);
    EXPECT_EQ(asked, most + 1);
    EXPECT_EQ(provider.made, std::min(most - 1, 2));
  }
}

TEST(Plan, EqualNodesAreMeasuredOnce) {
  const TwoCandidates provider;
  ASSERT_TRUE(Plan::compile(chain(10), provider).ok());
  EXPECT_EQ(provider.made, 2 + 9);
}

}  // namespace
}  // namespace hone::runtime

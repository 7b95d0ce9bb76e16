#include "lab/saved_plan.h"

#include <functional>

#include <gtest/gtest.h>

#include "core/file.h"
#include "core/testing/scratch_path.h"
#include "graph/builder.h"
#include "graph/text.h"
#include "lab/prepared.h"
#include "model/zoo/zoo.h"
#include "runtime/testing/providers.h"
#include "runtime/testing/unmeasured.h"
#include "runtime/timing_cache.h"

namespace hone::lab {
namespace {

using graph::GraphBuilder;
using graph::ValueId;
using runtime::Provider;
using runtime::testing::Unmeasured;

Tensor some_numbers(Shape shape, float step) {
  Tensor tensor = Tensor::zeros(DType::kF32, std::move(shape));
  const std::span<float> values = tensor.as<float>();
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>((i * 37) % 19) * step - 0.4F;
  return tensor;
}

// Two branches that can run side by side, products with weights, a view, an input that is given out.
graph::Graph branching_graph() {
  GraphBuilder b("branches");
  const ValueId x = b.input("x", graph::tensor_type(DType::kF32, Shape{9, 33}));
  const ValueId y = b.add("MatMul", {x, b.constant("w", some_numbers({33, 40}, 0.05F))});
  const ValueId left = b.add("Tanh", {b.add("MatMul", {y, b.constant("l", some_numbers({40, 21}, 0.03F))})});
  const ValueId right = b.add("Exp", {b.add("MatMul", {y, b.constant("r", some_numbers({40, 21}, 0.01F))})});
  b.output(b.add("Reshape", {b.add("Softmax", {b.add("Add", {left, right})}),
                             b.constant("flat", Tensor::i64({1}, std::vector<int64_t>{9 * 21}))}));
  b.output(b.add("Identity", {x}));
  return *std::move(b).finish();
}

// An If around a product: bodies are plans in their turn.
graph::Graph with_a_branch() {
  return *graph::parse(R"(graph "g" (%go: bool[], %x: f32[5,7]) {
    %h: f32[5,7] = Tanh(%x) "h"
    %y: f32[5,7] = If(%go, %h) captures 1 "choose"
      graph "then" (%t: f32[5,7]) { %u: f32[5,7] = Exp(%t) "up" %r: f32[5,7] = Softmax(%u) "soft" return %r }
      graph "else" (%e: f32[5,7]) { %n: f32[5,7] = Neg(%e) "down" return %n }
    %z: f32[5,7] = Abs(%y) "z"
    return %z
  })");
}

class SavedPlanOnDevices : public ::testing::TestWithParam<const char*> {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }
  // Compiled, written, and made again from the file alone.
  void save(const graph::Graph& graph, runtime::PlanOptions options) {
    auto optimised = optimise(graph, *provider_, {});
    ASSERT_TRUE(optimised.ok()) << optimised.error().message;
    auto made = runtime::Plan::compile(*optimised, *provider_, options);
    ASSERT_TRUE(made.ok()) << made.error().message;
    plan_ = *std::move(made);
    const Status saved = save_plan(*plan_, *provider_, "/models/net.onnx", {}, path_);
    ASSERT_TRUE(saved.ok()) << saved.error().message;
    const auto file = model::read_plan(path_);
    ASSERT_TRUE(file.ok()) << file.error().message;
    EXPECT_EQ(file->about.model, "net.onnx");
    auto again = make_again(*file, Unmeasured(*provider_));
    ASSERT_TRUE(again.ok()) << again.error().message;
    again_ = *std::move(again);
  }
  void expect_same(std::span<const Tensor> inputs) {
    const auto wanted = plan_->run(inputs), outputs = again_->run(inputs);
    ASSERT_TRUE(wanted.ok() && outputs.ok());
    ASSERT_EQ(outputs->size(), wanted->size());
    for (std::size_t i = 0; i < wanted->size(); ++i)
      EXPECT_TRUE(same_tensor((*wanted)[i], (*outputs)[i])) << i;
  }

  const std::shared_ptr<const Provider> provider_ = runtime::testing::provider_named(GetParam(), 2);
  const std::filesystem::path path_ = scratch_path("saved.plan");
  std::unique_ptr<runtime::Plan> plan_, again_;
};

TEST_P(SavedPlanOnDevices, ComputesTheSameByTheSameKernelsAndMeasuresNothing) {
  for (const runtime::Overlap overlap : {runtime::Overlap::kNever, runtime::Overlap::kAlways}) {
    runtime::PlanOptions options;
    options.tune_ms_per_node = 1;
    options.overlap = overlap;
    ASSERT_NO_FATAL_FAILURE(save(branching_graph(), options));
    ASSERT_EQ(again_->steps().size(), plan_->steps().size());
    for (std::size_t i = 0; i < plan_->steps().size(); ++i) {
      const runtime::PlanStep &then = plan_->steps()[i], &now = again_->steps()[i];
      EXPECT_EQ(now.implementation, then.implementation);
      EXPECT_EQ(now.candidate, then.candidate);
      EXPECT_EQ(now.lane, then.lane);
      EXPECT_EQ(now.lanes, then.lanes);
    }
    EXPECT_EQ(again_->memory().arena_bytes, plan_->memory().arena_bytes);
    expect_same(std::vector{some_numbers({9, 33}, 0.1F)});
  }
}

TEST_P(SavedPlanOnDevices, KeepsThePlansOfBodies) {
  ASSERT_NO_FATAL_FAILURE(save(with_a_branch(), {}));
  for (const bool go : {true, false}) {
    Tensor condition = Tensor::zeros(DType::kBool, {});
    condition.as<bool>()[0] = go;
    expect_same(std::vector{condition, some_numbers({5, 7}, 0.1F)});
  }
}

// The border with the host is drawn in what is saved; drawing it again changes nothing.
TEST_P(SavedPlanOnDevices, KeepsWhatRunsOnTheHost) {
  GraphBuilder b("places");
  const ValueId x = b.input("x", graph::tensor_type(DType::kF32, Shape{3, 5}));
  b.output(b.add("Transpose", {b.add("NonZero", {b.add("Relu", {x})})}));
  ASSERT_NO_FATAL_FAILURE(save(*std::move(b).finish(), {}));
  EXPECT_TRUE(graph::same_graph(plan_->graph(), again_->graph()));
  expect_same(std::vector{some_numbers({3, 5}, 0.1F)});
}

TEST_P(SavedPlanOnDevices, HasTheSameBytesForTheSameTimings) {
  runtime::TimingCache cache;
  runtime::PlanOptions options;
  options.tune_ms_per_node = 1;
  options.cache = &cache;
  ASSERT_NO_FATAL_FAILURE(save(branching_graph(), options));  // measures
  const auto measured = read_file(path_);
  ASSERT_NO_FATAL_FAILURE(save(branching_graph(), options));  // remembers
  EXPECT_EQ(*measured, *read_file(path_));
}

// What was measured on one machine serves others of its kind: as a file that is copied there.
TEST_P(SavedPlanOnDevices, IsTheSameByACopyOfTheTimingCacheAndNothingIsMeasured) {
  const std::filesystem::path folder = scratch_path("copied-timings");
  runtime::TimingCache here = runtime::TimingCache::open(folder / "timings.tsv");
  runtime::PlanOptions options;
  options.tune_ms_per_node = 1;
  options.cache = &here;
  ASSERT_NO_FATAL_FAILURE(save(branching_graph(), options));
  const auto measured = read_file(path_);
  ASSERT_TRUE(here.save().ok());

  std::filesystem::copy_file(folder / "timings.tsv", folder / "of-another.tsv");
  runtime::TimingCache there = runtime::TimingCache::open(folder / "of-another.tsv");
  EXPECT_TRUE(there.note().empty()) << there.note();
  EXPECT_EQ(there.size(), here.size());
  options.cache = &there;
  const Unmeasured unmeasured(*provider_);
  const auto optimised = optimise(branching_graph(), unmeasured, {});
  ASSERT_TRUE(optimised.ok()) << optimised.error().message;
  const auto made = runtime::Plan::compile(*optimised, unmeasured, options);
  ASSERT_TRUE(made.ok()) << made.error().message;
  ASSERT_TRUE(save_plan(**made, unmeasured, "/models/net.onnx", {}, path_).ok());
  EXPECT_EQ(*measured, *read_file(path_));

  // And without it there is something to measure, or the test would say nothing.
  const auto candidates = provider_->candidates(*optimised, optimised->nodes()[0], runtime::Share::kDevice);
  ASSERT_TRUE(candidates.ok());
  if (candidates->size() > 1) {
    runtime::TimingCache none;
    options.cache = &none;
    EXPECT_FALSE(runtime::Plan::compile(*optimised, unmeasured, options).ok());
  }
  std::filesystem::remove_all(folder);
}

TEST_P(SavedPlanOnDevices, IsRefusedByAnotherMachineInOneLineThatSaysWhatDiffers) {
  ASSERT_NO_FATAL_FAILURE(save(branching_graph(), {}));
  const auto file = model::read_plan(path_);
  ASSERT_TRUE(file.ok());
  for (std::size_t i = 0; i < file->about.made_for.size(); ++i) {
    model::PlanFile other = *file;
    auto& [what, value] = other.about.made_for[i];
    const std::string here = value;
    value = "something else";
    const auto plan = make_again(other, *provider_);
    ASSERT_FALSE(plan.ok()) << what;
    EXPECT_EQ(plan.error().code, ErrorCode::kUnsupported);
    EXPECT_EQ(plan.error().message, "the plan was made for " + what + " something else (here " + here +
                                        "); make it anew here: hone optimize net.onnx -o PLAN --device " +
                                        file->about.device);
  }
  model::PlanFile more = *file;
  more.about.made_for.emplace_back("coprocessor", "9");
  EXPECT_NE(make_again(more, *provider_).error().message.find("coprocessor 9 (here none)"),
            std::string::npos);
  model::PlanFile fewer = *file;
  fewer.about.made_for.clear();
  EXPECT_FALSE(make_again(fewer, *provider_).ok());
}

TEST_P(SavedPlanOnDevices, IsAnErrorWhereAKernelOrItsMemoryIsNoMore) {
  ASSERT_NO_FATAL_FAILURE(save(branching_graph(), {}));
  model::PlanFile file = *model::read_plan(path_);
  file.about.arena_bytes += 64;
  EXPECT_NE(make_again(file, *provider_).error().message.find("memory comes out as"), std::string::npos);
  file = *model::read_plan(path_);
  file.choices.kernels[0].candidate = "a kernel of old";
  const auto plan = make_again(file, *provider_);
  ASSERT_FALSE(plan.ok());
  EXPECT_NE(plan.error().message.find("'a kernel of old' was chosen for it"), std::string::npos)
      << plan.error().message;
}

INSTANTIATE_TEST_SUITE_P(All, SavedPlanOnDevices,
                         ::testing::Values("cpu", "null", runtime::testing::kCudaWithoutGpu,
                                           runtime::testing::kCudaWithProducts,
                                           runtime::testing::kCudaOnHost),
                         [](const auto& test) { return std::string(test.param); });
INSTANTIATE_TEST_SUITE_P(Gpu, SavedPlanOnDevices, ::testing::ValuesIn(runtime::testing::gpu_providers()),
                         [](const auto& test) { return std::string(test.param); });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SavedPlanOnDevices);

TEST(SavedPlan, OfAZooModelComputesTheSame) {
  const auto provider = runtime::testing::cpu_provider(1);
  const auto path = scratch_path("zoo.plan");
  for (const char* name : {"mobilenet_v2", "minilm"}) {
    const bool images = std::string_view(name) == "mobilenet_v2";
    const auto graph = model::build_zoo_model(name, {.seed = 1, .batch = 1, .size = images ? 64 : 16});
    ASSERT_TRUE(graph.ok()) << graph.error().message;
    const auto inputs = make_inputs(*graph, 3);
    const auto optimised = optimise(*graph, *provider, {});
    runtime::PlanOptions options;
    options.autotune = false;
    const auto plan = runtime::Plan::compile(*optimised, *provider, options);
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    ASSERT_TRUE(save_plan(**plan, *provider, "zoo.onnx", {}, path).ok());
    const auto saved = load_plan(path);
    ASSERT_TRUE(saved.ok()) << saved.error().message;
    const auto wanted = (*plan)->run(inputs->tensors), outputs = saved->plan->run(inputs->tensors);
    ASSERT_TRUE(wanted.ok() && outputs.ok());
    for (std::size_t i = 0; i < wanted->size(); ++i)
      EXPECT_TRUE(same_tensor((*wanted)[i], (*outputs)[i])) << name;
  }
  std::filesystem::remove(path);
}

// Whatever a file asks for, it gets no more than there is.
TEST(SavedPlan, ThatAsksForMoreMemoryThanThereIsIsAnError) {
  const auto provider = runtime::testing::cpu_provider(1);
  model::PlanFile file;
  file.about.device = "cpu";
  for (const runtime::Trait& trait : provider->traits())
    file.about.made_for.emplace_back(trait.what, trait.value);
  file.graph = *graph::parse(
      "graph \"g\" (%x: f32[35184372088832]) { %y: f32[35184372088832] = Relu(%x) \"y\" return %y }");
  file.choices.kernels = {{graph::NodeId{0}, "hone pointwise", 0, 1, {}}};
  const auto plan = make_again(file, *provider);
  ASSERT_FALSE(plan.ok());
  EXPECT_NE(plan.error().message.find("more than the memory of"), std::string::npos) << plan.error().message;
}

TEST(SavedPlan, ForMoreThreadsThanThereAreIsRefused) {
  const auto path = scratch_path("threads.plan");
  const auto provider = runtime::testing::cpu_provider(1);
  const auto plan = runtime::Plan::compile(branching_graph(), *provider, {.autotune = false});
  ASSERT_TRUE(plan.ok());
  ASSERT_TRUE(save_plan(**plan, *provider, "net.onnx", {}, path).ok());
  model::PlanFile file = *model::read_plan(path);
  file.about.threads = 4096;
  ASSERT_TRUE(model::write_plan(file, path).ok());
  const auto loaded = load_plan(path);
  ASSERT_FALSE(loaded.ok());
  EXPECT_NE(loaded.error().message.find("made for 4096 threads, and this process may use"), std::string::npos)
      << loaded.error().message;
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace hone::lab

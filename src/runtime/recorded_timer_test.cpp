// Kernels timed in recordings, over a driver whose clock only kernels and launches move (cuda/testing/fake_driver.cpp).
#include "runtime/recorded_timer.h"

#include <set>

#include "cuda/testing/fake_driver.h"
#include <gtest/gtest.h>

#include "graph/builder.h"
#include "runtime/autotune.h"
#include "runtime/cuda/cuda_device.h"

namespace hone::runtime {
namespace {

// A kernel that the driver takes so long for; keeps where its inputs and outputs lay.
class Taking : public Kernel {
 public:
  Taking(const cuda::ContextPointer& context, const std::string& name)
      : module_(*cuda::load_module(context, std::string_view("// PTX\0", 7))),
        function_(*cuda::find_function(module_, name.c_str())) {}
  std::string implementation() const override { return "taking"; }
  Status enqueue(const KernelArguments& arguments, Queue& queue) override {
    ++given;
    inputs.insert(arguments.inputs[0]);
    outputs.insert(arguments.outputs[0]);
    return static_cast<CudaQueue&>(queue).launch(function_, {}, {}, "taking");
  }
  int given = 0;
  std::set<const void*> inputs;
  std::set<const void*> outputs;

 private:
  cuda::Module module_;
  cuda::FunctionHandle function_;
};

graph::Graph one_relu(int64_t elements) {
  graph::GraphBuilder b("g");
  b.output(b.add("Relu", {b.input("x", graph::tensor_type(DType::kF32, Shape{elements}))}));
  return *std::move(b).finish();
}

class RecordedTiming : public ::testing::Test {
 protected:
  RecordedTimer timer(std::size_t step_bytes) { return {device_, *device_->make_queue(), step_bytes}; }

  const cuda::testing::Faults clock_{"clock"};
  const cuda::ContextPointer context_ = cuda::testing::fake_context();
  const std::shared_ptr<CudaDevice> device_ = std::make_shared<CudaDevice>(context_);
  const graph::Graph graph_ = one_relu(1000);
};

TEST_F(RecordedTiming, IsOfTheKernelWithoutWhatItsLaunchCosts) {
  RecordedTimer timed = timer(0);
  const auto sandbox = timed.sandbox(graph_, graph_.nodes()[0]);
  ASSERT_TRUE(sandbox.ok()) << sandbox.error().message;
  Taking kernel(context_, "takes_2_us");
  const auto watch = timed.stopwatch(**sandbox, kernel);
  const int64_t graphs = cuda::testing::graphs_made();
  const auto first = watch();
  ASSERT_TRUE(first.ok()) << first.error().message;
  EXPECT_NEAR(*first, 2, 0.1);
  // Two alone, 6 µs each; a recording of 200/6 runs, which turns out too short; one of 200/2.
  EXPECT_EQ(cuda::testing::graphs_made() - graphs, 2);
  EXPECT_GE(kernel.given, 2 + 34 + 85);
  EXPECT_LE(kernel.given, 2 + 34 + 100);
  const int given = kernel.given;
  const int64_t replays = cuda::testing::graphs_run();
  ASSERT_TRUE(watch().ok());
  EXPECT_EQ(kernel.given, given) << "a recording is made once";
  EXPECT_EQ(cuda::testing::graphs_run() - replays, 2) << "one that hides the host, one that is timed";
}

TEST_F(RecordedTiming, RunsALongKernelOnceAlone) {
  RecordedTimer timed = timer(0);
  const auto sandbox = timed.sandbox(graph_, graph_.nodes()[0]);
  ASSERT_TRUE(sandbox.ok());
  Taking kernel(context_, "takes_5000_us");
  const int64_t ran = cuda::testing::kernels_run();
  const auto reading = timed.stopwatch(**sandbox, kernel)();
  ASSERT_TRUE(reading.ok());
  EXPECT_NEAR(*reading, 5008, 1);
  EXPECT_EQ(cuda::testing::kernels_run() - ran, 3) << "alone, before the first replay, and in it";
}

TEST_F(RecordedTiming, RotatesValuesWhereAStepIsLargerThanTheCache) {
  for (const bool large : {false, true}) {
    RecordedTimer timed = timer(large ? context_->l2_bytes() + 1 : context_->l2_bytes());
    const graph::Graph graph = one_relu(65536);  // 256 KiB in and 256 out: 4 sets are twice a cache of 1 MiB
    const auto sandbox = timed.sandbox(graph, graph.nodes()[0]);
    ASSERT_TRUE(sandbox.ok());
    Taking kernel(context_, "takes_5_us");
    ASSERT_TRUE(timed.stopwatch(**sandbox, kernel)().ok());
    EXPECT_EQ(kernel.inputs.size(), large ? 4U : 1U);
    EXPECT_EQ(kernel.outputs.size(), large ? 4U : 1U);
    EXPECT_EQ(timed.conditions().ends_with("passed by weights"), large);
    for (const void* const input : kernel.inputs) {
      const auto* const numbers = static_cast<const float*>(input);  // the driver's memory is the host's
      EXPECT_NE(numbers[0], numbers[1]);
      EXPECT_EQ(numbers[65535], static_cast<const float*>(*kernel.inputs.begin())[65535]);
    }
    for (const void* const output : kernel.outputs)
      EXPECT_NE(*static_cast<const float*>(output), *static_cast<const float*>(output)) << "NaN: unwritten";
  }
}

// What the operator before has just written is in the cache, and weights are not: a step last read them a step ago.
TEST_F(RecordedTiming, LeavesInTheCacheWhatTheOperatorBeforeHasWritten) {
  graph::GraphBuilder b("product");
  const graph::ValueId x = b.input("x", graph::tensor_type(DType::kF32, Shape{16, 256}));
  b.output(b.add("MatMul", {x, b.constant("w", Tensor::zeros(DType::kF32, {256, 256}))}));
  const graph::Graph graph = *std::move(b).finish();
  RecordedTimer timed = timer(context_->l2_bytes() + 1);
  const auto sandbox = timed.sandbox(graph, graph.nodes()[0]);
  ASSERT_TRUE(sandbox.ok());
  Taking kernel(context_, "takes_5_us");
  const auto sets = (*sandbox)->all_arguments(kernel);
  ASSERT_TRUE(sets.ok());
  ASSERT_EQ(sets->size(), 8U) << "of weights of 256 KiB: twice a cache of 1 MiB";
  std::set<const void*> inputs, weights, outputs;
  for (const KernelArguments& set : *sets) {
    inputs.insert(set.inputs[0]);
    weights.insert(set.inputs[1]);
    outputs.insert(set.outputs[0]);
  }
  EXPECT_EQ(weights.size(), 8U);
  EXPECT_EQ(inputs.size(), 1U);
  EXPECT_EQ(outputs.size(), 1U);
}

TEST_F(RecordedTiming, AKernelThatFailsIsAnErrorAndLeavesTheNextOneRight) {
  RecordedTimer timed = timer(0);
  const auto sandbox = timed.sandbox(graph_, graph_.nodes()[0]);
  ASSERT_TRUE(sandbox.ok());
  Taking kernel(context_, "takes_3_us");
  {
    const cuda::testing::Faults faults("lost clock");
    EXPECT_FALSE(timed.stopwatch(**sandbox, kernel)().ok());
  }
  const cuda::testing::Faults clock("clock");
  EXPECT_NEAR(*timed.stopwatch(**sandbox, kernel)(), 3, 0.2);
}

// Relu with kernels of given times.
class Offering : public Provider {
 public:
  Offering(std::shared_ptr<CudaDevice> device, std::vector<int> us)
      : device_(std::move(device)), us_(std::move(us)) {}
  std::string_view name() const override { return "offering"; }
  std::string signature(Share) const override { return "offering"; }
  std::shared_ptr<Device> device() const override { return device_; }
  Result<std::vector<Candidate>> candidates(const graph::Graph&, const graph::Node&, Share) const override {
    std::vector<Candidate> found;
    for (const int us : us_) {
      const std::string name = "takes_" + std::to_string(us) + "_us";
      found.push_back({name, [this, name]() -> Result<std::unique_ptr<Kernel>> {
                         auto kernel = std::make_unique<Taking>(device_->context(), name);
                         made.push_back(kernel.get());
                         return std::unique_ptr<Kernel>(std::move(kernel));
                       }});
    }
    return found;
  }
  mutable std::vector<Taking*> made;

 private:
  std::shared_ptr<CudaDevice> device_;
  std::vector<int> us_;
};

TEST_F(RecordedTiming, ATunerCutsHopelessKernelsAfterOneReplayAndRemembersTheFastest) {
  const Offering provider(device_, {3000, 50, 40, 3000});
  TimingCache cache;
  PlanOptions options;
  options.cache = &cache;
  options.tune_ms_per_node = 1e6;  // no matter how slow this machine is
  Tuner tuner(provider, options);
  const int64_t ran = cuda::testing::kernels_run(), replays = cuda::testing::graphs_run();
  const auto chosen = tuner.choose(graph_, graph_.nodes()[0]);
  ASSERT_TRUE(chosen.ok()) << chosen.error().message;
  EXPECT_EQ(
      cache.find("offering, replayed, the cache warm", node_signature(graph_, graph_.nodes()[0]))->candidate,
      "takes_40_us");
  // Those of 3000 µs: one alone, one replay and the one before it, each of one run. Of 50 µs: out after two readings
  // of 4 runs. Of 40: three readings of 5.
  EXPECT_EQ(cuda::testing::graphs_run() - replays, 2 * 2 + 2 * 2 + 3 * 2);
  EXPECT_EQ(cuda::testing::kernels_run() - ran, 2 * 3 + (2 + 4 * 4) + (2 + 6 * 5));
  const int64_t before = cuda::testing::kernels_run();
  ASSERT_TRUE(Tuner(provider, options).choose(graph_, graph_.nodes()[0]).ok());
  EXPECT_EQ(cuda::testing::kernels_run(), before) << "what is remembered is not measured again";
}

}  // namespace
}  // namespace hone::runtime

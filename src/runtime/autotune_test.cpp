#include "runtime/autotune.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "core/clock.h"
#include "graph/builder.h"
#include "runtime/cpu/cpu_timer.h"
#include "runtime/host_device.h"

namespace hone::runtime {
namespace {

// Contenders that take given times without taking them; who ran is written down.
class Race {
 public:
  Contender runner(char name, std::vector<double> times) {
    return {[this, name, times]() -> Result<double> {
              const auto turn = static_cast<std::size_t>(std::count(ran.begin(), ran.end(), name));
              ran += name;
              return times[std::min(turn, times.size() - 1)];
            },
            {},
            false};
  }
  std::string ran;
};

TEST(RunRounds, TakesTurns) {
  Race race;
  std::vector<Contender> all = {race.runner('A', {10}), race.runner('B', {10}), race.runner('C', {10})};
  run_rounds(all, 0);
  EXPECT_EQ(race.ran, "ABCABCABCABC") << "a first round that does not count, then the fewest that do";
  for (const Contender& contender : all) EXPECT_EQ(contender.readings.size(), 3U);
}

TEST(RunRounds, AContenderClearlySlowerSitsOut) {
  Race race;
  std::vector<Contender> all = {race.runner('A', {10}), race.runner('B', {30})};
  run_rounds(all, 1000);
  EXPECT_EQ(race.ran, "ABABABAAAAA") << "and the one that is left needs few readings";
  EXPECT_LT(all[0].estimate(), all[1].estimate());
}

TEST(RunRounds, ADisturbedReadingDecidesNothing) {
  Race race;
  std::vector<Contender> all = {race.runner('A', {10, 900, 10, 10}), race.runner('B', {12})};
  run_rounds(all, 0);
  EXPECT_LT(all[0].estimate(), all[1].estimate());
}

TEST(RunRounds, LongRunsNeedFewReadings) {
  Race race;
  std::vector<Contender> all = {race.runner('A', {9'000}), race.runner('B', {30'000}),
                                race.runner('C', {10'000})};
  run_rounds(all, 0);
  EXPECT_EQ(race.ran, "ABCACAC") << "the first round counts, and in it who takes far longer is out";
}

TEST(RunRounds, AShortOneAgainstALongOne) {
  Race race;
  std::vector<Contender> all = {race.runner('A', {900, 40}), race.runner('B', {5'500, 30})};
  run_rounds(all, 0);
  EXPECT_EQ(race.ran, "ABABABAB") << "neither has readings enough before the other";
  EXPECT_LT(all[1].estimate(), all[0].estimate());
}

TEST(RunRounds, EndBetweenTwoReadingsWhenTold) {
  Race race;
  std::vector<Contender> all = {race.runner('A', {10}), race.runner('B', {10})};
  EXPECT_FALSE(run_rounds(all, 1000, {}, [&] { return race.ran.size() < 3; }));
  EXPECT_EQ(race.ran, "ABA");
}

TEST(RunRounds, WhereReadingsAreSteadyTheFirstDecidesMuch) {
  Race race;
  std::vector<Contender> all = {race.runner('A', {10}), race.runner('B', {16}), race.runner('C', {12.5}),
                                race.runner('D', {10.5})};
  const ReadingRules rules{.most = 5,
                           .alone = 3,
                           .quantile = 0.5,
                           .first_counts = true,
                           .out_after_one = 1.5,
                           .out_after_two = 1.2,
                           .out_after_four = 1.1};
  run_rounds(all, 1000, rules);
  EXPECT_EQ(race.ran, "ABCDACDADADAD") << "B is out after one reading, C after two; A and D are too near";
  EXPECT_LT(all[0].estimate(rules), all[3].estimate(rules));
}

TEST(RunRounds, OneThatFailsIsLeftOut) {
  Race race;
  std::vector<Contender> all = {race.runner('A', {10}),
                                {[]() -> Result<double> { return invalid("no"); }, {}, false}};
  run_rounds(all, 1000);
  EXPECT_TRUE(all[1].failed);
  EXPECT_EQ(all[0].readings.size(), 7U);
}

// Relu with two kernels, of which "slow" takes 20 times as long.
class SpinningProvider : public HostProvider {
 public:
  std::string_view name() const override { return "spinning"; }
  std::string signature(Share) const override { return "spinning"; }
  Result<std::vector<Candidate>> candidates(const graph::Graph&, const graph::Node&,
                                            Share share) const override {
    if (share == Share::kLane) return std::vector<Candidate>{};
    return std::vector<Candidate>{candidate("slow", 20), candidate("fast", 1)};
  }
  mutable int made = 0;

 private:
  class Spin : public Kernel {
   public:
    explicit Spin(int64_t ns) : ns_(ns) {}
    std::string implementation() const override { return "spin"; }
    Status enqueue(const KernelArguments&, Queue&) override {
      for (const int64_t end = now_ns() + ns_; now_ns() < end;) {
      }
      return {};
    }

   private:
    int64_t ns_;
  };
  Candidate candidate(const char* name, int64_t times) const {
    return {name, [this, times]() -> Result<std::unique_ptr<Kernel>> {
              ++made;
              return std::unique_ptr<Kernel>(std::make_unique<Spin>(20'000 * times));
            }};
  }
};

graph::Graph relu_graph() {
  graph::GraphBuilder b("g");
  b.output(b.add("Relu", {b.input("x", graph::tensor_type(DType::kF32, Shape{64}))}));
  return *std::move(b).finish();
}

TEST(Tuner, ChoosesTheFastestAndRemembersIt) {
  const SpinningProvider provider;
  const graph::Graph graph = relu_graph();
  TimingCache cache;
  PlanOptions options;
  options.cache = &cache;
  Tuner tuner(provider, options);
  EXPECT_FALSE(tuner.remembered(graph, graph.nodes()[0]));
  const auto chosen = tuner.choose(graph, graph.nodes()[0]);
  ASSERT_TRUE(chosen.ok());
  EXPECT_TRUE(chosen->why.starts_with("fastest of 2: ")) << chosen->why;
  ASSERT_TRUE(tuner.remembered(graph, graph.nodes()[0]));
  EXPECT_LT(*tuner.remembered(graph, graph.nodes()[0]), 200e-6);
  provider.made = 0;
  ASSERT_TRUE(tuner.seconds(graph, graph.nodes()[0]).ok());
  EXPECT_EQ(provider.made, 0) << "no kernel is made for a time that is known";
  ASSERT_TRUE(Tuner(provider, options).choose(graph, graph.nodes()[0]).ok());
  EXPECT_EQ(provider.made, 1) << "nor measured for a choice that is";
}

// The key of a lane of one thread is that of a device of one thread, which has more kernels.
TEST(Tuner, ATimeThatIsRememberedIsNoneWhereThereIsNoSuchKernel) {
  const SpinningProvider provider;
  const graph::Graph graph = relu_graph();
  TimingCache cache;
  PlanOptions options;
  options.cache = &cache;
  ASSERT_TRUE(Tuner(provider, options).seconds(graph, graph.nodes()[0]).ok());
  EXPECT_FALSE(Tuner(provider, options, Share::kLane).seconds(graph, graph.nodes()[0]).ok());
}

TEST(Tuner, ADisturbedReadingIsCorrectedByALaterLookOrForgotten) {
  const SpinningProvider provider;
  const graph::Graph graph = relu_graph();
  const graph::Node& node = graph.nodes()[0];
  Tuner tuner(provider, {});
  ASSERT_TRUE(tuner.seconds(graph, node).ok());
  const double first = *tuner.remembered(graph, node);
  tuner.look_again(graph, node);
  EXPECT_LE(*tuner.remembered(graph, node), first);
  tuner.forget(graph, node);
  EXPECT_FALSE(tuner.remembered(graph, node));
}

TEST(Tuner, TimingsUnderOtherConditionsAreKeptApart) {
  class Timer : public KernelTimer {
   public:
    Timer(std::shared_ptr<Device> device, std::unique_ptr<Queue> queue, std::size_t step_bytes)
        : KernelTimer(std::move(device), std::move(queue)), large_(step_bytes > 4'000'000) {}
    std::string conditions() const override { return large_ ? ", cold" : ", warm"; }

   private:
    bool large_;
  };
  class Cached : public SpinningProvider {
    Result<std::unique_ptr<KernelTimer>> make_timer(std::size_t step_bytes, Share) const override {
      return std::unique_ptr<KernelTimer>(
          std::make_unique<Timer>(device(), *device()->make_queue(), step_bytes));
    }
  };
  const Cached provider;
  const graph::Graph graph = relu_graph();
  TimingCache cache;
  const auto tuner = [&](std::size_t step_bytes) {
    PlanOptions options;
    options.cache = &cache;
    options.step_bytes = step_bytes;
    return Tuner(provider, options);
  };
  Tuner small = tuner(1000), large = tuner(std::size_t{5} << 20),
        about_as_large = tuner(std::size_t{6} << 20);
  ASSERT_TRUE(large.seconds(graph, graph.nodes()[0]).ok());
  EXPECT_TRUE(about_as_large.remembered(graph, graph.nodes()[0]));
  EXPECT_FALSE(small.remembered(graph, graph.nodes()[0]));
}

TEST(StepBytes, CountsConstantsAndTheLargestActivationTwice) {
  graph::GraphBuilder b("g");
  const graph::ValueId x = b.input("x", graph::tensor_type(DType::kF32, Shape{8}));
  const graph::ValueId c = b.constant("c", Tensor::zeros(DType::kF32, {100, 8}));
  b.output(b.add("ReduceSum", {b.add("Add", {x, c})}));
  EXPECT_EQ(step_bytes(*std::move(b).finish()), 3 * 3200U);
}

// Doubles its input where it lies, and keeps what it found.
class Doubling : public Kernel {
 public:
  std::string implementation() const override { return "doubling"; }
  std::optional<std::size_t> in_place_input() const override { return 0; }
  Status enqueue(const KernelArguments& arguments, Queue&) override {
    const auto* from = static_cast<const float*>(arguments.inputs[0]);
    auto* to = static_cast<float*>(arguments.outputs[0]);
    in_place = arguments.inputs[0] == arguments.outputs[0];
    found.push_back(from[7]);
    for (int i = 0; i < 1000; ++i) to[i] = 2 * from[i];
    return {};
  }
  bool in_place = false;
  std::vector<float> found;
};

TEST(Sandbox, RunsInPlaceWhereAPlanDoesAndAlwaysOnTheSameData) {
  graph::GraphBuilder b("g");
  const graph::ValueId x = b.input("x", graph::tensor_type(DType::kF32, Shape{1000}));
  b.output(b.add("Relu", {b.add("Neg", {x})}));
  const graph::Graph graph = *std::move(b).finish();
  for (const bool overwrites : {false, true}) {  // the graph's input is not the plan's to overwrite
    cpu::CpuTimer timer(std::make_shared<HostDevice>(), 2, 1 << 20);
    const auto sandbox = timer.sandbox(graph, graph.nodes()[overwrites ? 1 : 0]);
    ASSERT_TRUE(sandbox.ok()) << sandbox.error().message;
    Doubling kernel;
    for (int i = 0; i < 4; ++i) ASSERT_TRUE(timer.microseconds(**sandbox, kernel).ok());
    EXPECT_EQ(kernel.in_place, overwrites);
    EXPECT_NE(kernel.found[0], 0.0F);
    EXPECT_EQ(kernel.found, std::vector<float>(4, kernel.found[0]));
  }
}

}  // namespace
}  // namespace hone::runtime

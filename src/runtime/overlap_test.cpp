#include "runtime/overlap.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <mutex>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "graph/text.h"
#include "runtime/host_device.h"
#include "runtime/overlap_choice.h"
#include "runtime/testing/told_timer.h"
#include "runtime/timing_cache.h"

namespace hone::runtime {
namespace {

using graph::BufferAssignment;
using graph::Graph;
using graph::NodeId;

Graph graph_of(const std::string& text) {
  auto graph = graph::parse("graph \"test\" " + text);
  if (!graph.ok()) throw std::logic_error(graph.error().message);
  return *std::move(graph);
}

// Two branches of two nodes between a first node and one that joins them.
const char* const kBranches = R"((%x: f32[64]) {
  %s: f32[*] = Relu(%x)
  %a: f32[*] = Exp(%s)
  %b: f32[*] = Abs(%s)
  %aa: f32[*] = Relu(%a)
  %bb: f32[*] = Neg(%b)
  %y: f32[*] = Add(%aa, %bb)
  return %y
})";

std::vector<Section> sections_of(const Graph& graph, const std::vector<NodeTime>& times, int lanes = 2) {
  return choose_sections(graph, BufferAssignment(graph), times, lanes, 1);
}

std::vector<uint32_t> indices(const std::vector<NodeId>& nodes) {
  std::vector<uint32_t> found;
  for (NodeId id : nodes) found.push_back(id.index);
  return found;
}

TEST(Overlap, GivesEachBranchALane) {
  const Graph graph = graph_of(kBranches);
  const std::vector<Section> sections = sections_of(graph, std::vector<NodeTime>(6, {10, 11}));
  ASSERT_EQ(sections.size(), 1u);
  EXPECT_EQ(sections[0].first, 1u);
  EXPECT_EQ(sections[0].last, 4u);
  ASSERT_EQ(sections[0].lanes.size(), 2u);
  EXPECT_EQ(indices(sections[0].lanes[0]), (std::vector<uint32_t>{1, 3}));
  EXPECT_EQ(indices(sections[0].lanes[1]), (std::vector<uint32_t>{2, 4}));
}

TEST(Overlap, LeavesAChainAlone) {
  const Graph graph = graph_of(
      "(%x: f32[8]) { %a: f32[*] = Relu(%x) %b: f32[*] = Exp(%a) %y: f32[*] = Add(%b, %a) return %y }");
  EXPECT_EQ(nodes_with_company(graph, BufferAssignment(graph)), std::vector<bool>(3, false));
  EXPECT_TRUE(sections_of(graph, std::vector<NodeTime>(3, {10, 0.1})).empty());
}

TEST(Overlap, LeavesOperatorsAloneThatSplitWell) {
  // One thread takes twice as long: two lanes take as long as one after another.
  EXPECT_TRUE(sections_of(graph_of(kBranches), std::vector<NodeTime>(6, {10, 20})).empty());
  // What starting the lanes costs is more than what they gain.
  EXPECT_TRUE(sections_of(graph_of(kBranches), std::vector<NodeTime>(6, {0.4, 0.4})).empty());
}

TEST(Overlap, LeavesOutWhatCannotRunInALane) {
  std::vector<NodeTime> times(6, {10, 11});
  times[4].lane_us = std::numeric_limits<double>::infinity();
  const std::vector<Section> sections = sections_of(graph_of(kBranches), times);
  ASSERT_EQ(sections.size(), 1u);
  EXPECT_EQ(sections[0].last, 3u);
}

TEST(Overlap, BalancesMorePartsThanLanes) {
  const Graph graph = graph_of(R"((%x: f32[8]) {
    %a: f32[*] = Relu(%x)
    %b: f32[*] = Exp(%x)
    %c: f32[*] = Abs(%x)
    %d: f32[*] = Neg(%x)
    return %a, %b, %c, %d
  })");
  const std::vector<Section> sections = sections_of(graph, {{40, 41}, {10, 11}, {10, 11}, {20, 21}});
  ASSERT_EQ(sections.size(), 1u);
  ASSERT_EQ(sections[0].lanes.size(), 2u);
  EXPECT_EQ(indices(sections[0].lanes[0]), (std::vector<uint32_t>{0}));
  EXPECT_EQ(indices(sections[0].lanes[1]), (std::vector<uint32_t>{1, 2, 3}));
}

TEST(Overlap, NodesWithoutAKernelJoinPartsButFillNoLane) {
  // The reshape runs nothing; through it the last node belongs to the first branch.
  const Graph graph = graph_of(R"((%x: f32[4,2]) {
    %shape: i64[1] = constant dense(8)
    %a: f32[*] = Exp(%x)
    %b: f32[*] = Abs(%x)
    %r: f32[*] = Reshape(%a, %shape)
    %c: f32[*] = Neg(%r)
    return %c, %b
  })");
  const std::vector<Section> sections = sections_of(graph, {{10, 11}, {20, 21}, {0, 0}, {10, 11}});
  ASSERT_EQ(sections.size(), 1u);
  const std::set<std::vector<uint32_t>> lanes = {indices(sections[0].lanes[0]),
                                                 indices(sections[0].lanes[1])};
  EXPECT_EQ(lanes, (std::set<std::vector<uint32_t>>{{0, 3}, {1}}));
}

TEST(Overlap, KnowsWhichBuffersLanesShare) {
  const Graph graph = graph_of(kBranches);
  const BufferAssignment buffers(graph);
  const Section section = sections_of(graph, std::vector<NodeTime>(6, {10, 11})).at(0);
  EXPECT_EQ(only_lane(graph, buffers, section, graph.find_value("s")), std::nullopt);
  EXPECT_EQ(only_lane(graph, buffers, section, graph.find_value("a")), std::optional<std::size_t>(0));
  EXPECT_EQ(only_lane(graph, buffers, section, graph.find_value("bb")), std::optional<std::size_t>(1));
}

TEST(Overlap, ASectionAsAGraphHasItsBordersAsInputsAndOutputs) {
  const Graph graph = graph_of(kBranches);
  const Section section = sections_of(graph, std::vector<NodeTime>(6, {10, 11})).at(0);
  const auto alone = graph_of_section(graph, section);
  ASSERT_TRUE(alone.ok()) << alone.error().message;
  ASSERT_EQ(alone->nodes().size(), 4u);
  EXPECT_EQ(alone->nodes()[0].op, "Exp");
  EXPECT_EQ(alone->nodes()[3].op, "Neg");
  EXPECT_EQ(alone->outputs().size(), 2u);
}

// Kernels that take the time they are told and write down what ran; a node named in `fails` fails.
struct Script {
  double team_us = 0, lane_us = 0;
  std::string fails;
  bool in_place = false;
  std::mutex mutex;
  std::vector<std::string> ran;
  std::set<std::thread::id> threads;
};

class ScriptedKernel : public Kernel {
 public:
  ScriptedKernel(Script& script, std::string name, double us)
      : script_(script), name_(std::move(name)), us_(us) {}
  std::string implementation() const override { return "scripted"; }
  std::size_t scratch_bytes() const override { return 100; }
  std::optional<std::size_t> in_place_input() const override {
    return script_.in_place ? std::optional<std::size_t>(0) : std::nullopt;
  }
  Status enqueue(const KernelArguments&, Queue&) override {
    // Asleep: lanes overlap even where other processes have the cores.
    if (us_ > 0) std::this_thread::sleep_for(std::chrono::duration<double, std::micro>(us_));
    const std::lock_guard lock(script_.mutex);
    script_.ran.push_back(name_);
    script_.threads.insert(std::this_thread::get_id());
    if (name_ == script_.fails) return invalid("out of luck");
    return {};
  }

 private:
  Script& script_;
  std::string name_;
  double us_;
};

// One more thread for the second lane, which sleeps while it waits: OpenMP's threads spin, and where other
// processes have the cores a lane would wait for one that spins.
class TwoLaneQueue : public HostQueue {
 public:
  Status fork(int lanes, LaneFunction work, void* context) override {
    std::thread second;
    if (lanes > 1) second = std::thread([&] { work(context, 1, second_); });
    work(context, 0, *this);
    if (second.joinable()) second.join();
    return {};
  }

 private:
  HostQueue second_;
};

class TwoLaneDevice : public HostDevice {
 public:
  Result<std::unique_ptr<Queue>> make_queue() override {
    return std::unique_ptr<Queue>(std::make_unique<TwoLaneQueue>());
  }
};

class ScriptedProvider : public HostProvider {
 public:
  explicit ScriptedProvider(Script& script)
      : HostProvider(std::make_shared<TwoLaneDevice>()), script_(script) {}
  std::string_view name() const override { return "scripted"; }
  std::string signature(Share share) const override { return share == Share::kLane ? "lane" : "team"; }
  Result<std::vector<Candidate>> candidates(const Graph&, const graph::Node& node,
                                            Share share) const override {
    const double us = share == Share::kLane ? script_.lane_us : script_.team_us;
    return std::vector<Candidate>{
        {"scripted", [this, us, name = node.name]() -> Result<std::unique_ptr<Kernel>> {
           return std::unique_ptr<Kernel>(std::make_unique<ScriptedKernel>(script_, name, us));
         }}};
  }
  int lanes() const override { return 2; }
  // As told: where other processes have the cores a reading may be of them.
  Result<std::unique_ptr<KernelTimer>> make_timer(std::size_t, Share share) const override {
    return std::unique_ptr<KernelTimer>(std::make_unique<testing::ToldTimer>(
        [this, share] { return std::max(1.0, share == Share::kLane ? script_.lane_us : script_.team_us); }));
  }

 private:
  Script& script_;
};

std::unique_ptr<Plan> compile(Script& script, Overlap overlap, TimingCache* cache = nullptr) {
  PlanOptions options;
  options.overlap = overlap;
  options.cache = cache;
  auto plan = Plan::compile(graph_of(kBranches), ScriptedProvider(script), options);
  if (!plan.ok()) throw std::logic_error(plan.error().message);
  return *std::move(plan);
}

int side_by_side(const Plan& plan) {
  return static_cast<int>(std::count_if(plan.steps().begin(), plan.steps().end(),
                                        [](const PlanStep& step) { return step.lanes > 1; }));
}

TEST(OverlapChoice, UsesLanesWhereATrialShowsThatTheyAreFaster) {
  Script script;
  script.team_us = script.lane_us = 5000;  // a busy machine wakes a sleeper some milliseconds late
  TimingCache cache;
  const auto plan = compile(script, Overlap::kMeasured, &cache);
  EXPECT_EQ(side_by_side(*plan), 4);
  EXPECT_NE(plan->steps()[1].choice.find(" of 2: side by side"), std::string::npos)
      << plan->steps()[1].choice;
  EXPECT_EQ(side_by_side(*compile(script, Overlap::kNever, &cache)), 0);
  // A later plan remembers the trial.
  const auto again = compile(script, Overlap::kMeasured, &cache);
  EXPECT_NE(again->steps()[1].choice.find("remembered"), std::string::npos) << again->steps()[1].choice;
}

TEST(OverlapChoice, LeavesSectionsInOrderThatNoTimeIsLeftFor) {
  Script script;
  script.team_us = script.lane_us = 5000;
  TimingCache cache;
  PlanOptions options;
  options.cache = &cache;
  options.lane_trials_ms = 0;
  std::vector<std::string> said;
  options.progress = [&](std::size_t done, std::size_t, const std::string& what) {
    if (done == 0) said.push_back(what);
    return true;
  };
  const auto plan = *Plan::compile(graph_of(kBranches), ScriptedProvider(script), options);
  EXPECT_EQ(side_by_side(*plan), 0);
  EXPECT_NE(std::find(said.begin(), said.end(), "0 of 1 sections tried in lanes"), said.end());
  EXPECT_EQ(side_by_side(*compile(script, Overlap::kMeasured, &cache)), 0) << "the same cache, the same plan";
}

TEST(OverlapChoice, DoesNotBelieveAPromiseThatATrialBreaks) {
  Script script;
  script.team_us = 500;
  script.lane_us = 3000;
  TimingCache cache;
  // As if lanes had once been measured as fast.
  const Graph graph = graph_of(kBranches);
  for (const graph::Node& node : graph.nodes()) {
    cache.put("lane", node_signature(graph, node), {"scripted", 20});
    cache.put("team", node_signature(graph, node), {"scripted", 40});
  }
  EXPECT_EQ(side_by_side(*compile(script, Overlap::kMeasured, &cache)), 0);
}

TEST(OverlapPlan, RunsLanesOnTheirOwnThreads) {
  Script script;
  script.team_us = script.lane_us = 100;
  const auto plan = compile(script, Overlap::kAlways);
  script.threads.clear();
  script.ran.clear();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(plan->run().ok());
  EXPECT_EQ(script.ran.size(), 18u);
  EXPECT_GE(script.threads.size(), 2u);
}

TEST(OverlapPlan, AnErrorInALaneIsThePlansAndTheNextRunIsClean) {
  Script script;
  const auto plan = compile(script, Overlap::kAlways);
  for (const char* name : {"exp", "neg"}) {
    script.fails = plan->steps()[name == std::string("exp") ? 1 : 4].name;
    script.ran.clear();
    const Status status = plan->run();
    ASSERT_FALSE(status.ok()) << name;
    EXPECT_NE(status.error().message.find("node '" + script.fails + "'"), std::string::npos)
        << status.error().message;
    EXPECT_NE(status.error().message.find("out of luck"), std::string::npos);
    // Nothing behind the section ran.
    EXPECT_EQ(std::count(script.ran.begin(), script.ran.end(), plan->steps()[5].name), 0);
    script.fails.clear();
    EXPECT_TRUE(plan->run().ok());
  }
}

TEST(OverlapPlan, LanesShareNoMemoryThatOneOfThemWrites) {
  for (const bool in_place : {false, true}) {
    Script script;
    script.in_place = in_place;
    const auto plan = compile(script, Overlap::kAlways);
    ASSERT_EQ(side_by_side(*plan), 4);
    EXPECT_GE(plan->memory().arena_bytes, plan->memory().arena_lower_bound);
    // x, s, both branches with an own buffer at least, each lane with its scratch.
    EXPECT_GE(plan->memory().arena_bytes, 4 * 256u + 2 * 128u);
  }
}

}  // namespace
}  // namespace hone::runtime

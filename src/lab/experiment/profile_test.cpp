#include "lab/experiment/profile.h"

#include <algorithm>
#include <set>

#include "cuda/testing/fake_driver.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyze/rules.h"
#include "core/clock.h"
#include "graph/builder.h"
#include "lab/prepared.h"
#include "passes/pipeline.h"
#include "runtime/testing/providers.h"

namespace hone::lab {
namespace {

using graph::GraphBuilder;
using graph::ValueId;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Three branches of pointwise and normalising operators, joined.
graph::Graph branches() {
  GraphBuilder b("branches");
  const ValueId x = b.input("x", graph::tensor_type(DType::kF32, Shape{16, 4096}));
  std::vector<ValueId> ends;
  for (int i = 0; i < 3; ++i) ends.push_back(b.add("Softmax", {b.add("Gelu", {b.add("Tanh", {x})})}));
  b.output(b.add("Add", {b.add("Add", {ends[0], ends[1]}), ends[2]}));
  return *std::move(b).finish();
}

TEST(Profile, LedgerOfOverlappingOperatorsAddsUpToTheStep) {
  const graph::Graph graph = branches();
  const auto provider = runtime::testing::cpu_provider(2);
  const auto inputs = make_inputs(graph, 1);
  ASSERT_TRUE(inputs.ok());
  runtime::PlanOptions options;
  options.overlap = runtime::Overlap::kAlways;
  auto plan = runtime::Plan::compile(graph, *provider, options);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  ASSERT_TRUE((*plan)->write(0, inputs->tensors[0]).ok());
  ProfileOptions profile_options;
  profile_options.max_steps = 60;
  profile_options.threads = 2;
  const auto profile = profile_plan(**plan, Roofs{}, profile_options);
  ASSERT_TRUE(profile.ok()) << profile.error().message;

  // The trace holds the lanes on their threads. (Whether they overlap is the machine's doing.)
  const trace::SpanTable& spans = profile->trace.spans;
  std::set<uint32_t> tracks;
  for (std::size_t i = 0; i < spans.size(); ++i)
    if (spans.category[i] == trace::Category::kOperator) tracks.insert(spans.track[i].index);
  EXPECT_EQ(tracks.size(), 2u);

  // The ledger counts no instant twice.
  double rows = 0;
  for (const analyze::LedgerRow& row : profile->analysis.ledger) rows += row.ms;
  EXPECT_NEAR(rows, profile->analysis.step.ms.median, 0.005 * profile->analysis.step.ms.median);
  double operators = 0;
  for (const analyze::OperatorTime& op : profile->analysis.operators) operators += op.ms.median;
  EXPECT_LE(operators, 1.005 * profile->analysis.step.ms.median);
  EXPECT_NE(profile->trace.operators[0].implementation.find("lane "), std::string::npos)
      << profile->trace.operators[0].implementation;
}

// A profile over a driver and a CUPTI without a GPU, with what `faults` make of its CUPTI.
Result<Profile> profile_without_gpu(const char* faults, int steps) {
  const cuda::testing::CuptiFaults with(faults);
  const graph::Graph graph = branches();
  const auto provider = runtime::testing::provider_named(runtime::testing::kCudaWithoutGpu);
  HONE_ASSIGN(const auto inputs, make_inputs(graph, 1));
  HONE_ASSIGN(const auto plan, compile_plan(graph, *provider, inputs.tensors, {}));
  ProfileOptions options;
  options.budget_ns = 0;
  options.min_steps = options.max_steps = steps;
  options.device = "cuda";
  return profile_plan(*plan, Roofs{}, options);
}

std::size_t spans_of(const Profile& profile, trace::Category category) {
  return static_cast<std::size_t>(std::ranges::count(profile.trace.spans.category, category));
}

TEST(ProfileOfAGpu, SaysThatItsOperatorsAreThoseOfTheReplayedGraph) {
  const auto profile = profile_without_gpu("", 5);
  ASSERT_TRUE(profile.ok()) << profile.error().message;
  EXPECT_THAT(profile->analysis.step.notes,
              ElementsAre("times of operators: CUPTI, within the replayed graph"));
  EXPECT_EQ(spans_of(*profile, trace::Category::kStep), 5U);
  EXPECT_EQ(spans_of(*profile, trace::Category::kOperator), 5 * profile->trace.operators.size());
  double rows = 0;
  for (const analyze::LedgerRow& row : profile->analysis.ledger) rows += row.ms;
  EXPECT_NEAR(rows, profile->analysis.step.ms.median, 0.005 * profile->analysis.step.ms.median);
}

TEST(ProfileOfAGpu, SaysWhyItsOperatorsAreTimedByEvents) {
  const auto profile = profile_without_gpu("taken", 5);
  ASSERT_TRUE(profile.ok()) << profile.error().message;
  EXPECT_THAT(profile->analysis.step.notes,
              ElementsAre(AllOf(HasSubstr("events around each, launches included"),
                                HasSubstr("another profiler has this process's CUPTI"))));
  EXPECT_EQ(spans_of(*profile, trace::Category::kStep), 5U);
}

// Times of two kinds are not mixed: what was recorded before CUPTI lost a record is forgotten.
TEST(ProfileOfAGpu, IsOfStepsThatWereTimedInOneWay) {
  const graph::Graph graph = branches();
  const auto provider = runtime::testing::provider_named(runtime::testing::kCudaWithoutGpu);
  const auto inputs = make_inputs(graph, 1);
  ASSERT_TRUE(inputs.ok());
  const auto plan = compile_plan(graph, *provider, inputs->tensors, {});
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  ProfileOptions options;
  options.device = "cuda";
  StepRecorder recorder(**plan, options);
  for (int step = 0; step < 3; ++step) ASSERT_TRUE(recorder.record(0).ok());
  EXPECT_EQ(recorder.steps(), 2) << "the first made ready for the others";
  const cuda::testing::CuptiFaults faults("loses");
  ASSERT_TRUE(recorder.record(0).ok());
  EXPECT_EQ(recorder.steps(), 0);
  for (int step = 0; step < 4; ++step) ASSERT_TRUE(recorder.record(0).ok());
  const auto profile = recorder.profile(Roofs{});
  ASSERT_TRUE(profile.ok()) << profile.error().message;
  EXPECT_EQ(spans_of(*profile, trace::Category::kStep), 4U);
  EXPECT_THAT(profile->analysis.step.notes, ElementsAre(HasSubstr("records, where there are")));
}

// What comes before the plan belongs to the step; what recording takes does not.
TEST(ProfileOfAGpu, HasStepsThatBeginWithWhatComesBeforeThePlan) {
  const cuda::testing::CuptiFaults late("late");  // telling takes milliseconds
  const graph::Graph graph = branches();
  const auto provider = runtime::testing::provider_named(runtime::testing::kCudaWithoutGpu);
  const auto inputs = make_inputs(graph, 1);
  ASSERT_TRUE(inputs.ok());
  const auto plan = compile_plan(graph, *provider, inputs->tensors, {});
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  ProfileOptions options;
  options.device = "cuda";
  StepRecorder recorder(**plan, options);
  int64_t before_ns = 0;
  const auto before = [&] { return before_ns = now_ns(), Status(); };
  for (int step = 0; step < 2; ++step) ASSERT_TRUE(recorder.record(0, before).ok());
  const auto profile = recorder.profile(Roofs{});
  ASSERT_TRUE(profile.ok()) << profile.error().message;
  const trace::SpanTable& spans = profile->trace.spans;
  ASSERT_EQ(spans_of(*profile, trace::Category::kStep), 1U);
  const auto row = static_cast<std::size_t>(std::ranges::find(spans.category, trace::Category::kStep) -
                                            spans.category.begin());
  EXPECT_LE(spans.row(row).start_ns, before_ns);
  EXPECT_EQ(spans.row(row).end_ns(), (*plan)->marked_run().ended_ns);
}

// Analysis knows no passes: what its advice calls them must be their names.
TEST(Profile, AdviceNamesPassesThatThereAre) {
  int named = 0;
  for (const analyze::Cause cause : analyze::all_causes()) {
    const std::string fix(analyze::rule_of(cause).fix.of(trace::Framework::kHone));
    std::size_t at = fix.find("(passes: ");
    if (at == std::string::npos) continue;
    const std::string list = fix.substr(at + 9, fix.find_first_of(";)", at) - at - 9);
    for (std::size_t from = 0; from < list.size();) {
      const std::size_t end = std::min(list.find(", ", from), list.size());
      const std::string name = list.substr(from, end - from);
      EXPECT_TRUE(
          std::any_of(passes::pipeline().begin(), passes::pipeline().end(),
                      [&](const passes::Pass& pass) { return pass.name == name || pass.group == name; }))
          << name << " in: " << fix;
      ++named;
      from = end + 2;
    }
  }
  EXPECT_GE(named, 3);
}

}  // namespace
}  // namespace hone::lab

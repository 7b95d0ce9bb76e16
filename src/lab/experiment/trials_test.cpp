// What becomes of groups of passes, with readings made up: which are kept alone, which together, which never.
#include "lab/experiment/trials.h"

#include <map>

#include <gtest/gtest.h>

#include "graph/builder.h"
#include "lab/experiment/pass_row.h"
#include "passes/pipeline.h"
#include "runtime/testing/providers.h"

namespace hone::lab {
namespace {

using graph::Graph;
using graph::GraphBuilder;

// A node a change: what a group of passes does here is append one.
Graph chain(std::size_t nodes) {
  GraphBuilder b("chain");
  graph::ValueId x = b.input("x", graph::tensor_type(DType::kF32, Shape{4}));
  for (std::size_t i = 0; i <= nodes; ++i) x = b.add("Relu", {x});
  b.output(x);
  return *std::move(b).finish();
}

PairedResult reading(double low, double median_ratio, double high) {
  PairedResult speed;
  speed.ratio = {median_ratio, low, high, 0.95};
  speed.change = low > 1    ? SpeedChange::kFaster
                 : high < 1 ? SpeedChange::kSlower
                            : SpeedChange::kNoDifference;
  speed.a_ms = {10, 10, 10};
  speed.b_ms = {10 / median_ratio};
  return speed;
}

PairedResult unclear() { return reading(0.94, 1.04, 1.28); }
PairedResult faster() { return reading(1.03, 1.06, 1.09); }
PairedResult slower() { return reading(0.8, 0.9, 0.95); }

// The trials of groups whose readings are given in the order in which they are asked for.
class TrialRun {
 public:
  explicit TrialRun(std::vector<PairedResult> readings) : readings_(std::move(readings)) {
    graph_ = chain(0);
    plan_ = compile(graph_);
    steps_.apply = [this](const Graph& graph, const std::string& group) -> Result<passes::PipelineResult> {
      passes::PassReport report;
      report.name = group + "_pass";
      report.group = group;
      report.predicted_gain_ms = predicted_ms_;
      if (idle_ == group || (group == needs_ && graph.nodes().size() < 2))
        return passes::PipelineResult{graph, {report}};
      report.done.push_back({"node", "changed"});
      return passes::PipelineResult{chain(graph.nodes().size()), {report}};
    };
    steps_.compile = [this](const Graph& graph, const std::string& group,
                            double) -> Result<std::unique_ptr<runtime::Plan>> {
      if (group == no_plan_) return unsupported("no engine for it");
      return compile(graph);
    };
    steps_.compare = [this](runtime::Plan& before, runtime::Plan& after,
                            const TrialComparison& wanted) -> Result<PairedResult> {
      asked_.push_back(wanted);
      if (interrupted_at_ == asked_.size()) return Error{ErrorCode::kCancelled, "interrupted"};
      sizes_.emplace_back(before.graph().nodes().size(), after.graph().nodes().size());
      const PairedResult speed = readings_.at(asked_.size() - 1);
      seconds_left_ -= wanted.seconds;
      return speed;
    };
    steps_.check = [this](runtime::Plan& plan, const std::vector<std::string>& groups) {
      checked_.push_back(groups);
      NumericReport numbers;
      numbers.passed = plan.graph().nodes().size() != wrong_at_;
      numbers.detail = numbers.passed ? "rel. L2 1e-07" : "rel. L2 0.3";
      return numbers;
    };
    steps_.seconds_left = [this] { return seconds_left_; };
    steps_.least_seconds = 0.5;
  }

  TrialResults run(const std::vector<std::string>& groups) {
    steps_.step_ms = step_ms_;
    TrialResults results;
    EXPECT_EQ(run_trials(graph_, *plan_, groups, steps_, results).ok(), !interrupted_at_);
    return results;
  }

  double predicted_ms_ = 1, step_ms_ = 10;
  std::string idle_;          // a group that finds nothing
  std::string needs_;         // one that finds something behind another only
  std::string no_plan_;       // one behind which nothing runs
  std::size_t wrong_at_ = 0;  // nodes of a graph whose numbers are wrong
  double seconds_left_ = 12;
  std::size_t interrupted_at_ = 0;  // the comparison, from 1, in which somebody ends the experiment
  std::vector<TrialComparison> asked_;
  std::vector<std::vector<std::string>> checked_;  // the groups in each plan whose numbers were checked
  std::vector<std::pair<std::size_t, std::size_t>> sizes_;  // nodes before and after

 private:
  std::unique_ptr<runtime::Plan> compile(const Graph& graph) {
    runtime::PlanOptions options;
    options.autotune = false;
    return *runtime::Plan::compile(graph, *provider_, options);
  }

  const std::shared_ptr<const runtime::Provider> provider_ = runtime::testing::cpu_provider(1);
  std::vector<PairedResult> readings_;
  Graph graph_;
  std::unique_ptr<runtime::Plan> plan_;
  TrialSteps steps_;
};

TEST(Trials, DropAGroupBehindWhichThereIsNoPlanAndGoOn) {
  TrialRun trial({faster()});
  trial.no_plan_ = "first";
  const TrialResults results = trial.run({"first", "second"});
  ASSERT_EQ(results.rows.size(), 2U);
  EXPECT_FALSE(results.rows[0].kept);
  EXPECT_FALSE(results.rows[0].undecided);
  EXPECT_NE(results.rows[0].reason.find("dropped: it makes no plan: no engine for it"), std::string::npos)
      << results.rows[0].reason;
  EXPECT_TRUE(results.rows[1].kept);
  EXPECT_EQ(results.groups, std::vector<std::string>{"second"});
}

// A lossy group's own limit holds for every plan that it is in, and for no other.
TEST(Trials, NumbersAreCheckedKnowingWhichGroupsAreInThePlan) {
  using Groups = std::vector<std::string>;
  TrialRun trials({faster(), slower(), unclear(), faster()});
  const TrialResults results = trials.run({"simplify", "int8", "fuse"});
  EXPECT_EQ(
      trials.checked_,
      (std::vector<Groups>{{"simplify"}, {"simplify", "int8"}, {"simplify", "fuse"}, {"simplify", "fuse"}}));
  EXPECT_EQ(results.groups, (Groups{"simplify", "fuse"}));
}

// A comparison on a machine that is busy for as long as it lasts: all of its times are twice as long.
TEST(Trials, GainsNeverExceedTheStepHoweverBusyTheMachineWasInOneComparison) {
  PairedResult busy = reading(9, 10, 11);
  busy.a_ms = {20, 20, 20};
  busy.b_ms = {2, 2, 2};
  TrialRun trials({busy, reading(1.9, 2, 2.1)});
  const TrialResults results = trials.run({"simplify", "fuse"});
  ASSERT_TRUE(results.rows[0].measured_gain_ms && results.rows[1].measured_gain_ms);
  EXPECT_DOUBLE_EQ(results.rows[0].measured_gain_ms->median, 9) << "of a step of 10 ms";
  EXPECT_DOUBLE_EQ(results.rows[1].measured_gain_ms->median, 0.5) << "of the 1 ms that was left";
}

TEST(PassRow, OfAGroupThatFoundNothingHasTheGroupsNumerics) {
  passes::PassReport exact, reassociating;
  exact.numerics = Numerics::kExact;
  reassociating.numerics = Numerics::kReassociating;
  passes::PipelineResult tried{chain(0), {exact, reassociating}};
  EXPECT_EQ(make_row("simplify", tried).numerics, "reassociating");
  tried.reports[0].done.push_back({"node", "changed"});
  EXPECT_EQ(make_row("simplify", tried).numerics, "exact") << "only the exact pass did anything";
}

TEST(Trials, KeepTogetherWhatMakesADifferenceOnlyTogether) {
  TrialRun trials({unclear(), unclear(), unclear(), faster()});
  const TrialResults results = trials.run({"simplify", "recognise", "fuse"});
  ASSERT_EQ(results.rows.size(), 3U);
  for (const analyze::PassRow& row : results.rows) EXPECT_TRUE(row.kept) << row.reason;
  EXPECT_EQ(
      results.rows[0].reason,
      "simplify_pass: 1 ×; no difference alone, 1.04× (0.94–1.28); kept together with recognise and fuse");
  EXPECT_EQ(
      results.rows[1].reason,
      "recognise_pass: 1 ×; no difference with simplify, 1.04× (0.94–1.28); kept together with simplify "
      "and fuse");
  ASSERT_EQ(results.combinations.size(), 1U);
  const analyze::PassCombination& all = results.combinations[0];
  EXPECT_EQ(all.passes, (std::vector<std::string>{"simplify", "recognise", "fuse"}));
  EXPECT_TRUE(all.kept);
  EXPECT_DOUBLE_EQ(all.predicted_gain_ms, 3);
  EXPECT_NEAR(all.measured_gain_ms.median, 10 - 10 / 1.06, 1e-9);
  EXPECT_EQ(all.reason, "kept: 1.06× (1.03–1.09), rel. L2 1e-07");
  EXPECT_EQ(results.graph.nodes().size(), 4U);
  ASSERT_NE(results.plan, nullptr);
  EXPECT_EQ(results.plan->graph().nodes().size(), 4U);
}

TEST(Trials, ShareWhatIsLeftOfTheBudgetAndSpendTheRestOnASecondStricterLook) {
  TrialRun trials({unclear(), unclear(), unclear()});
  trials.idle_ = "fold";
  trials.run({"simplify", "fuse", "fold"});
  ASSERT_EQ(trials.asked_.size(), 3U);
  EXPECT_DOUBLE_EQ(trials.asked_[0].seconds, 4) << "a third of 12 s";
  EXPECT_DOUBLE_EQ(trials.asked_[1].seconds, 4) << "half of the rest";
  EXPECT_DOUBLE_EQ(trials.asked_[2].seconds, 4) << "what fold did not need";
  EXPECT_EQ(trials.asked_[1].level, 0.95);
  EXPECT_GT(trials.asked_[2].level, 0.95);
}

TEST(Trials, GiveTheShareOfAGroupThatChangesNothingToLaterOnes) {
  TrialRun trials({unclear(), unclear(), unclear()});
  trials.idle_ = "simplify";
  trials.run({"simplify", "fold", "fuse"});
  EXPECT_DOUBLE_EQ(trials.asked_[0].seconds, 6);
}

TEST(Trials, DropWhatMakesNoDifferenceTogetherEitherAndSayIt) {
  TrialRun trials({unclear(), unclear(), unclear()});
  const TrialResults results = trials.run({"simplify", "fuse"});
  for (const analyze::PassRow& row : results.rows) EXPECT_FALSE(row.kept);
  EXPECT_EQ(
      results.rows[0].reason,
      "simplify_pass: 1 ×; no difference alone, 1.04× (0.94–1.28); dropped: no difference together with "
      "fuse either");
  ASSERT_EQ(results.combinations.size(), 1U);
  EXPECT_FALSE(results.combinations[0].kept);
  EXPECT_EQ(results.combinations[0].reason, "dropped: no difference, 1.04× (0.94–1.28)");
  EXPECT_EQ(results.plan, nullptr);
  EXPECT_EQ(results.graph.nodes().size(), 1U);
}

TEST(Trials, KeepWhatALaterGroupBuildsOnAndCountTheirGainOnce) {
  TrialRun trials({unclear(), faster()});
  const TrialResults results = trials.run({"fold", "layout"});
  EXPECT_EQ(results.rows[0].reason,
            "fold_pass: 1 ×; no difference alone, 1.04× (0.94–1.28); kept together with layout");
  EXPECT_EQ(results.rows[1].reason,
            "layout_pass: 1 ×; kept: 1.06× (1.03–1.09), rel. L2 1e-07; kept together with fold");
  ASSERT_EQ(results.combinations.size(), 1U);
  EXPECT_DOUBLE_EQ(results.combinations[0].predicted_gain_ms, 2);
  EXPECT_EQ(trials.asked_.size(), 2U) << "nothing is left to be measured again";
  EXPECT_EQ(trials.sizes_[1], (std::pair<std::size_t, std::size_t>{1, 3}));
}

TEST(Trials, GiveWhatIsSlowerAloneASecondTrialBeforeWhatBuildsOnIt) {
  TrialRun trials({slower(), faster()});
  trials.needs_ = "fuse";
  const TrialResults results = trials.run({"fold", "fuse"});
  ASSERT_EQ(results.rows.size(), 2U);
  for (const analyze::PassRow& row : results.rows) EXPECT_TRUE(row.kept) << row.reason;
  EXPECT_EQ(results.groups, (std::vector<std::string>{"fold", "fuse"}));
  EXPECT_EQ(trials.sizes_[1], (std::pair<std::size_t, std::size_t>{1, 3}));
  EXPECT_GT(trials.asked_[1].level, 0.95);
  EXPECT_EQ(results.rows[1].reason,
            "found nothing to change; behind fold: fuse_pass: 1 ×; kept together with fold");
  EXPECT_TRUE(results.rows[1].changed);
  ASSERT_EQ(results.combinations.size(), 1U);
  EXPECT_TRUE(results.combinations[0].kept);
  EXPECT_EQ(results.graph.nodes().size(), 3U);
}

TEST(Trials, LeaveItDroppedWhereTheSecondTrialIsSlowerToo) {
  TrialRun trials({slower(), slower()});
  trials.needs_ = "fuse";
  const TrialResults results = trials.run({"fold", "fuse"});
  for (const analyze::PassRow& row : results.rows) EXPECT_FALSE(row.kept) << row.reason;
  EXPECT_EQ(results.graph.nodes().size(), 1U);
  EXPECT_TRUE(results.groups.empty());
}

TEST(Trials, GiveNoSecondTrialWhereNothingBuildsOnIt) {
  TrialRun trials({slower(), faster()});
  const TrialResults results = trials.run({"fold", "fuse"});
  EXPECT_EQ(trials.asked_.size(), 2U);
  EXPECT_EQ(results.groups, (std::vector<std::string>{"fuse"}));
}

TEST(Trials, AnInterruptLeavesWhatWasDecidedAndSaysWhatWasNot) {
  TrialRun trials({faster(), unclear()});
  trials.interrupted_at_ = 3;
  const TrialResults results = trials.run({"simplify", "fold", "layout", "fuse"});
  ASSERT_EQ(results.rows.size(), 3U) << "fuse was not reached";
  EXPECT_TRUE(results.rows[0].kept);
  EXPECT_FALSE(results.rows[0].undecided);
  EXPECT_TRUE(results.rows[1].undecided) << "carried: layout was to tell";
  EXPECT_TRUE(results.rows[2].undecided);
  EXPECT_EQ(results.groups, std::vector<std::string>{"simplify"});
  EXPECT_EQ(results.graph.nodes().size(), 2U);
}

TEST(Trials, MeasureALoneCarriedGroupAgain) {
  TrialRun trials({faster(), unclear(), faster()});
  const TrialResults results = trials.run({"layout", "fuse"});
  EXPECT_TRUE(results.rows[1].kept);
  EXPECT_EQ(
      results.rows[1].reason,
      "fuse_pass: 1 ×; no difference alone, 1.04× (0.94–1.28); measured again, kept: 1.06× (1.03–1.09), "
      "rel. L2 1e-07");
  EXPECT_NEAR(results.rows[1].measured_gain_ms->median, (10 - 10 / 1.06) / 1.06, 1e-9)
      << "of what layout left";
  EXPECT_TRUE(results.combinations.empty());
  EXPECT_GT(trials.asked_[2].level, 0.95) << "a second look";
  EXPECT_EQ(trials.sizes_[2], (std::pair<std::size_t, std::size_t>{2, 3}));
}

TEST(Trials, NeitherCarryWhatIsSlowerNorWhatIsWrong) {
  TrialRun trials({slower(), unclear(), faster()});
  trials.wrong_at_ = 2;
  const TrialResults results = trials.run({"simplify", "fold", "fuse"});
  EXPECT_EQ(trials.asked_.size(), 3U);
  for (const analyze::PassRow& row : results.rows) {
    EXPECT_FALSE(row.kept);
    EXPECT_NE(row.reason.find("dropped: rel. L2 0.3"), std::string::npos) << row.reason;
  }
  EXPECT_EQ(results.plan, nullptr);
  EXPECT_EQ(trials.sizes_[2], (std::pair<std::size_t, std::size_t>{1, 2})) << "nothing was carried";
}

TEST(Trials, CarryUnmeasuredWhatIsTooSmallForTheFewRunsOfASlowModel) {
  TrialRun trials({faster(), faster()});
  trials.step_ms_ = 200;  // six blocks take 4.8 s of the 4 s that a group can have
  const TrialResults results = trials.run({"fold", "layout", "fuse"});
  EXPECT_EQ(
      results.rows[0].reason,
      "fold_pass: 1 ×; not measured alone: so small a gain takes longer to see than there is time; kept "
      "together with layout");
  EXPECT_FALSE(results.rows[0].measured_gain_ms);
  EXPECT_TRUE(results.rows[0].kept);
  ASSERT_EQ(results.combinations.size(), 1U);
  EXPECT_EQ(results.combinations[0].passes, (std::vector<std::string>{"fold", "layout"}));
}

TEST(Trials, MeasureALargeGainHoweverSlowTheModel) {
  TrialRun trials({faster(), faster()});
  trials.step_ms_ = 200;
  trials.predicted_ms_ = 50;
  EXPECT_TRUE(trials.run({"layout", "fuse"}).rows[0].measured_gain_ms);
}

TEST(Trials, DropUnmeasuredWhatIsWrong) {
  TrialRun trials({faster()});
  trials.step_ms_ = 400;
  trials.wrong_at_ = 2;
  const TrialResults results = trials.run({"fold", "layout"});
  EXPECT_EQ(results.rows[0].reason, "fold_pass: 1 ×; dropped: rel. L2 0.3");
  EXPECT_FALSE(results.rows[0].kept);
}

TEST(Trials, SettleWhatIsCarriedBeforeAGroupThatAimsAtMemory) {
  ASSERT_EQ(passes::aim_of("order"), passes::Aim::kMemory);
  TrialRun trials({unclear(), unclear(), unclear()});
  const TrialResults results = trials.run({"fuse", "order"});
  EXPECT_FALSE(results.rows[0].kept);
  EXPECT_NE(results.rows[0].reason.find("measured again, dropped"), std::string::npos);
  EXPECT_EQ(trials.sizes_[2], (std::pair<std::size_t, std::size_t>{1, 2})) << "order stands on the baseline";
}

}  // namespace
}  // namespace hone::lab

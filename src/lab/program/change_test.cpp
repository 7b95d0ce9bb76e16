#include "lab/program/change.h"

#include <filesystem>
#include <regex>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyze/advised_changes.h"
#include "core/file.h"
#include "core/testing/source_folder.h"

namespace hone::lab {
namespace {

using ::testing::ElementsAre;

analyze::Finding finding(const std::string& rule, analyze::Cause cause, double gain_ms) {
  analyze::Finding found;
  found.rule = rule;
  found.cause = cause;
  found.title = "title of " + rule;
  found.predicted_gain_ms = gain_ms;
  return found;
}

std::vector<std::string> names(const std::vector<Candidate>& all) {
  std::vector<std::string> found;
  for (const Candidate& each : all) found.emplace_back(each.change->name);
  return found;
}

TEST(Changes, AreThoseThatTheProgramCanBeGiven) {
  const auto text = read_file(source_folder() / "python/hone_apply/changes.py");
  ASSERT_TRUE(text.ok());
  std::set<std::string> there, known;
  const std::regex entry("\"(\\w+)\": \\w+\\.");
  for (std::sregex_iterator at(text->begin(), text->end(), entry), end; at != end; ++at)
    there.insert((*at)[1]);
  for (const Change& change : known_changes()) {
    known.emplace(change.name);
    if (change.instead.empty()) continue;
    EXPECT_NE(find_change(change.instead), nullptr) << change.name;
  }
  EXPECT_EQ(there, known);
}

// Of a step of 100 ms, 80 are the loader's: one process still takes 80 for a batch, two take 40, four no more than the rest.
TEST(Candidates, PredictOfWorkersNoMoreThanTheyCanMakeReady) {
  analyze::Analysis baseline;
  baseline.device = "NVIDIA H100";
  baseline.step.ms = {100, 99, 101};
  baseline.findings = {finding("input_waits", analyze::Cause::kInput, 80)};
  const auto predicted = [&](int processes) {
    for (const Candidate& each : candidates(baseline, processes))
      if (each.change->name == "workers") return each.predicted_gain_ms;
    return -1.0;
  };
  EXPECT_EQ(predicted(1), 20);
  EXPECT_EQ(predicted(2), 60);
  EXPECT_EQ(predicted(4), 80);
  EXPECT_EQ(predicted(8), 80);
}

// What the loader was simulated to win is nobody's to cut again.
TEST(Candidates, PredictOfWorkersWhatTheLoaderIsKnownToWin) {
  analyze::Analysis baseline;
  baseline.device = "NVIDIA H100";
  baseline.step.ms = {100, 99, 101};
  baseline.findings = {finding("input_waits", analyze::Cause::kInput, 80)};
  baseline.loading = analyze::Loading();
  baseline.changes = {{"workers", 23}};
  const std::vector<Candidate> found = candidates(baseline, 2);
  ASSERT_EQ(found.front().change->name, "workers");
  EXPECT_EQ(found.front().predicted_gain_ms, 23);
  EXPECT_TRUE(found.front().loading);
}

// What is switched in C++ but not in Python would be run in vain.
TEST(Changes, ThatSwitchCanBeSwitchedThere) {
  int switches = 0, methods = 0;
  for (const Change& change : known_changes()) switches += change.switches;
  for (const auto& file : std::filesystem::directory_iterator(source_folder() / "python/hone_apply")) {
    const auto text = read_file(file.path());
    if (!text.ok() || file.path().filename() == "switching.py") continue;
    const std::regex made("    def switch\\(self, on\\)|class \\w+\\(Compile\\)");
    methods += static_cast<int>(std::distance(std::sregex_iterator(text->begin(), text->end(), made), {}));
  }
  EXPECT_EQ(switches, methods);
}

// A rule's row names what lab can do.
TEST(Changes, ThatRulesAdviseAreKnown) {
  EXPECT_FALSE(analyze::all_advised_changes().empty());
  for (const std::string_view name : analyze::all_advised_changes())
    EXPECT_NE(find_change(name), nullptr) << name;
}

// A kernel that waits for its memory is not helped by fewer launches, nor by the threads of the host.
TEST(Candidates, AreNoneOfFindingsThatNoChangeIsKnownToHelp) {
  analyze::Analysis baseline;
  baseline.device = "NVIDIA H100";
  baseline.step.ms.median = 100;
  baseline.findings = {finding("latency", analyze::Cause::kKernelInefficiency, 30),
                       finding("uncoalesced", analyze::Cause::kKernelInefficiency, 20)};
  EXPECT_TRUE(candidates(baseline).empty());
}

TEST(Candidates, ComeFromFindingsTheLargestGainFirst) {
  analyze::Analysis baseline;
  baseline.device = "NVIDIA H100";
  baseline.step.ms.median = 100;
  baseline.findings = {finding("unfused_optimizer", analyze::Cause::kAvoidableTraffic, 5),
                       finding("f32_without_matrix_units", analyze::Cause::kPrecision, 40),
                       finding("nothing_to_apply", analyze::Cause::kBubble, 90)};
  const std::vector<Candidate> found = candidates(baseline);
  EXPECT_THAT(names(found), ElementsAre("autocast_bf16", "fused_optimizer"));
  EXPECT_DOUBLE_EQ(found[0].predicted_gain_ms, 40);
  EXPECT_EQ(found[0].because, "title of f32_without_matrix_units");
}

TEST(Candidates, OfSeveralFindingsAreOneAndWinNoMoreThanTheStep) {
  analyze::Analysis baseline;
  baseline.device = "NVIDIA H100";
  baseline.step.ms.median = 100;
  baseline.findings = {finding("unfused_chain", analyze::Cause::kAvoidableTraffic, 70),
                       finding("lone_casts", analyze::Cause::kAvoidableTraffic, 60)};
  const std::vector<Candidate> found = candidates(baseline);
  ASSERT_EQ(names(found), std::vector<std::string>{"compile"});
  EXPECT_DOUBLE_EQ(found[0].predicted_gain_ms, 100);
}

// bf16 wins more than its products do, and what a finding wins of its cause is not what the change does.
TEST(Candidates, ArePredictedToWinWhatTheyDoOverAllCauses) {
  analyze::Analysis baseline;
  baseline.device = "NVIDIA H100";
  baseline.step.ms.median = 100;
  baseline.findings = {finding("channels_first_images", analyze::Cause::kLayout, 12),
                       finding("tf32_products", analyze::Cause::kPrecision, 9),
                       finding("unfused_optimizer", analyze::Cause::kAvoidableTraffic, 5)};
  baseline.changes = {{"autocast_bf16", 14}, {"channels_last", 12}};
  const std::vector<Candidate> found = candidates(baseline);
  ASSERT_THAT(names(found), ElementsAre("autocast_bf16", "channels_last", "fused_optimizer"));
  EXPECT_DOUBLE_EQ(found[0].predicted_gain_ms, 14);
  EXPECT_DOUBLE_EQ(found[2].predicted_gain_ms, 5);
}

// Their layout changes nothing where there is none.
TEST(Candidates, AreOfConvolutionsOnlyWhereThereMayBeSome) {
  analyze::Analysis baseline;
  baseline.device = "NVIDIA H100";
  baseline.step.ms.median = 100;
  baseline.findings = {finding("channels_first_images", analyze::Cause::kLayout, 12)};
  EXPECT_THAT(names(candidates(baseline)), ::testing::Contains("channels_last"));
  baseline.operators.resize(2);
  baseline.operators[0].op_class = trace::OperatorClass::kMatrix;
  baseline.step.confidence = 0.3;
  EXPECT_TRUE(may_convolve(baseline)) << "these may be no steps";
  baseline.step.confidence = 1;
  EXPECT_FALSE(may_convolve(baseline));
  EXPECT_THAT(names(candidates(baseline)), ::testing::Not(::testing::Contains("channels_last")));
  EXPECT_THAT(names(unasked_candidates({}, true, false)),
              ::testing::Not(::testing::Contains("channels_last")));
  baseline.operators[1].op_class = trace::OperatorClass::kConvolution;
  EXPECT_THAT(names(candidates(baseline)), ::testing::Contains("channels_last"));
  EXPECT_THAT(names(unasked_candidates({}, true, true)), ::testing::Contains("channels_last"));
}

TEST(Candidates, AreJoinedByThoseThatAreAskedFor) {
  analyze::Analysis baseline;
  baseline.device = "NVIDIA H100";
  baseline.step.ms.median = 100;
  baseline.findings = {finding("unfused_optimizer", analyze::Cause::kAvoidableTraffic, 5)};
  const auto found = with_asked_for(candidates(baseline), {"compile", "fused_optimizer"});
  ASSERT_TRUE(found.ok());
  EXPECT_THAT(names(*found), ElementsAre("fused_optimizer", "compile"));
  EXPECT_THAT(with_asked_for({}, {"magic"}).error().message, ::testing::HasSubstr("magic"));
}

TEST(Candidates, OfAProgramOnTheCpuNeedNoDevice) {
  analyze::Analysis baseline;
  baseline.device = "cpu";
  baseline.step.ms.median = 100;
  baseline.findings = {finding("slow_launches", analyze::Cause::kLaunch, 30)};
  EXPECT_THAT(names(candidates(baseline)), ElementsAre("compile", "fused_optimizer", "larger_batch"));
}

}  // namespace
}  // namespace hone::lab

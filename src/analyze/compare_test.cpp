#include "analyze/compare.h"

#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "analyze/analyze.h"
#include "analyze/estimate.h"
#include "analyze/fabricate.h"

namespace hone::analyze {
namespace {

using fabricate::op;
using trace::OperatorClass;

Analysis run(std::vector<trace::Operator> operators, const std::vector<double>& ms, uint32_t seed) {
  fabricate::Timeline timeline(std::move(operators));
  std::mt19937 random(seed);
  std::lognormal_distribution<double> noise(0, 0.03);
  for (int step = 0; step < 30; ++step) {
    timeline.begin_step();
    for (uint32_t i = 0; i < ms.size(); ++i) timeline.run(i, ms[i] * noise(random));
    timeline.end_step();
  }
  Roofs roofs = fabricate::round_roofs();
  return *analyze_trace(timeline.trace(), roofs, {});
}

std::vector<trace::Operator> conv_relu_pool() {
  return {op("conv", "Conv", OperatorClass::kConvolution, 1e9, 1e6, 1e6),
          op("relu", "Relu", OperatorClass::kPointwise, 1e6, 1e6, 1e6),
          op("pool", "MaxPool", OperatorClass::kPooling, 1e6, 1e6, 1e6)};
}

TEST(Compare, MatchesAFusedOperatorWithThoseItReplaced) {
  trace::Operator fused = op("fused_0", "hone.Fused", OperatorClass::kConvolution, 1e9, 1e6, 1e6);
  fused.provenance = {"conv", "relu"};
  Analysis a = run(conv_relu_pool(), {5, 2, 1}, 1);
  Analysis b = run({fused, conv_relu_pool()[2]}, {5.1, 1}, 2);
  Comparison result = compare(a, b);
  EXPECT_TRUE(result.difference.sure);
  EXPECT_NEAR(result.ratio, 8 / 6.1, 0.05);
  ASSERT_EQ(result.operators.size(), 2u);
  EXPECT_EQ(result.operators[0].a, (std::vector<std::string>{"conv", "relu"}));
  EXPECT_EQ(result.operators[0].b, (std::vector<std::string>{"fused_0"}));
  EXPECT_NEAR(result.operators[0].difference.change_ms.median, -1.9, 0.15);
  EXPECT_TRUE(result.operators[0].difference.sure);
  EXPECT_NE(result.sentence.find("faster"), std::string::npos);
}

TEST(Compare, IsSureOfNothingWhereAProgramHadNoCpu) {
  const Analysis a = run(conv_relu_pool(), {5, 2, 1}, 1);
  Analysis b = run(conv_relu_pool(), {9, 2, 1}, 2);
  EXPECT_TRUE(compare(a, b).difference.sure);
  b.without_cpu = 0.35;
  const Comparison result = compare(a, b);
  EXPECT_FALSE(result.comparable);
  EXPECT_FALSE(result.difference.sure);
  EXPECT_NE(result.sentence.find("no CPU in the second for 35.0 % of the time"), std::string::npos)
      << result.sentence;
  EXPECT_TRUE(result.findings.empty());
}

TEST(Compare, ClaimsNothingBetweenTwoRunsOfTheSame) {
  int claims = 0;
  for (uint32_t seed = 0; seed < 60; ++seed)
    claims += compare(run(conv_relu_pool(), {5, 2, 1}, seed), run(conv_relu_pool(), {5, 2, 1}, seed + 1000))
                  .difference.sure;
  EXPECT_LE(claims, 7);  // 5 % of 60 is 3
}

TEST(Compare, SaysWhereTwoRanksOfOneRunAreCompared) {
  const Analysis first = run(conv_relu_pool(), {5, 2, 1}, 1);
  Analysis second = first;
  EXPECT_TRUE(compare(first, second).caveats.empty());
  second.ranks = {1};
  ASSERT_EQ(compare(first, second).caveats.size(), 1u);
  EXPECT_EQ(compare(first, second).caveats[0].find("rank 0 against rank 1"), 0u);
}

TEST(Compare, TellsNothingOfARecordingThatLacksTooMuch) {
  const Analysis whole = run(conv_relu_pool(), {5, 2, 1}, 1);
  Analysis torn = run(conv_relu_pool(), {2, 2, 1}, 2);
  torn.verdict = {.cause = {}, .sentence = "No verdict: …", .judged = false, .given = false};
  const Comparison result = compare(whole, torn);
  EXPECT_FALSE(result.comparable);
  EXPECT_EQ(result.difference.certainty, Certainty::kNone);
  EXPECT_TRUE(result.ledger.empty());
  EXPECT_TRUE(result.operators.empty());
  EXPECT_TRUE(result.kernels.empty());
  EXPECT_EQ(result.sentence, "Not compared: the second recording lacks too much of what ran.");
  EXPECT_EQ(compare(torn, whole).sentence, "Not compared: the first recording lacks too much of what ran.");
  EXPECT_EQ(compare(torn, torn).sentence, "Not compared: each of the recordings lacks too much of what ran.");
}

TEST(Compare, TellsNothingOfARunOfABusyMachineAndSaysWhy) {
  const Analysis quiet = run(conv_relu_pool(), {5, 2, 1}, 1);
  Analysis busy = quiet;
  busy.verdict.given = false;
  busy.contention = {0.34, true};
  const std::string sentence = compare(quiet, busy).sentence;
  EXPECT_EQ(sentence.find("Not compared: the second recording was taken while the machine was busy"), 0u)
      << sentence;
  EXPECT_NE(sentence.find("34 %"), std::string::npos) << sentence;
  EXPECT_EQ(compare(busy, busy).sentence.find("Not compared: both recordings were"), 0u);
  EXPECT_TRUE(compare(quiet, busy).ledger.empty());
}

TEST(Compare, ShowsOperatorsThatOnlyOneRunHas) {
  std::vector<trace::Operator> without = {conv_relu_pool()[0], conv_relu_pool()[2]};
  Comparison result = compare(run(conv_relu_pool(), {5, 2, 1}, 1), run(without, {5, 1}, 2));
  EXPECT_EQ(result.operators[0].a, std::vector<std::string>{"relu"});
  EXPECT_TRUE(result.operators[0].b.empty());
  EXPECT_NEAR(result.operators[0].difference.change_ms.median, -2, 0.1);
}

Analysis of_steps(std::vector<double> samples_ms, const std::string& inputs) {
  Analysis analysis;
  analysis.step = {median_estimate(samples_ms), static_cast<int>(samples_ms.size()), samples_ms, "", {}};
  analysis.subject = Subject::kDeviceProgram;
  for (const char* name : {"mm", "add"}) {
    OperatorTime op;
    op.kind = std::string("aten::") + name;
    op.name = name + (" " + inputs);
    op.provenance = {"block"};  // as every operator of the block has it
    op.samples_ms = samples_ms;
    op.ms = median_estimate(samples_ms);
    analysis.operators.push_back(op);
  }
  return analysis;
}

TEST(Compare, SaysWhereTwoProgramsHaveFewOperatorsInCommon) {
  const auto caveats = [](std::vector<trace::Operator> others, std::vector<double> ms) {
    return compare(run(conv_relu_pool(), {1, 5, 2}, 1), run(std::move(others), ms, 2)).caveats;
  };
  const std::vector<trace::Operator> other = {conv_relu_pool()[0],
                                              op("product", "MatMul", OperatorClass::kMatrix, 1e9, 1e6, 1e6)};
  ASSERT_EQ(caveats(other, {1, 5}).size(), 1u);
  EXPECT_NE(caveats(other, {1, 5})[0].find("few operators in common (12"), std::string::npos);
  EXPECT_TRUE(caveats(other, {8, 1}).empty());
  EXPECT_TRUE(caveats(conv_relu_pool(), {1, 5, 2}).empty());
}

TEST(Compare, SaysWhatFewStepsCanSay) {
  const Comparison apart = compare(of_steps({30, 31, 30}, "8x8"), of_steps({20, 21, 20}, "8x8"));
  EXPECT_FALSE(apart.difference.sure);
  EXPECT_EQ(apart.difference.certainty, Certainty::kLikely);
  EXPECT_NE(apart.sentence.find("probably 1.50× faster"), std::string::npos) << apart.sentence;
  EXPECT_NE(apart.sentence.find("10.0 %"), std::string::npos) << apart.sentence;
  EXPECT_NE(apart.sentence.find("4 or more"), std::string::npos) << apart.sentence;
  const Comparison near = compare(of_steps({42.3, 42.3, 42.4}, "8x8"), of_steps({40.3, 39, 40.2}, "8x8"));
  ASSERT_EQ(near.difference.certainty, Certainty::kLikely);
  EXPECT_EQ(near.sentence.find("as fast"), std::string::npos) << near.sentence;
  const Comparison mixed = compare(of_steps({30, 20, 30}, "8x8"), of_steps({29, 21, 20}, "8x8"));
  EXPECT_NE(mixed.sentence.find("No difference that these steps can show"), std::string::npos);
}

TEST(Compare, SaysThatTooFewStepsCanSayNothing) {
  for (const auto& [a, b] : {std::pair<std::vector<double>, std::vector<double>>{{30}, {3}},
                             {{30, 30}, {3, 3}},
                             {{30, 30, 31, 30}, {3}}}) {
    const Comparison result = compare(of_steps(a, "8x8"), of_steps(b, "8x8"));
    EXPECT_EQ(result.difference.certainty, Certainty::kTooFew);
    EXPECT_EQ(result.sentence.find("faster"), std::string::npos) << result.sentence;
    EXPECT_NE(result.sentence.find("Too few steps"), std::string::npos) << result.sentence;
    EXPECT_NE(result.sentence.find("4 or more"), std::string::npos) << result.sentence;
    for (const OperatorChange& row : result.operators)
      EXPECT_EQ(row.difference.certainty, Certainty::kTooFew);
  }
}

TEST(Compare, NamesNoDifferenceThatRecordingsOfOneProgramShowToo) {
  const std::vector<double> a = {30, 30.1, 30, 30.2, 30.1, 30}, b = {29.2, 29.3, 29.1, 29.2, 29.2, 29.3};
  const Comparison result = compare(of_steps(a, "8x8"), of_steps(b, "8x8"));
  EXPECT_TRUE(result.difference.sure);  // of these steps, not of the programs
  EXPECT_EQ(result.difference.certainty, Certainty::kNone);
  EXPECT_NE(result.sentence.find("No difference that one recording of each can show"), std::string::npos)
      << result.sentence;
  EXPECT_NE(result.sentence.find("differ by up to 5 %"), std::string::npos) << result.sentence;
}

TEST(Compare, AsksMoreOfProgramsWhoseHostSetsThePace) {
  Analysis a = of_steps({30, 31, 30, 30}, "8x8"), b = of_steps({26, 26, 26, 27}, "8x8");
  a.subject = b.subject = Subject::kDeviceProgram;
  EXPECT_EQ(compare(a, b).difference.certainty, Certainty::kSure);
  LedgerRow launch;
  launch.cause = Cause::kLaunch;
  launch.share = 0.5;
  b.ledger = {launch};
  EXPECT_EQ(compare(a, b).difference.certainty, Certainty::kNone);
  a.subject = b.subject = Subject::kHostProgram;
  EXPECT_EQ(compare(a, b).difference.certainty, Certainty::kNone);
}

TEST(Compare, CallsNothingADifferenceThatOneRecordingShowsAmongItsSteps) {
  const Comparison result = compare(of_steps({38, 40, 44, 39, 90, 127, 41, 60}, "8x8"),
                                    of_steps({30, 31, 30, 32, 31, 30, 31, 30}, "8x8"));
  EXPECT_TRUE(result.difference.sure);
  EXPECT_EQ(result.difference.certainty, Certainty::kNone);
  EXPECT_NE(result.sentence.find("among themselves"), std::string::npos) << result.sentence;
}

TEST(Compare, CallsADifferenceWhatIsFarBeyondAnyStep) {
  const Comparison result = compare(of_steps({57.6, 41.1, 311, 57, 60, 290, 44}, "8x8"),
                                    of_steps({2.6, 2.5, 2.7, 2.6, 2.6, 2.6, 2.6}, "8x8"));
  EXPECT_EQ(result.difference.certainty, Certainty::kSure);
  EXPECT_EQ(result.sentence.find("The second is 22.2× faster"), 0u) << result.sentence;
}

TEST(Compare, SaysNothingOfStepsThatWereFoundDifferently) {
  Analysis marked = of_steps({30, 31, 30, 30}, "8x8"), inferred = of_steps({20, 21, 20, 20}, "8x8");
  marked.step.how_found = "ProfilerStep ranges";
  inferred.step.how_found = "the repeating sequence: 422 launches a step";
  const Comparison result = compare(marked, inferred);
  EXPECT_FALSE(result.same_steps);
  EXPECT_EQ(result.sentence.find("faster:"), std::string::npos) << result.sentence;
  ASSERT_FALSE(result.caveats.empty());
  EXPECT_NE(result.caveats[0].find("422 launches"), std::string::npos) << result.caveats[0];
  Analysis longer = inferred;
  longer.step.how_found = "the repeating sequence: 311 launches a step";
  EXPECT_TRUE(compare(inferred, longer).same_steps);
}

TEST(Compare, JudgesRowsOfTheLedgerByTheStepsToo) {
  Analysis a = of_steps({30, 31, 30, 30}, "8x8"), b = of_steps({20, 21, 20, 20}, "8x8");
  const auto row = [](Cause cause, std::vector<double> samples) {
    LedgerRow line;
    line.cause = cause;
    line.ms = samples.front();
    line.samples_ms = std::move(samples);
    return line;
  };
  a.ledger = {row(Cause::kFloor, {18, 18, 18, 18.1}), row(Cause::kHostSync, {12, 13, 12, 12})};
  b.ledger = {row(Cause::kFloor, {18, 19, 18, 18}), row(Cause::kLaunch, {4, 4, 4, 4})};
  const Comparison result = compare(a, b);
  ASSERT_EQ(result.ledger.size(), 3u);
  EXPECT_EQ(result.ledger[0].difference.certainty, Certainty::kNone);
  EXPECT_EQ(result.ledger[1].cause, Cause::kLaunch);
  EXPECT_EQ(result.ledger[1].difference.certainty, Certainty::kSure);
  EXPECT_NEAR(result.ledger[2].difference.change_ms.median, -12, 0.6);  // gone: nothing in each step
}

TEST(Compare, SpeaksOfStepsWithoutTheRecorderOnlyWhereTheStepsDiffer) {
  Analysis a = run(conv_relu_pool(), {5, 2, 1}, 1), same = run(conv_relu_pool(), {5, 2, 1}, 1);
  Analysis faster = run(conv_relu_pool(), {2, 2, 1}, 2);
  a.step.unrecorded_ms = {6, 5.5, 6.5};
  EXPECT_EQ(compare(a, same).sentence.find("recorder"), std::string::npos);
  EXPECT_NE(compare(a, faster).sentence.find("recorder"), std::string::npos);
  EXPECT_EQ(compare(a, faster).a_unrecorded_ms->low, 5.5);
}

// Slow hosts hide differences: what is predicted without the recorder may tell two recordings apart.
TEST(Compare, DoesNotSayWhichIsFasterWhereThatDependsOnTheRecorder) {
  Analysis first = run(conv_relu_pool(), {5, 2, 1}, 1), second = run(conv_relu_pool(), {9, 2, 1}, 2);
  first.step.unrecorded_ms = {8, 7.9, 8.1};
  second.step.unrecorded_ms = {6, 5.9, 6.1};
  const Comparison result = compare(first, second);
  EXPECT_EQ(result.sentence.find("Not clear which is faster: "), 0u) << result.sentence;
  EXPECT_EQ(result.sentence.find("The second is"), std::string::npos);
  second.step.unrecorded_ms = {11, 10.9, 11.1};
  EXPECT_EQ(compare(first, second).sentence.find("The second is "), 0u);
}

TEST(Compare, SaysWhereStepsDoDifferentWork) {
  std::vector<trace::Operator> half = conv_relu_pool();
  half[0].flops /= 2;
  const Analysis whole = run(conv_relu_pool(), {5, 2, 1}, 1), less = run(half, {3, 2, 1}, 2);
  const auto speaks = [](Analysis a, Analysis b) {
    a.subject = b.subject = Subject::kDeviceProgram;
    for (const std::string& caveat : compare(a, b).caveats)
      if (caveat.find("their steps do different work: 1.00 GFLOP") == 0) return true;
    return false;
  };
  EXPECT_TRUE(speaks(whole, less));
  EXPECT_FALSE(speaks(whole, run(conv_relu_pool(), {3, 2, 1}, 2)));
}

TEST(Compare, SpeaksOfStepsWithoutTheRecorderWhereOnlyTheirRangesLieApart) {
  Analysis a = of_steps({30, 31, 30, 30}, "8x8"), b = of_steps({26, 26, 26, 27}, "8x8");
  a.subject = b.subject = Subject::kHostProgram;
  a.step.unrecorded_ms = {15, 14, 16};
  b.step.unrecorded_ms = {10, 9, 14.5};
  ASSERT_EQ(compare(a, b).difference.certainty, Certainty::kNone);
  EXPECT_EQ(compare(a, b).sentence.find("recorder"), std::string::npos);
  b.step.unrecorded_ms->high = 12;
  EXPECT_NE(compare(a, b).sentence.find("probably 1.50× faster"), std::string::npos)
      << compare(a, b).sentence;
}

TEST(Compare, SaysWhereTheHostSeemsToHaveBeenSlowerInOneRecording) {
  Analysis a = of_steps({30, 31, 30, 30}, "8x8"), b = of_steps({60, 61, 60, 60}, "8x8");
  a.subject = b.subject = Subject::kHostProgram;
  a.figures["operator_gap_us"] = 1.5;
  b.figures["operator_gap_us"] = 1.8;
  EXPECT_TRUE(compare(a, b).caveats.empty());
  b.figures["operator_gap_us"] = 3;
  ASSERT_EQ(compare(a, b).caveats.size(), 1u);
  EXPECT_NE(compare(a, b).caveats[0].find("2.0 times as slow in the second"), std::string::npos);
  b.operators.front().kind = b.operators.front().name = "aten::other";  // another program
  for (const std::string& caveat : compare(a, b).caveats)
    EXPECT_EQ(caveat.find("times as slow"), std::string::npos);
}

Analysis of_two_ranks(int shown, std::vector<ElsewhereOperator> elsewhere) {
  Analysis analysis = of_steps({30, 31, 30, 30}, "8x8");
  analysis.ranks = {0, 1};
  analysis.ledger_rank = shown;
  analysis.elsewhere = std::move(elsewhere);
  return analysis;
}

const ElsewhereOperator kExtra = {"bmm 4x4", "aten::bmm", {1}, 5, 8, {5, 5, 5.1, 5}};

TEST(Compare, ShowsWhatOnlyARankRunsThatIsNotShown) {
  const Comparison result = compare(of_two_ranks(0, {kExtra}), of_two_ranks(0, {}));
  ASSERT_EQ(result.elsewhere.size(), 1u);
  const ElsewhereChange& row = result.elsewhere[0];
  EXPECT_EQ(row.name, "bmm 4x4");
  EXPECT_EQ(row.a_ranks, std::vector<int>{1});
  EXPECT_TRUE(row.b_ranks.empty());
  EXPECT_EQ(row.a_ms, 5);
  EXPECT_EQ(row.b_ms, 0);
  EXPECT_EQ(row.difference.certainty, Certainty::kSure);
  EXPECT_TRUE(result.caveats.empty());
  ASSERT_EQ(compare(of_two_ranks(0, {kExtra}), of_two_ranks(0, {kExtra})).elsewhere.size(), 1u);
  EXPECT_EQ(compare(of_two_ranks(0, {kExtra}), of_two_ranks(0, {kExtra})).elsewhere[0].difference.certainty,
            Certainty::kNone);
}

// The second run shows the rank that runs it: it has not gone.
TEST(Compare, FindsWhatIsElsewhereInOneRunAmongTheShownOperatorsOfTheOther) {
  Analysis second = of_two_ranks(1, {});
  OperatorTime extra;
  extra.kind = kExtra.kind;
  extra.name = kExtra.name;
  extra.ms = {4, 4, 4};
  extra.samples_ms = {4, 4, 4, 4};
  second.operators.push_back(extra);
  const Comparison result = compare(of_two_ranks(0, {kExtra}), second);
  ASSERT_EQ(result.elsewhere.size(), 1u);
  EXPECT_EQ(result.elsewhere[0].b_ranks, std::vector<int>{1});
  EXPECT_EQ(result.elsewhere[0].b_ms, 4);
}

TEST(Compare, AddsUpWhatTheShownRankRunsInSeveralPhases) {
  Analysis second = of_two_ranks(1, {});
  for (int phase = 0; phase < 2; ++phase) {
    OperatorTime extra;
    extra.kind = kExtra.kind;
    extra.name = kExtra.name;
    extra.ms = {2, 2, 2};
    extra.samples_ms = {2, 2, 2, 2};
    second.operators.push_back(extra);
  }
  const Comparison result = compare(of_two_ranks(0, {kExtra}), second);
  ASSERT_EQ(result.elsewhere.size(), 1u);
  EXPECT_EQ(result.elsewhere[0].b_ms, 4);
}

// In the first run the shown rank has the kind on other inputs. In the second it has none: the other rank
// runs what it ran.
TEST(Compare, FindsWhatStoodForAnOperatorOfTheShownRank) {
  ElsewhereOperator in_place = kExtra;
  in_place.stands_for_shown = true;
  const Comparison result = compare(of_two_ranks(0, {in_place}), of_two_ranks(0, {kExtra}));
  ASSERT_EQ(result.elsewhere.size(), 1u);
  EXPECT_EQ(result.elsewhere[0].a_ms, 5);
  EXPECT_EQ(result.elsewhere[0].difference.certainty, Certainty::kNone);
  EXPECT_TRUE(compare(of_two_ranks(0, {in_place}), of_two_ranks(0, {in_place})).elsewhere.empty());
}

TEST(Compare, SaysNothingOfOtherRanksWhereItIsNotKnownWhatTheyRun) {
  Analysis unknown = of_two_ranks(0, {});
  unknown.elsewhere_known = false;
  EXPECT_TRUE(compare(of_two_ranks(0, {kExtra}), unknown).elsewhere.empty());
}

TEST(Compare, SaysNothingOfRanksThatTheOtherRecordingDoesNotHave) {
  Analysis alone = of_two_ranks(0, {});
  alone.ranks = {0};
  EXPECT_TRUE(compare(of_two_ranks(0, {kExtra}), alone).elsewhere.empty());
}

TEST(Compare, SaysWhereTheShownRanksDiffer) {
  const Comparison result = compare(of_two_ranks(0, {}), of_two_ranks(1, {}));
  EXPECT_EQ(result.a_rank, 0);
  EXPECT_EQ(result.b_rank, 1);
  ASSERT_EQ(result.caveats.size(), 1u);
  EXPECT_NE(result.caveats[0].find("rank 0 of the first is shown beside rank 1 of the second"),
            std::string::npos);
  EXPECT_TRUE(compare(of_two_ranks(1, {}), of_two_ranks(1, {})).caveats.empty());
}

TEST(Compare, TellsPaceWithoutSuperfluousDigits) {
  EXPECT_EQ(pace(21.2, 10.7), "1.98× faster");
  EXPECT_EQ(pace(10, 123.456), "12.3× slower");
  EXPECT_EQ(pace(1, 1.001), "as fast");
  EXPECT_EQ(pace(3600000, 1.25), "2.88 M× faster");
}

TEST(Compare, MatchesForeignOperatorsByInputsElseByKind) {
  const Comparison same = compare(of_steps({30, 31, 30}, "8x8"), of_steps({20, 21, 20}, "8x8"));
  ASSERT_EQ(same.operators.size(), 2u);
  EXPECT_EQ(same.operators[0].a, same.operators[0].b);
  const Comparison other = compare(of_steps({30, 31, 30}, "8x8"), of_steps({20, 21, 20}, "16x8"));
  ASSERT_EQ(other.operators.size(), 2u);
  for (const OperatorChange& row : other.operators) {
    ASSERT_EQ(row.a.size(), 1u);
    ASSERT_EQ(row.b.size(), 1u);
    EXPECT_EQ(row.a[0].substr(0, 2), row.b[0].substr(0, 2));
  }
}

Finding finding_of(const char* rule, Cause cause, double ms, double gain_ms) {
  Finding finding;
  finding.rule = rule;
  finding.cause = cause;
  finding.title = fmt::format("{} ms", ms);  // which says nothing to programs
  finding.ms = ms;
  finding.predicted_gain_ms = gain_ms;
  return finding;
}

TEST(Compare, KnowsFindingsByTheirRules) {
  Analysis a, b;
  a.findings = {finding_of("tf32_products", Cause::kPrecision, 7, 6),
                finding_of("channels_first_batch_norm", Cause::kLayout, 28, 26)};
  b.findings = {finding_of("tf32_products", Cause::kPrecision, 9, 8)};
  const std::vector<RuleChange> changes = compare(a, b).findings;
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_EQ(changes[0].rule, "channels_first_batch_norm");
  EXPECT_EQ(changes[0].a_gain_ms, 26);
  EXPECT_EQ(changes[0].b_ms, 0);  // mended
  EXPECT_EQ(changes[1].rule, "tf32_products");
  EXPECT_EQ(changes[1].a_ms, 7);
  EXPECT_EQ(changes[1].b_ms, 9);
}

}  // namespace
}  // namespace hone::analyze

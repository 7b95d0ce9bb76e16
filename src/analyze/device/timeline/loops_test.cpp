#include "analyze/device/timeline/loops.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "trace/testing/add_span.h"

namespace hone::analyze::device {
namespace {

// One stream, one work a launch. A word is a kernel's name; "0" clears memory, "|" begins the next step.
struct LoopProgram {
  trace::Trace trace;
  RankTimeline timeline;

  explicit LoopProgram(const std::vector<std::string>& words) {
    const trace::TrackId track = trace.add_track({});
    int32_t step = 0;
    for (const std::string& word : words) {
      if (word == "|") {
        ++step;
        continue;
      }
      Work work;
      work.span = add_span(trace, {.on = track, .name = word});
      work.step = step;
      work.kind = word == "0" ? WorkKind::kMemset : WorkKind::kKernel;
      timeline.launched.push_back(static_cast<uint32_t>(timeline.works.size()));
      timeline.works.push_back(work);
    }
  }

  Loops loops() const { return find_loops(trace, timeline); }
};

std::vector<std::string> repeat(int times, const std::vector<std::string>& turn) {
  std::vector<std::string> words;
  for (int i = 0; i < times; ++i) words.insert(words.end(), turn.begin(), turn.end());
  return words;
}

std::vector<std::string> join(std::vector<std::string> a, const std::vector<std::string>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST(Loops, AreRepeatedTurnsBetweenOtherWork) {
  const LoopProgram program(join(join({"x", "y"}, repeat(20, {"pow", "sum", "add"})), {"z", "x"}));
  const Loops loops = program.loops();
  ASSERT_EQ(loops.loops.size(), 1u);
  EXPECT_EQ(loops.loops[0].first, 2u);
  EXPECT_EQ(loops.loops[0].turns, 20u);
  EXPECT_EQ(loops.loops[0].works, 60u);
  EXPECT_EQ(loops.loops[0].first_turn, 3u);
  EXPECT_EQ(loops.loops[0].name, "pow, sum, add");
  EXPECT_EQ(loops.of_work(1), nullptr);
  EXPECT_NE(loops.of_work(2), nullptr);
  EXPECT_NE(loops.of_work(61), nullptr);
  EXPECT_EQ(loops.of_work(62), nullptr);
}

TEST(Loops, FewTurnsAreNone) {
  EXPECT_TRUE(LoopProgram(repeat(kFewestTurns - 1, {"a", "b"})).loops().loops.empty());
  EXPECT_EQ(LoopProgram(repeat(kFewestTurns, {"a", "b"})).loops().loops.size(), 1u);
}

TEST(Loops, FewTurnsAreOneWhereTheSameComeAgainInTheStep) {
  const std::vector<std::string> heads = repeat(8, {"q", "k", "attend"});
  const std::vector<std::string> layer = join(join({"norm"}, heads), {"cat", "mm"});
  const Loops loops = LoopProgram(join(layer, layer)).loops();
  ASSERT_EQ(loops.loops.size(), 2u);
  EXPECT_EQ(loops.loops[0].first, 1u);
  EXPECT_EQ(loops.loops[0].turns, 8u);
  EXPECT_EQ(loops.loops[0].name, "q, k, attend");
  EXPECT_EQ(loops.loops[1].first, 28u);
  EXPECT_TRUE(LoopProgram(layer).loops().loops.empty());
  EXPECT_TRUE(LoopProgram(join(join(layer, {"|"}), layer)).loops().loops.empty());
  EXPECT_TRUE(LoopProgram(join(layer, repeat(8, {"q", "v", "attend"}))).loops().loops.empty());
}

TEST(Loops, FewTurnsBeginAnywhereInTheTurn) {
  const std::vector<std::string> first = join({"x"}, repeat(7, {"a", "b"}));
  const std::vector<std::string> second = join({"y"}, repeat(7, {"b", "a"}));
  EXPECT_EQ(LoopProgram(join(first, second)).loops().loops.size(), 2u);
}

TEST(Loops, KernelsOfOperatorsOverListsAreNone) {
  const std::vector<std::string> update = join(repeat(7, {"_foreach_mul_"}), {"x"});
  LoopProgram program(join(update, update));
  trace::Operator op;
  op.kind = "aten::_foreach_mul_";
  program.trace.add_operator(op);
  for (Work& work : program.timeline.works)
    if (program.trace.name(program.trace.spans.row(work.span)) == "_foreach_mul_") work.op = 0;
  EXPECT_TRUE(program.loops().loops.empty());
}

TEST(Loops, KernelsOfOneCallAreNoTurns) {
  for (const int turns : {8, 20})
    for (const bool one_call : {false, true}) {
      const std::vector<std::string> sort = join(repeat(turns, {"sort"}), {"x"});
      LoopProgram program(join(sort, sort));
      for (uint32_t i = 0; i < program.timeline.works.size(); ++i)
        program.timeline.works[i].execution = one_call ? i / static_cast<uint32_t>(turns + 1) : i;
      EXPECT_EQ(program.loops().loops.size(), one_call ? 0u : 2u);
    }
}

TEST(Loops, LongTurnsAreLayersNotLoops) {
  std::vector<std::string> layer;
  for (uint32_t i = 0; i <= kLongestTurn; ++i) layer.push_back("kernel" + std::to_string(i));
  EXPECT_TRUE(LoopProgram(repeat(40, layer)).loops().loops.empty());
}

TEST(Loops, TheShortestReadingCounts) {
  const Loops loops = LoopProgram(repeat(48, {"mul"})).loops();
  ASSERT_EQ(loops.loops.size(), 1u);
  EXPECT_EQ(loops.loops[0].turns, 48u);
  EXPECT_EQ(loops.loops[0].first_turn, 1u);
}

TEST(Loops, ClearingMemoryInSomeTurnsDoesNotBreakThem) {
  std::vector<std::string> words;
  for (int i = 0; i < 30; ++i) {
    words.push_back("pow");
    if (i % 3 == 1) words.push_back("0");
    words.push_back("sum");
  }
  const Loops loops = LoopProgram(words).loops();
  ASSERT_EQ(loops.loops.size(), 1u);
  EXPECT_EQ(loops.loops[0].turns, 30u);
  EXPECT_EQ(loops.loops[0].works, 70u);
}

TEST(Loops, EndWithTheirStep) {
  const LoopProgram program(join(join(repeat(15, {"a", "b"}), {"|"}), repeat(16, {"a", "b"})));
  const Loops loops = program.loops();
  ASSERT_EQ(loops.loops.size(), 2u);
  EXPECT_EQ(loops.loops[0].turns, 15u);
  EXPECT_EQ(loops.loops[1].turns, 16u);
  EXPECT_EQ(loops.loops[1].step, 1);
}

TEST(Loops, AreOfLayersWhereEachTurnMultipliesAndNormalises) {
  const std::vector<std::string> turn = {"layer_norm", "mm", "gelu", "mm"};
  LoopProgram program(repeat(12, turn));
  EXPECT_FALSE(program.loops().loops.at(0).layers) << "kernels of no known operator";
  for (const std::string& word : turn) {
    trace::Operator op;
    op.kind = word;
    op.op_class = word == "mm"     ? trace::OperatorClass::kMatrix
                  : word == "gelu" ? trace::OperatorClass::kPointwise
                                   : trace::OperatorClass::kNormalization;
    program.trace.add_operator(op);
  }
  for (std::size_t i = 0; i < program.timeline.works.size(); ++i)
    program.timeline.works[i].op = static_cast<uint32_t>(i % turn.size());
  EXPECT_TRUE(program.loops().loops.at(0).layers);
  program.trace.operators[0].op_class = trace::OperatorClass::kPointwise;
  EXPECT_FALSE(program.loops().loops.at(0).layers);
}

TEST(Loops, TwoNeighboursAreTwoLoops) {
  const Loops loops = LoopProgram(join(repeat(15, {"a"}), repeat(15, {"b", "c"}))).loops();
  ASSERT_EQ(loops.loops.size(), 2u);
  EXPECT_EQ(loops.loops[0].name, "a");
  EXPECT_EQ(loops.loops[1].name, "b, c");
}

}  // namespace
}  // namespace hone::analyze::device

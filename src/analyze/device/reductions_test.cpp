#include "analyze/device/reductions.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "trace/testing/add_span.h"

namespace hone::analyze::device {
namespace {

// A step as letters: f a forward work, b a backward one, r the reduction of 100 elements, t one of 7, | the
// next step. The optimizer goes over 100 elements.
struct Program {
  trace::Trace trace;
  RankTimeline timeline;
  BusySplit split;

  explicit Program(std::string_view letters, double updated = 100) {
    add_operator(trace::Phase::kForward, 0);
    add_operator(trace::Phase::kBackward, 0);
    add_operator(trace::Phase::kOptimizer, updated);
    const trace::TrackId track = trace.add_track({});
    int32_t step = 0;
    for (char letter : letters) {
      if (letter == '|') ++step;
      if (letter == '|') continue;
      Work work;
      work.span = add_span(trace, {.on = track});
      work.step = step;
      if (letter == 'f' || letter == 'b') {
        work.op = letter == 'f' ? 0 : 1;
      } else {
        work.kind = WorkKind::kCollective;
        describe_collective(trace, work.span, "allreduce", letter == 'r' ? 100 : 7);
      }
      timeline.launched.push_back(static_cast<uint32_t>(timeline.works.size()));
      timeline.works.push_back(work);
    }
  }

  void add_operator(trace::Phase phase, double elements) {
    trace::Operator row;
    row.phase = phase;
    trace.operators.push_back(row);
    OperatorUse use;
    if (elements > 0) {
      trace::CallInput tensor;
      tensor.kind = trace::CallInput::Kind::kTensor;
      tensor.dims = {static_cast<int64_t>(elements)};
      trace::CallInput list;
      list.kind = trace::CallInput::Kind::kList;
      list.items = {tensor};
      use.inputs = {list};
    }
    split.uses.rows.push_back(use);
  }

  long repeated() const {
    BusySplit marked = split;
    marked.works.resize(timeline.works.size());
    mark_repeated_reductions(trace, timeline, marked);
    return std::count_if(marked.works.begin(), marked.works.end(),
                         [](const WorkSplit& work) { return work.reason == Reason::kRepeated; });
  }
};

TEST(RepeatedReductions, AreAllButTheLastPassOfAStep) {
  EXPECT_EQ(Program("fbrfbrfbr|fbrfbr").repeated(), 3);
}

TEST(RepeatedReductions, OnePassAStepIsNone) { EXPECT_EQ(Program("fbr|fbr|fbr").repeated(), 0); }

TEST(RepeatedReductions, ReductionsOfActivationsAreNone) {
  EXPECT_EQ(Program("ftftftbt|ftftftbt").repeated(), 0);  // not as many elements as the optimizer updates
}

TEST(RepeatedReductions, BucketsOfOnePassBelongTogether) {
  EXPECT_EQ(Program("fbttbtt|fbttbtt", 28).repeated(), 0);
  EXPECT_EQ(Program("fbttbttfbttbtt", 28).repeated(), 4);
}

TEST(RepeatedReductions, WithoutAnOptimizerNothingIsSaid) { EXPECT_EQ(Program("fbrfbr", 0).repeated(), 0); }

}  // namespace
}  // namespace hone::analyze::device

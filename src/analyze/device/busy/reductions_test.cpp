#include "analyze/device/busy/reductions.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "analyze/device/testing/hand_made_view.h"
#include "trace/testing/add_span.h"

namespace hone::analyze::device {
namespace {

// A step as letters: f a forward work, b a backward one, w a conversion of 100 elements to f32, n one of them
// back, r the reduction in f32 of 100 elements, t one of 7, | the next step. The optimizer goes over 100
// elements.
struct ReductionProgram {
  trace::Trace trace;
  RankTimeline timeline;
  OperatorUses uses;

  explicit ReductionProgram(std::string_view letters, double updated = 100) {
    add_operator(trace::Phase::kForward, 0);
    add_operator(trace::Phase::kBackward, 0);
    add_operator(trace::Phase::kOptimizer, updated);
    add_conversion(DType::kF32, DType::kBF16);
    add_conversion(DType::kBF16, DType::kF32);
    const trace::TrackId track = trace.add_track({});
    int32_t step = 0;
    for (char letter : letters) {
      if (letter == '|') ++step;
      if (letter == '|') continue;
      Work work;
      work.span = add_span(trace, {.on = track});
      work.step = step;
      if (const std::size_t op = std::string_view("fb wn").find(letter); op != std::string_view::npos) {
        work.op = static_cast<uint32_t>(op);
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
    trace.add_operator(row);
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
    uses.rows.push_back(use);
  }

  void add_conversion(DType to, DType from) {
    trace::Operator row;
    row.kind = "aten::copy_";
    row.phase = trace::Phase::kForward;
    trace.add_operator(row);
    OperatorUse use;
    use.elements = 100;
    for (const DType dtype : {to, from}) {
      trace::CallInput tensor;
      tensor.kind = trace::CallInput::Kind::kTensor;
      tensor.dtype = dtype;
      tensor.dims = {100};
      use.inputs.push_back(tensor);
    }
    uses.rows.push_back(use);
  }

  // The program with an x for each work that a sum in f32 among 16 bits has.
  std::string wide() const {
    std::string text;
    for (const WorkSplit& work : fabricate::found_by(find_wide_sums, trace, timeline, uses))
      text += work.rule == Rule::kWideSums ? 'x' : '-';
    return text;
  }

  long repeated() const {
    const std::vector<WorkSplit> works = fabricate::found_by(find_repeated_reductions, trace, timeline, uses);
    return std::count_if(works.begin(), works.end(),
                         [](const WorkSplit& work) { return work.rule == Rule::kRepeatedReductions; });
  }
};

TEST(RepeatedReductions, AreAllButTheLastPassOfAStep) {
  EXPECT_EQ(ReductionProgram("fbrfbrfbr|fbrfbr").repeated(), 3);
}

TEST(RepeatedReductions, OnePassAStepIsNone) { EXPECT_EQ(ReductionProgram("fbr|fbr|fbr").repeated(), 0); }

TEST(RepeatedReductions, ReductionsOfActivationsAreNone) {
  EXPECT_EQ(ReductionProgram("ftftftbt|ftftftbt").repeated(),
            0);  // not as many elements as the optimizer updates
}

TEST(RepeatedReductions, BucketsOfOnePassBelongTogether) {
  EXPECT_EQ(ReductionProgram("fbttbtt|fbttbtt", 28).repeated(), 0);
  EXPECT_EQ(ReductionProgram("fbttbttfbttbtt", 28).repeated(), 4);
}

TEST(RepeatedReductions, WithoutAnOptimizerNothingIsSaid) {
  EXPECT_EQ(ReductionProgram("fbrfbr", 0).repeated(), 0);
}

TEST(WideSums, AreThoseWhoseDataIsConvertedBeforeOrAfter) {
  EXPECT_EQ(ReductionProgram("fwrnf").wide(), "-xxx-");
  EXPECT_EQ(ReductionProgram("fwrf").wide(), "-xx-");
  EXPECT_EQ(ReductionProgram("frnf").wide(), "-xx-");
  EXPECT_EQ(ReductionProgram("wrnwrn").wide(), "xxxxxx");
}

TEST(WideSums, GradientsThatAreInF32AreNone) { EXPECT_EQ(ReductionProgram("fbrfbr").wide(), "------"); }

TEST(WideSums, ConversionsOfSomethingElseStay) {
  EXPECT_EQ(ReductionProgram("fwtnf").wide(), "-----");  // 7 elements are summed, 100 converted
  EXPECT_EQ(ReductionProgram("wfrfn").wide(), "-----");  // another work stands between
}

}  // namespace
}  // namespace hone::analyze::device

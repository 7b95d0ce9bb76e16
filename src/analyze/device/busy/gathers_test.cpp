#include "analyze/device/busy/gathers.h"

#include <gtest/gtest.h>

#include "analyze/device/testing/hand_made_view.h"
#include "trace/testing/add_span.h"

namespace hone::analyze::device {
namespace {

// A gather of 2 × 100 elements, then works that read `reads` elements each, of class `op_class`, and write
// `writes`. All take 100 µs.
struct GatherProgram {
  trace::Trace trace;
  RankTimeline timeline;
  OperatorUses uses;

  explicit GatherProgram(std::string_view collective = "allgather") {
    track = trace.add_track({});
    Work work;
    work.kind = WorkKind::kCollective;
    work.span = add_span(trace, {.on = track});
    describe_collective(trace, work.span, collective, 100);
    trace.collectives.back().elements_out = 200;
    add(work);
  }

  GatherProgram& then(trace::OperatorClass op_class, double reads, double writes) {
    trace::Operator row;
    row.op_class = op_class;
    row.bytes_read = 4 * reads;
    row.bytes_written = 4 * writes;
    trace.add_operator(row);
    OperatorUse use;
    use.largest_input = reads;
    uses.rows.push_back(use);
    Work work;
    work.op = static_cast<uint32_t>(trace.operators.size() - 1);
    work.span = add_span(trace, {.on = track});
    add(work);
    return *this;
  }

  void add(Work work) {
    work.start_ns = static_cast<int64_t>(timeline.works.size()) * 100'000;
    work.end_ns = work.start_ns + 100'000;
    timeline.launched.push_back(static_cast<uint32_t>(timeline.works.size()));
    timeline.works.push_back(work);
  }

  std::vector<WorkSplit> found() const {
    return fabricate::found_by(find_whole_gathers, trace, timeline, uses);
  }

  trace::TrackId track;
};

using trace::OperatorClass;

TEST(WholeGathers, AreThoseOfWhatIsReducedRightAfter) {
  GatherProgram made;
  const std::vector<WorkSplit> works = made.then(OperatorClass::kReduction, 200, 2).found();
  for (const WorkSplit& split : works) {
    EXPECT_EQ(split.cause(), Cause::kComm);
    EXPECT_EQ(split.rule, Rule::kWholeGathers);
  }
  EXPECT_EQ(works[0].target_ns, 20'000);  // a hundredth is left to carry, but no gather is that short
  EXPECT_EQ(works[1].target_ns, 50'000);  // over this rank's half
}

TEST(WholeGathers, AreFoundBehindWorksOnOtherTensors) {
  GatherProgram made;
  made.then(OperatorClass::kPointwise, 7, 7).then(OperatorClass::kReduction, 200, 2);
  EXPECT_EQ(made.found()[0].rule, Rule::kWholeGathers);
  EXPECT_EQ(made.found()[1].rule, Rule::kFloor);
}

TEST(WholeGathers, AreNotThoseThatAreReadOtherwiseFirst) {
  GatherProgram made;
  made.then(OperatorClass::kPointwise, 200, 200).then(OperatorClass::kReduction, 200, 2);
  for (const WorkSplit& split : made.found()) EXPECT_EQ(split.rule, Rule::kFloor);
}

TEST(WholeGathers, AreNotThoseOfWhichMuchIsLeft) {
  GatherProgram made;
  for (const WorkSplit& split : made.then(OperatorClass::kReduction, 200, 50).found())
    EXPECT_EQ(split.rule, Rule::kFloor);
}

TEST(WholeGathers, AreNoSums) {
  GatherProgram made("allreduce");
  for (const WorkSplit& split : made.then(OperatorClass::kReduction, 200, 2).found())
    EXPECT_EQ(split.rule, Rule::kFloor);
}

}  // namespace
}  // namespace hone::analyze::device

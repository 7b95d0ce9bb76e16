#include "analyze/device/busy/gathers.h"

#include <gtest/gtest.h>

#include "trace/testing/add_span.h"

namespace hone::analyze::device {
namespace {

// A gather of 2 × 100 elements, then works that read `reads` elements each, of class `op_class`, and write
// `writes`. All take 100 µs.
struct GatherProgram {
  trace::Trace trace;
  RankTimeline timeline;
  BusySplit split;

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
    trace.operators.push_back(row);
    OperatorUse use;
    use.largest_input = reads;
    split.uses.rows.push_back(use);
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

  const std::vector<WorkSplit>& marked() {
    split.works.resize(timeline.works.size());
    mark_whole_gathers(trace, timeline, split);
    return split.works;
  }

  trace::TrackId track;
};

using trace::OperatorClass;

TEST(WholeGathers, AreThoseOfWhatIsReducedRightAfter) {
  GatherProgram made;
  const std::vector<WorkSplit>& works = made.then(OperatorClass::kReduction, 200, 2).marked();
  for (const WorkSplit& split : works) {
    EXPECT_EQ(split.cause, Cause::kComm);
    EXPECT_EQ(split.reason, Reason::kWholeGather);
  }
  EXPECT_EQ(works[0].target_ns, 20'000);  // a hundredth is left to carry, but no gather is that short
  EXPECT_EQ(works[1].target_ns, 50'000);  // over this rank's half
}

TEST(WholeGathers, AreFoundBehindWorksOnOtherTensors) {
  GatherProgram made;
  made.then(OperatorClass::kPointwise, 7, 7).then(OperatorClass::kReduction, 200, 2);
  EXPECT_EQ(made.marked()[0].reason, Reason::kWholeGather);
  EXPECT_EQ(made.marked()[1].reason, Reason::kNone);
}

TEST(WholeGathers, AreNotThoseThatAreReadOtherwiseFirst) {
  GatherProgram made;
  made.then(OperatorClass::kPointwise, 200, 200).then(OperatorClass::kReduction, 200, 2);
  for (const WorkSplit& split : made.marked()) EXPECT_EQ(split.reason, Reason::kNone);
}

TEST(WholeGathers, AreNotThoseOfWhichMuchIsLeft) {
  GatherProgram made;
  for (const WorkSplit& split : made.then(OperatorClass::kReduction, 200, 50).marked())
    EXPECT_EQ(split.reason, Reason::kNone);
}

TEST(WholeGathers, AreNoSums) {
  GatherProgram made("allreduce");
  for (const WorkSplit& split : made.then(OperatorClass::kReduction, 200, 2).marked())
    EXPECT_EQ(split.reason, Reason::kNone);
}

}  // namespace
}  // namespace hone::analyze::device

#include "trace/import/segments/reader.h"

#include <array>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/testing/scratch_path.h"
#include "trace/import/import.h"
#include "trace/link/link.h"
#include "trace/link/steps.h"
#include "trace/testing/segment_writer.h"

namespace hone::trace::segments {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int64_t kUs = 1000;

SegmentFile segment_of(const SegmentWriter& writer) {
  Result<SegmentFile> segment = read_segment(writer.bytes());
  EXPECT_TRUE(segment.ok()) << (segment.ok() ? "" : segment.error().message);
  if (!segment.ok()) return {};
  const Status valid = segment->file.trace.validate();
  EXPECT_TRUE(valid.ok()) << valid.error().message;
  return std::move(*segment);
}

Trace trace_of(const SegmentWriter& writer) { return std::move(segment_of(writer).file.trace); }

// The row of the span with that name; the table's size: there is none.
uint32_t row_named(const Trace& trace, std::string_view name) {
  for (uint32_t row = 0; row < trace.spans.size(); ++row)
    if (trace.strings.text(trace.spans.name[row]) == name) return row;
  return static_cast<uint32_t>(trace.spans.size());
}

std::string kind_of_caller(const Trace& trace, std::string_view kernel) {
  const uint32_t row = row_named(trace, kernel);
  if (row == trace.spans.size() || !trace.spans.op[row].valid()) return {};
  return trace.operators[trace.spans.op[row].index].kind;
}

TEST(Segments, AKernelIsASpanOfItsStreamWithItsLaunchAndItsNameInCpp) {
  SegmentWriter writer;
  Kernel kernel = writer.kernel("_Z4gemmIfEvi", 5000, 3000, 11);
  kernel.registers = 64;
  kernel.static_shared = 1024;
  kernel.dynamic_shared = 2048;
  writer.add(kernel);
  const Trace trace = trace_of(writer);
  ASSERT_EQ(trace.spans.size(), 1u);
  const Span span = trace.spans.row(0);
  EXPECT_EQ(trace.name(span), "void gemm<float>(int)");
  EXPECT_EQ(span.category, Category::kKernel);
  EXPECT_EQ(span.start_ns, 0);
  EXPECT_EQ(span.duration_ns, 3000);
  EXPECT_EQ(span.correlation, 11u);
  const Track& track = trace.tracks[span.track.index];
  EXPECT_EQ(track.kind, TrackKind::kStream);
  EXPECT_EQ(track.device, 0);
  EXPECT_EQ(track.tid, 7);
  ASSERT_EQ(trace.launches.size(), 1u);
  EXPECT_THAT(trace.launches[0].grid, ElementsAre(132, 1, 1));
  EXPECT_THAT(trace.launches[0].block, ElementsAre(256, 1, 1));
  EXPECT_EQ(trace.launches[0].registers, 64u);
  EXPECT_EQ(trace.launches[0].shared_bytes, 3072u);
}

TEST(Segments, SamplesOfADeviceBecomeOneSeries) {
  SegmentWriter writer;
  writer.add(writer.kernel("a", 1000, 100, 1));
  writer.samples(0, {"sm__cycles_active", "dram__bytes"}, {{2000, 2050, {50, 1e9}}, {2050, 2100, {75, 2e9}}});
  writer.samples(1, {"sm__cycles_active"}, {{2000, 2100, {1}}});
  writer.samples(0, {"sm__cycles_active", "dram__bytes"}, {{2040, 2060, {1, 1}}, {2100, 2150, {0, 3e9}}});
  const Trace trace = trace_of(writer);
  ASSERT_EQ(trace.samples.size(), 2u);
  EXPECT_EQ(trace.samples[0].device, 0);
  EXPECT_EQ(trace.strings.text(trace.samples[0].metrics[1]), "dram__bytes");
  EXPECT_THAT(trace.samples[0].start_ns, ElementsAre(1000, 1050, 1100));
  EXPECT_THAT(trace.samples[0].end_ns, ElementsAre(1050, 1100, 1150));
  EXPECT_THAT(trace.samples[0].values, ElementsAre(50, 1e9, 75, 2e9, 0, 3e9));
  EXPECT_EQ(trace.samples[1].size(), 1u);
}

TEST(Segments, SamplesThatAreShorterThanTheySayAreLeftOut) {
  SegmentWriter writer;
  writer.add(writer.kernel("a", 1000, 100, 1));
  DeviceSamples record;
  record.metrics = 1;
  record.samples = 2;
  writer.add(record, std::string(8 + 24, 'x'));
  record.metrics = 4'000'000'000;
  writer.add(record, std::string(64, 'x'));
  const Trace trace = trace_of(writer);
  EXPECT_THAT(trace.samples, IsEmpty());
  EXPECT_EQ(trace.meta.lost, 2u);
}

TEST(Segments, CopiesSayFromWhereToWhere) {
  SegmentWriter writer;
  Copy copy;
  copy.start_ns = 10, copy.end_ns = 20;
  copy.bytes = 4096;
  copy.copy_kind = 1, copy.from = 1, copy.to = 3;  // pageable to device
  Set set;
  set.start_ns = 30, set.end_ns = 40;
  set.bytes = 512;
  const Trace trace = trace_of(writer.add(copy).add(set));
  ASSERT_EQ(trace.copies.size(), 2u);
  EXPECT_EQ(trace.name(trace.spans.row(0)), "Memcpy HtoD");
  EXPECT_EQ(trace.copies[0].from, MemoryKind::kPageable);
  EXPECT_EQ(trace.copies[0].to, MemoryKind::kDevice);
  EXPECT_EQ(trace.copies[0].bytes, 4096);
  EXPECT_EQ(trace.spans.category[1], Category::kMemset);
  EXPECT_EQ(trace.copies[1].bytes, 512);
}

TEST(Segments, CallsAreOfTheirThreadAndWaitsOfTheirStream) {
  SegmentWriter writer;
  Thread thread;
  thread.tid = 101;
  thread.name = writer.name("trainer");
  Synchronization wait;
  wait.start_ns = 500, wait.end_ns = 900;
  wait.type = 3;
  wait.stream = 7;
  writer.add(thread)
      .add(writer.call("cudaLaunchKernel", 100, 10, 1))
      .add(writer.call("cudaStreamSynchronize", 400, 600, 2))
      .add(writer.call("cudaMalloc", 2000, 10, 3))
      .add(wait);
  const Trace trace = trace_of(writer);
  EXPECT_THAT(trace.spans.category, ElementsAre(Category::kRuntime, Category::kSynchronization,
                                                Category::kSynchronization, Category::kAllocation));
  EXPECT_EQ(trace.tracks[trace.spans.track[0].index].name, "trainer");
  EXPECT_EQ(trace.name(trace.spans.row(2)), "Stream Sync");
  EXPECT_EQ(trace.tracks[trace.spans.track[2].index].kind, TrackKind::kStream);
}

TEST(Segments, RangesAreOperatorsWithTheirInputsRegionsAndFunctions) {
  SegmentWriter writer;
  Range op = writer.range(RangeKind::kOperator, "aten::mm", 100, 50, "f32[8,4];f32[4,2]");
  op.sequence = 17;
  writer.add(op)
      .add(writer.range(RangeKind::kModule, "Linear_0", 200, 10))
      .add(writer.range(RangeKind::kPythonFunction, "train.py(12): step", 300, 10))
      .add(writer.range(RangeKind::kNvtx, "aten::relu, seq = 3, op_id = 4, sizes = [[8, 2]]", 400, 10))
      .add(writer.range(RangeKind::kNvtx, "epoch", 500, 10));
  const Trace trace = trace_of(writer);
  EXPECT_THAT(trace.spans.category, ElementsAre(Category::kOperator, Category::kRegion, Category::kFunction,
                                                Category::kOperator, Category::kRegion));
  ASSERT_EQ(trace.calls.size(), 2u);
  EXPECT_EQ(trace.strings.text(trace.calls[0].inputs), "f32[8,4];f32[4,2]");
  EXPECT_EQ(trace.calls[0].sequence, 17);
  EXPECT_EQ(trace.name(trace.spans.row(3)), "aten::relu");
  EXPECT_EQ(trace.calls[1].sequence, 3);
}

TEST(Segments, HasTheStacksThatThreadsSampledInside) {
  SegmentWriter writer(100);
  Sample sample;
  sample.time_ns = 150;
  sample.tid = 100;
  sample.frames = 2;
  const std::array<uint32_t, 2> frames = {writer.name("step (/home/anna/train.py:40)"),
                                          writer.name("<module> (/home/anna/train.py:90)")};
  writer.add(sample, {reinterpret_cast<const char*>(frames.data()), sizeof(frames)})
      .add(writer.range(RangeKind::kAnnotation, "epoch", 100, 10));
  const Trace trace = trace_of(writer);
  ASSERT_EQ(trace.stacks.samples.size(), 1u);
  const StackSample& row = trace.stacks.samples[0];
  EXPECT_EQ(row.time_ns, 50);
  EXPECT_EQ(trace.tracks[row.track.index].tid, 100);
  ASSERT_EQ(trace.stacks.python(row).size(), 2u);
  const Frame& innermost = trace.stacks.frames[trace.stacks.python(row)[0].index];
  EXPECT_EQ(trace.strings.text(innermost.function), "step");
  EXPECT_EQ(innermost.line, 40);
}

TEST(Segments, ARangeThatNeverEndedEndsWithTheFile) {
  SegmentWriter writer;
  Range open = writer.range(RangeKind::kAnnotation, "epoch", 100, 0);
  open.end_ns = 0;
  writer.add(open).add(writer.call("cudaLaunchKernel", 900, 100, 1));
  EXPECT_EQ(trace_of(writer).spans.duration_ns[0], 900);
}

TEST(Segments, WorkBelongsToTheOperatorThatWasOpenAroundItsLaunch) {
  SegmentWriter writer;
  writer.add(writer.kernel("gemm", 9000, 1000, 1))
      .add(writer.kernel("relu", 11000, 1000, 2))
      .add(writer.kernel("nobody's", 13000, 1000, 3))
      .add(writer.call("cudaLaunchKernel", 150, 10, 1))
      .add(writer.call("cudaLaunchKernel", 350, 10, 2))
      .add(writer.range(RangeKind::kOperator, "aten::mm", 110, 60))
      .add(writer.range(RangeKind::kOperator, "aten::linear", 100, 100))
      .add(writer.range(RangeKind::kOperator, "aten::relu", 300, 100));
  Trace trace = trace_of(writer);
  ASSERT_TRUE(link_trace(trace).ok());
  EXPECT_EQ(kind_of_caller(trace, "gemm"), "aten::mm");
  EXPECT_EQ(kind_of_caller(trace, "relu"), "aten::relu");
  EXPECT_EQ(kind_of_caller(trace, "nobody's"), "");  // no call was recorded for it
}

TEST(Segments, KernelsOfAReplayedGraphKeepTheOperatorOfTheirCapture) {
  SegmentWriter writer;
  const auto node = [](uint64_t id, uint64_t original, int64_t time_ns) {
    GraphNode record;
    record.node = id;
    record.original = original;
    record.tid = 101;
    record.time_ns = time_ns;
    return record;
  };
  Kernel gemm = writer.kernel("gemm", 9000, 1000, 1), relu = writer.kernel("relu", 11000, 1000, 1);
  gemm.graph_node = 101, relu.graph_node = 202;
  writer.add(gemm).add(relu);
  writer.add(writer.call("cudaGraphLaunch", 5000, 100, 1));
  writer.add(writer.range(RangeKind::kOperator, "CompiledFunction", 4900, 300));
  writer.add(writer.range(RangeKind::kOperator, "aten::mm", 100, 50));
  writer.add(writer.range(RangeKind::kOperator, "aten::relu", 200, 50));
  writer.add(node(1, 0, 120)).add(node(2, 0, 220)).add(node(102, 2, 4950)).add(node(101, 1, 4950));
  writer.add(node(202, 0, 4960)).add(node(202, 102, 4960));  // a clone of a clone, which CUPTI tells of twice
  Trace trace = trace_of(writer);
  ASSERT_TRUE(link_trace(trace).ok());
  EXPECT_EQ(kind_of_caller(trace, "gemm"), "aten::mm");
  EXPECT_EQ(kind_of_caller(trace, "relu"), "aten::relu");
}

TEST(Segments, DevicesRanksAndTheProcessAreToldOfTheHeaderAndTheRecords) {
  SegmentWriter writer(4711);
  writer.header().rank = 3;
  writer.header().world_size = 8;
  Process process;
  process.executable = writer.name("/usr/bin/python3");
  Device device;
  device.name = writer.name("NVIDIA H200");
  device.compute_major = 9;
  device.multiprocessors = 132;
  device.memory_bytes = 150'000'000'000;
  writer.add(process).add(device).add(writer.kernel("gemm", 10, 10, 1));
  const SegmentFile segment = segment_of(writer);
  const Trace& trace = segment.file.trace;
  EXPECT_EQ(segment.file.rank, 3);
  EXPECT_EQ(trace.meta.ranks.at(0).world_size, 8);
  EXPECT_EQ(trace.tracks.at(0).name, "python3");
  EXPECT_EQ(trace.tracks.at(0).pid, 4711);
  ASSERT_EQ(trace.meta.devices.size(), 1u);
  EXPECT_EQ(trace.meta.devices[0].name, "NVIDIA H200");
  EXPECT_EQ(trace.meta.devices[0].multiprocessors, 132);
  EXPECT_TRUE(segment.file.has_epoch);
  EXPECT_EQ(segment.file.epoch_ns, 1'790'000'000'000'000'000 - 1'000'000 + 10);
}

TEST(Segments, NotesAreWarningsOnceEachAndDroppedRecordsAreCounted) {
  SegmentWriter writer;
  Dropped dropped;
  dropped.records = 3;
  writer.add(dropped).add(dropped).note("CUPTI is taken").note("CUPTI is taken").note("no permission");
  writer.add(writer.kernel("gemm", 10, 10, 1));
  const Trace trace = trace_of(writer);
  EXPECT_EQ(trace.meta.dropped, 6u);
  EXPECT_THAT(trace.meta.warnings, ElementsAre("CUPTI is taken", "no permission"));
}

TEST(Segments, CountersStandForTheLaunchesOfTheirKernel) {
  SegmentWriter writer;
  Kernel kernel = writer.kernel("_Z4gemmIfEvi", 5000, 3000, 11);
  kernel.registers = 64;
  kernel.dynamic_shared = 2048;
  writer.add(kernel);
  Counters counters;
  counters.name = kernel.name;
  counters.grid = kernel.grid;
  counters.block = kernel.block;
  counters.instance = 2;
  counters.passes = 5;
  counters.values = 2;
  const std::array<CounterValue, 2> values = {
      {{writer.name("dram__bytes_read.sum"), 0, 4096}, {writer.name("gpu__time_duration.sum"), 0, 2500}}};
  writer.add(counters, {reinterpret_cast<const char*>(values.data()), sizeof(values)});
  counters.values = 1000;  // more than follow
  writer.add(counters);
  const Trace trace = trace_of(writer);
  ASSERT_EQ(trace.counters.size(), 1u);
  const KernelCounters& row = trace.counters[0];
  EXPECT_EQ(row.kernel, trace.spans.name[0]);
  EXPECT_THAT(row.grid, ElementsAre(132, 1, 1));
  EXPECT_EQ(row.registers, 64u);
  EXPECT_EQ(row.shared_bytes, 2048u);
  EXPECT_EQ(row.instance, 2u);
  EXPECT_EQ(row.passes, 5u);
  EXPECT_EQ(counter_value(row, trace.strings, "dram__bytes_read.sum"), 4096);
  EXPECT_EQ(counter_value(row, trace.strings, "gpu__time_duration.sum"), 2500);
  EXPECT_EQ(trace.meta.lost, 1u);
}

TEST(Segments, BlocksAndMarksAreOnTheClockOfTheTrace) {
  SegmentWriter writer;
  writer.mode(Mode::kWaiting, 0, 100)
      .mode(Mode::kLeftAlone, 1, 1000, 5)
      .mark(MarkKind::kOptimizer, "AdamW", 1500, 9);
  writer.mode(Mode::kTimeline, 2, 2000, 11).add(writer.kernel("gemm", 2500, 100, 1));
  writer.mode(Mode::kFinished, 0, 3000, 14);
  const Meta meta = trace_of(writer).meta;
  EXPECT_THAT(meta.blocks, ElementsAre(RecordingBlock{0, 1, BlockMode::kUntouched, -1500, -500, 5, 11},
                                       RecordingBlock{0, 2, BlockMode::kTimeline, -500, 500, 11, 14}));
  EXPECT_THAT(meta.marks, ElementsAre(StepMark{0, StepMarkKind::kOptimizer, "AdamW", -1000, 101, 9}));
  EXPECT_FALSE(meta.cut_off);
}

// Written again as batches come: the last counts.
TEST(Segments, EpochsOfDataLoadersAreOnTheClockOfTheTrace) {
  SegmentWriter writer;
  Loader loader;
  loader.start_ns = 1500, loader.loader = 1, loader.workers = 4, loader.prefetch = 2, loader.forked = 1;
  loader.batches = 8, loader.batch_size = 64, loader.delivered = 1, loader.starting_ns = 90;
  loader.ending_ns = 40, loader.cpus = 16, loader.cores = 8;
  writer.mode(Mode::kTimeline, 2, 2000, 11).add(loader).add(writer.kernel("gemm", 2500, 100, 1));
  loader.delivered = 8, loader.cpu_ns = 777;
  writer.add(loader);
  loader.start_ns = 9000, loader.delivered = -5, loader.batches = -9;
  writer.add(loader).mode(Mode::kFinished, 0, 3000, 14);
  LoaderEpoch first{0, 1, 4, 2, false, true, 8, 64, -1000, 8, 90, 40, 777, 16, 8}, second = first;
  second.start_ns = 6500, second.delivered = 0, second.batches = -1;
  EXPECT_THAT(trace_of(writer).meta.loaders, ElementsAre(first, second));
}

// As when the program still imports what it needs.
TEST(Segments, ALookThatFoundNothingLeavesTheProgramUntouched) {
  SegmentWriter writer;
  writer.mode(Mode::kTimeline, kFirstLook, 1000).mode(Mode::kWaiting, kFirstLook, 2000);
  writer.mode(Mode::kLeftAlone, 1, 3000).mode(Mode::kTimeline, 2, 4000);
  writer.add(writer.kernel("gemm", 4500, 100, 1)).mode(Mode::kFinished, 3, 5000);
  EXPECT_THAT(trace_of(writer).meta.blocks,
              ElementsAre(RecordingBlock{0, 1, BlockMode::kUntouched, -1500, -500},
                          RecordingBlock{0, 2, BlockMode::kTimeline, -500, 500}));
}

TEST(Segments, TheFirstLookCountsWhereNothingElseWasRecorded) {
  SegmentWriter writer;
  writer.mode(Mode::kLeftAlone, 1, 1000).mode(Mode::kTimeline, kFirstLook, 2000);
  writer.add(writer.kernel("gemm", 2500, 100, 1)).mode(Mode::kWaiting, kFirstLook, 3000);
  EXPECT_THAT(trace_of(writer).meta.blocks,
              ElementsAre(RecordingBlock{0, 1, BlockMode::kUntouched, -1500, -500},
                          RecordingBlock{0, kFirstLook, BlockMode::kTimeline, -500, 500}));
  writer.mode(Mode::kLeftAlone, 2, 3500).mode(Mode::kTimeline, 3, 4000).mode(Mode::kFinished, 4, 5000);
  EXPECT_THAT(trace_of(writer).meta.blocks,
              ElementsAre(RecordingBlock{0, 1, BlockMode::kUntouched, -1500, -500},
                          RecordingBlock{0, 2, BlockMode::kLeftAlone, 1000, 1500},
                          RecordingBlock{0, 3, BlockMode::kTimeline, 1500, 2500}));
}

TEST(Segments, AProgramThatWasKilledWhileItWasRecordedIsCutOff) {
  SegmentWriter writer;
  writer.mode(Mode::kTimeline, 2, 2000).add(writer.kernel("gemm", 2500, 100, 1));
  EXPECT_TRUE(trace_of(writer).meta.cut_off);
  writer.mode(Mode::kLeftAlone, 3, 2700);
  EXPECT_FALSE(trace_of(writer).meta.cut_off);
}

class SegmentsFolder : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::remove_all(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Result<Trace> read() {
    const std::vector<std::filesystem::path> paths = {folder_};
    return import_trace(paths);
  }
  void add(int32_t pid, int32_t parent, int rank, int64_t start_ns = 5000) {
    SegmentWriter writer(pid, parent);
    writer.header().rank = rank;
    writer.header().world_size = 2;
    writer.add(writer.kernel("gemm", start_ns + pid, 100 * kUs, 1)).write(folder_);
  }

  const std::filesystem::path folder_ = scratch_path("segments");
};

TEST_F(SegmentsFolder, ProcessesAreTheRanksThatTheySay) {
  add(102, 50, 1);
  add(101, 50, 0);
  const Result<Trace> trace = read();
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  ASSERT_EQ(trace->meta.ranks.size(), 2u);
  EXPECT_EQ(trace->meta.ranks[0].source, "101-1000000.seg");
  EXPECT_EQ(trace->meta.ranks[1].rank, 1);
  EXPECT_THAT(trace->meta.warnings, IsEmpty());
}

TEST_F(SegmentsFolder, LaunchersAndWorkersWithoutADeviceAreNoRanks) {
  add(101, 50, 0);
  SegmentWriter launcher(50), worker(103, 101), empty(104, 101);
  launcher.add(launcher.range(RangeKind::kAnnotation, "waiting", 100, 900 * kUs)).write(folder_);
  worker.header().rank = 0;
  worker.add(worker.range(RangeKind::kOperator, "aten::stack", 6000, 100)).write(folder_);
  empty.write(folder_);
  const Result<Trace> trace = read();
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  EXPECT_EQ(trace->meta.ranks.size(), 1u);
  EXPECT_EQ(trace->spans.size(), 1u);
}

TEST_F(SegmentsFolder, WithoutADeviceTheProcessThatCallsOperatorsAndStartsTheOthersIsTheProgram) {
  SegmentWriter shell(50), program(101, 50), worker(102, 101);
  shell.add(shell.range(RangeKind::kAnnotation, "waiting", 100, 900 * kUs)).write(folder_);
  program.add(program.range(RangeKind::kOperator, "aten::mm", 6000, 100)).write(folder_);
  worker.add(worker.range(RangeKind::kOperator, "aten::stack", 6000, 100)).write(folder_);
  const Result<Trace> trace = read();
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  ASSERT_EQ(trace->spans.size(), 1u);
  EXPECT_EQ(trace->name(trace->spans.row(0)), "aten::mm");
}

TEST_F(SegmentsFolder, OfProgramsThatRanOneAfterTheOtherTheOneWithMostWorkIsRead) {
  add(101, 50, -1);
  SegmentWriter second(102, 50);
  second.add(second.kernel("gemm", 9'000'000, 100, 1))
      .add(second.kernel("relu", 9'000'100, 100, 2))
      .write(folder_);
  const Result<Trace> trace = read();
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  EXPECT_EQ(trace->spans.size(), 2u);
  EXPECT_THAT(trace->meta.warnings, ElementsAre(HasSubstr("before or after")));
}

TEST_F(SegmentsFolder, AFolderInWhichNothingWasRecordedSaysSo) {
  SegmentWriter(101).write(folder_);
  const Result<Trace> trace = read();
  ASSERT_FALSE(trace.ok());
  EXPECT_THAT(trace.error().message, HasSubstr("nothing was recorded"));
}

}  // namespace
}  // namespace hone::trace::segments

// The recorder inside a program, from outside: what its segment says, and that the program does not notice.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <set>
#include <thread>

#include "tests/observe/observed_program.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/import/import.h"
#include "trace/link/link.h"

namespace hone::observe::testing {
namespace {

namespace segments = trace::segments;
using segments::Mode;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

RawSegment only_segment(const RunFolder& folder) {
  const auto found = read_raw_segments(folder.path());
  EXPECT_EQ(found.size(), 1u);
  return found.empty() ? RawSegment() : found[0];
}

TEST(Recorder, SaysWhoTheProcessIs) {
  RunFolder folder;
  ObservedProgram program(folder, {{"RANK", "3"}, {"WORLD_SIZE", "8"}, {"LOCAL_RANK", "1"}});
  program.perform("init");
  EXPECT_EQ(program.wait(), 0);
  const RawSegment segment = only_segment(folder);
  EXPECT_TRUE(segment.whole);
  EXPECT_EQ(segment.header.pid, program.pid());
  EXPECT_EQ(segment.header.parent_pid, getpid());
  EXPECT_EQ(segment.header.rank, 3);
  EXPECT_EQ(segment.header.world_size, 8);
  EXPECT_EQ(segment.header.local_rank, 1);
  EXPECT_EQ(segment.header.forked, 0u);
  EXPECT_THAT(segment.names_of(&segments::Process::command), ElementsAre("fake_cuda_program an argument"));
  EXPECT_EQ(program.slot()->attachment, Attachment::kEnded);
}

TEST(Recorder, WritesDeviceWorkAndTheCallsThatLaunchItWhileATimelineIsOrdered) {
  RunFolder folder;
  ObservedProgram program(folder);
  program.perform("init");
  program.perform("launch 5");
  ASSERT_TRUE(program.order(Mode::kTimeline));
  for (const char* line : {"launch 3", "ask", "copy", "sync"}) program.perform(line);
  ASSERT_TRUE(program.order(Mode::kLeftAlone));
  program.perform("launch 7");
  EXPECT_EQ(program.wait(), 0);

  const RawSegment segment = only_segment(folder);
  EXPECT_TRUE(segment.whole);
  const auto kernels = segment.all<segments::Kernel>();
  ASSERT_THAT(kernels, SizeIs(3));
  EXPECT_EQ(segment.name(kernels[0].name), "a_kernel");
  EXPECT_THAT(kernels[0].grid, ElementsAre(4, 1, 1));
  EXPECT_THAT(kernels[0].block, ElementsAre(128, 1, 1));
  EXPECT_EQ(kernels[0].registers, 32u);
  EXPECT_EQ(kernels[0].stream, 7u);
  EXPECT_EQ(kernels[0].end_ns - kernels[0].start_ns, 1000);
  EXPECT_THAT(segment.names_of(&segments::ApiCall::name),
              ElementsAre("cudaLaunchKernel", "cudaLaunchKernel", "cudaLaunchKernel", "cudaMemcpyAsync",
                          "cudaDeviceSynchronize"));
  const auto calls = segment.all<segments::ApiCall>();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(calls[i].correlation, kernels[i].correlation);
  EXPECT_EQ(calls[0].tid, program.pid());
  EXPECT_THAT(segment.all<segments::Copy>(), SizeIs(1));
  EXPECT_THAT(segment.all<segments::Synchronization>(), SizeIs(1));
  EXPECT_THAT(segment.names_of(&segments::Thread::name), Contains("fake_cuda_progr"));
  const auto modes = segment.all<segments::ModeChange>();
  ASSERT_GE(modes.size(), 3u);
  const auto& timeline = modes[modes.size() - 3];
  const auto& delivery = modes[modes.size() - 2];
  EXPECT_EQ(timeline.mode, Mode::kTimeline);
  EXPECT_EQ(delivery.mode, Mode::kWaiting);
  EXPECT_EQ(modes.back().mode, Mode::kLeftAlone);
  EXPECT_LT(timeline.time_ns, kernels[0].start_ns);
  EXPECT_GT(delivery.time_ns, kernels[2].end_ns);
  EXPECT_GE(modes.back().time_ns, delivery.time_ns);
  EXPECT_THAT(segment.notes(), IsEmpty());
  EXPECT_THAT(segment.all<segments::Dropped>(), IsEmpty());
}

TEST(Recorder, WritesCopiesBetweenDevicesSetsAndAllocations) {
  RunFolder folder;
  ObservedProgram program(folder);
  program.perform("init");
  ASSERT_TRUE(program.order(Mode::kTimeline));
  for (const char* line : {"copy", "peer", "set", "allocate"}) program.perform(line);
  EXPECT_EQ(program.wait(), 0);
  const RawSegment segment = only_segment(folder);
  const auto calls = segment.all<segments::ApiCall>();
  EXPECT_THAT(segment.names_of(&segments::ApiCall::name),
              ElementsAre("cudaMemcpyAsync", "cudaMemcpyPeerAsync", "cudaMemsetAsync", "cudaMalloc"));
  const auto copies = segment.all<segments::Copy>();
  ASSERT_THAT(copies, SizeIs(2));
  EXPECT_EQ(copies[0].bytes, 4096u);
  EXPECT_EQ(copies[0].copy_kind, 1);
  EXPECT_EQ(copies[0].correlation, calls[0].correlation);
  EXPECT_EQ(copies[1].bytes, 8192u);
  EXPECT_EQ(copies[1].device, 0u);
  EXPECT_EQ(copies[1].peer_device, 1u);
  EXPECT_EQ(copies[1].end_ns - copies[1].start_ns, 700);
  const auto sets = segment.all<segments::Set>();
  ASSERT_THAT(sets, SizeIs(1));
  EXPECT_EQ(sets[0].bytes, 512u);
  EXPECT_EQ(sets[0].correlation, calls[2].correlation);
  const auto memory = segment.all<segments::Memory>();
  ASSERT_THAT(memory, SizeIs(1));
  EXPECT_EQ(memory[0].operation, segments::MemoryOperation::kAllocate);
  EXPECT_EQ(memory[0].bytes, 1u << 20);
  EXPECT_EQ(memory[0].address, 0x7000u);
}

TEST(Recorder, WaitsAtTheEndOfABlockForWhatTheDeviceIsStillDoing) {
  RunFolder folder;
  ObservedProgram program(folder, {{"FAKE_CUPTI", "late"}});
  program.perform("init");
  ASSERT_TRUE(program.order(Mode::kTimeline));
  program.perform("launch 3");
  ASSERT_TRUE(program.order(Mode::kLeftAlone));
  EXPECT_EQ(program.wait(), 0);
  const RawSegment segment = only_segment(folder);
  EXPECT_THAT(segment.all<segments::Kernel>(), SizeIs(3));
  EXPECT_THAT(segment.all<segments::Dropped>(), IsEmpty());
}

TEST(Recorder, RecordsEveryOrderedBlockAndNumbersLaunchesOn) {
  RunFolder folder;
  ObservedProgram program(folder);
  program.perform("init");
  for (int block = 0; block < 3; ++block) {
    ASSERT_TRUE(program.order(Mode::kTimeline));
    program.perform("launch 4");
    ASSERT_TRUE(program.order(Mode::kLeftAlone));
    program.perform("launch 4");
  }
  EXPECT_EQ(program.wait(), 0);
  const RawSegment segment = only_segment(folder);
  std::set<uint32_t> correlations;
  for (const auto& kernel : segment.all<segments::Kernel>()) correlations.insert(kernel.correlation);
  EXPECT_THAT(correlations, SizeIs(12));
  // What is launched in blocks left alone is counted, too.
  const auto modes = segment.all<segments::ModeChange>();
  int left_alone = 0;
  for (size_t i = 0; i + 1 < modes.size(); ++i) {
    if (modes[i].mode != Mode::kLeftAlone || modes[i + 1].mode != Mode::kTimeline) continue;
    ++left_alone;
    EXPECT_GT(modes[i].launches, 0u);
    EXPECT_EQ(modes[i + 1].launches - modes[i].launches, 4u);
  }
  EXPECT_EQ(left_alone, 2);
}

TEST(Recorder, HavingLentCuptiRecordsAgainUnderNewNumbers) {
  RunFolder folder;
  ObservedProgram program(folder);
  program.perform("init");
  ASSERT_TRUE(program.order(Mode::kTimeline));
  program.perform("launch 4");
  program.perform("leave");
  program.perform("return");
  ASSERT_TRUE(program.order(Mode::kLeftAlone));
  ASSERT_TRUE(program.order(Mode::kTimeline));
  program.perform("launch 4");
  EXPECT_EQ(program.wait(), 0);
  const auto kernels = only_segment(folder).all<segments::Kernel>();
  ASSERT_THAT(kernels, SizeIs(8));
  std::set<uint32_t> correlations;
  for (const auto& kernel : kernels) correlations.insert(kernel.correlation);
  EXPECT_THAT(correlations, SizeIs(8));
}

TEST(Recorder, ChangesCuptiBesideNoCallOfTheProgram) {
  RunFolder folder;
  ObservedProgram program(folder);
  program.perform("init");
  program.perform("busy 3000");
  for (int block = 0; block < 5; ++block) {
    ASSERT_TRUE(program.order(Mode::kTimeline));
    ASSERT_TRUE(program.order(Mode::kLeftAlone));
  }
  ASSERT_TRUE(program.order(Mode::kFinished));
  program.perform("join");
  EXPECT_EQ(program.perform("beside"), "beside 0\nok\n");
  EXPECT_EQ(program.wait(), 0);
  const auto kernels = only_segment(folder).all<segments::Kernel>();
  EXPECT_THAT(kernels, SizeIs(Gt(10)));
  std::set<uint32_t> correlations;
  for (const auto& kernel : kernels) correlations.insert(kernel.correlation);
  EXPECT_EQ(correlations.size(), kernels.size());
}

TEST(Recorder, ChangesCuptiItselfWhereTheProgramMakesNoCalls) {
  RunFolder folder;
  ObservedProgram program(folder);
  program.perform("init");
  ASSERT_TRUE(program.order(Mode::kTimeline));
  program.perform("launch 4");
  ASSERT_TRUE(program.order(Mode::kFinished));
  program.perform("launch 3");
  EXPECT_EQ(program.wait(), 0);
  EXPECT_THAT(only_segment(folder).all<segments::Kernel>(), SizeIs(4));
}

TEST(Recorder, AttachesToProgramsWithoutPythonBeforeTheirFirstCall) {
  RunFolder folder;
  ObservedProgram program(folder);
  EXPECT_EQ(program.perform("beside"), "beside -1\nok\n");  // no CUPTI is there
  program.perform("init");
  EXPECT_EQ(program.perform("beside"), "beside 0\nok\n");
  EXPECT_EQ(program.wait(), 0);
}

TEST(Recorder, LeavesCuptiToProgramsThatHaveItThemselves) {
  RunFolder folder;
  ObservedProgram program(folder, {{"LD_PRELOAD", fake_cupti()}, {"FAKE_CUPTI", "taken"}});
  program.perform("init");
  ASSERT_TRUE(program.order(Mode::kLeftAlone));
  program.perform("mark a step");
  EXPECT_EQ(program.slot()->attachment, Attachment::kAttached);
  EXPECT_EQ(program.wait(), 0);
  EXPECT_THAT(only_segment(folder).notes(), IsEmpty());  // it would have met the other profiler
}

TEST(Recorder, RecordsCallsOfTheDriverThatTheProgramMakesItself) {
  RunFolder folder;
  ObservedProgram program(folder);
  program.perform("init");
  for (int block = 0; block < 2; ++block) {
    ASSERT_TRUE(program.order(Mode::kTimeline));
    program.perform("driver 2");
    program.perform("launch 1");
    ASSERT_TRUE(program.order(Mode::kLeftAlone));
  }
  EXPECT_EQ(program.wait(), 0);
  EXPECT_THAT(only_segment(folder).names_of(&segments::ApiCall::name),
              ElementsAre("cuLaunchKernel", "cuLaunchKernel", "cudaLaunchKernel", "cuLaunchKernel",
                          "cuLaunchKernel", "cudaLaunchKernel"));
}

TEST(Recorder, NotesOneCallInStepsLeftAlone) {
  constexpr uint32_t kDeviceSynchronize = 165;
  RunFolder folder;
  ObservedProgram program(folder);
  program.perform("init");
  ASSERT_TRUE(program.order(Mode::kTimeline));
  ASSERT_TRUE(program.order(Mode::kLeftAlone, kDeviceSynchronize));
  for (int i = 0; i < 3; ++i) {
    program.perform("launch 10");
    program.perform("sync");
  }
  EXPECT_EQ(program.wait(), 0);
  const RawSegment segment = only_segment(folder);
  const auto marks = segment.all<segments::Mark>();
  ASSERT_THAT(marks, SizeIs(3));
  EXPECT_EQ(marks[0].what, segments::MarkKind::kApiCall);
  EXPECT_EQ(segment.name(marks[0].name), "cudaDeviceSynchronize");
  EXPECT_EQ(marks[2].launches - marks[1].launches, 11u);
  EXPECT_THAT(segment.all<segments::Kernel>(), IsEmpty());
}

TEST(Recorder, SaysWhichNodesOfGraphsKernelsCameFrom) {
  RunFolder folder;
  ObservedProgram program(folder);
  program.perform("init");
  ASSERT_TRUE(program.order(Mode::kTimeline));
  program.perform("capture");
  program.perform("graph");
  EXPECT_EQ(program.wait(), 0);
  const RawSegment segment = only_segment(folder);
  const auto nodes = segment.all<segments::GraphNode>();
  ASSERT_THAT(nodes, SizeIs(6));  // clones are told of twice
  EXPECT_EQ(nodes[0].tid, program.pid());
  EXPECT_EQ(nodes[0].original, 0u);
  EXPECT_EQ(nodes[3].node, nodes[2].node);
  EXPECT_EQ(nodes[3].original, nodes[0].node);
  const auto kernels = segment.all<segments::Kernel>();
  ASSERT_THAT(kernels, SizeIs(2));
  EXPECT_EQ(kernels[0].graph_node, nodes[2].node);
  EXPECT_EQ(kernels[1].graph_node, nodes[5].node);
}

TEST(Recorder, DescribesDevices) {
  RunFolder folder;
  ObservedProgram program(folder);
  program.perform("init");
  std::this_thread::sleep_for(std::chrono::milliseconds(300));  // they are asked for in passing
  EXPECT_EQ(program.wait(), 0);
  const RawSegment segment = only_segment(folder);
  const auto devices = segment.all<segments::Device>();
  ASSERT_THAT(devices, SizeIs(2));
  EXPECT_EQ(segment.name(devices[1].name), "Fake GPU");
  EXPECT_EQ(devices[1].index, 1u);
  EXPECT_EQ(devices[1].compute_major, 9u);
  EXPECT_EQ(devices[1].multiprocessors, 132u);
  EXPECT_EQ(devices[1].memory_bytes, 80ull << 30);
  EXPECT_EQ(devices[1].uuid[0], 2);
}

TEST(Recorder, WritesMarksRangesSamplesAndNotesOfHooks) {
  RunFolder folder;
  ObservedProgram program(folder);
  program.perform("load");
  ASSERT_TRUE(program.order(Mode::kOperators));
  EXPECT_EQ(program.perform("mode"), "mode 3\nok\n");
  for (const char* line : {"mark Adam", "ranges 2", "nested", "sample", "note no stacks here"})
    program.perform(line);
  EXPECT_TRUE(eventually([&] { return program.slot()->marks == 1; }));
  EXPECT_EQ(program.wait(), 0);
  const RawSegment segment = only_segment(folder);
  EXPECT_THAT(segment.names_of(&segments::Mark::name), ElementsAre("Adam"));
  EXPECT_THAT(segment.names_of(&segments::Range::name),
              ElementsAre("aten::add", "aten::add", "forgotten", "outer"));
  const auto ranges = segment.all<segments::Range>();
  EXPECT_EQ(segment.name(ranges[0].inputs), "f32[2,3]");
  EXPECT_EQ(ranges[0].sequence, 17);
  EXPECT_EQ(ranges[0].tid, program.pid());
  EXPECT_LE(ranges[0].start_ns, ranges[0].end_ns);
  EXPECT_LE(ranges[3].start_ns, ranges[2].start_ns);
  const auto samples = segment.all<segments::Sample>();
  ASSERT_THAT(samples, SizeIs(1));
  EXPECT_EQ(samples[0].frames, 3u);
  EXPECT_EQ(samples[0].tid, 42);
  EXPECT_THAT(segment.notes(), ElementsAre("no stacks here"));
}

TEST(Recorder, WritesRangesOfNvtx) {
  RunFolder folder;
  ObservedProgram program(folder);
  program.perform("load");
  ASSERT_TRUE(program.order(Mode::kTimeline));
  program.perform("nvtx");
  ASSERT_TRUE(program.order(Mode::kLeftAlone));
  program.perform("nvtx");
  EXPECT_EQ(program.wait(), 0);
  auto names = only_segment(folder).names_of(&segments::Range::name);
  std::sort(names.begin(), names.end());
  EXPECT_THAT(names, ElementsAre("elsewhere", "inner", "outer", "\u00b5"));
}

TEST(Recorder, KeepsRecordsOfManyThreadsApart) {
  RunFolder folder;
  ObservedProgram program(folder);
  program.perform("init");
  ASSERT_TRUE(program.order(Mode::kOperators));
  program.perform("threads 16");
  EXPECT_EQ(program.wait(), 0);
  const RawSegment segment = only_segment(folder);
  std::map<int64_t, int> ranges, calls;
  for (const auto& range : segment.all<segments::Range>()) ++ranges[range.tid];
  for (const auto& call : segment.all<segments::ApiCall>()) ++calls[call.tid];
  EXPECT_THAT(ranges, SizeIs(16));
  EXPECT_EQ(ranges, calls);
  for (const auto& [tid, count] : ranges) EXPECT_EQ(count, 200) << tid;
  EXPECT_THAT(segment.all<segments::Kernel>(), SizeIs(3200));
  EXPECT_THAT(segment.all<segments::Dropped>(), IsEmpty());
}

// From the program to the tables that analysis reads.
TEST(Recorder, WritesWhatIsImportedAsOperatorsWithTheirDeviceWork) {
  RunFolder folder;
  ObservedProgram program(folder);
  program.perform("init");
  ASSERT_TRUE(program.order(Mode::kOperators));
  program.perform("steps 20");
  ASSERT_TRUE(program.order(Mode::kLeftAlone));
  EXPECT_EQ(program.wait(), 0);
  const std::filesystem::path path = folder.path();
  auto trace = trace::import_trace({&path, 1});
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  ASSERT_TRUE(trace::link_trace(*trace).ok());
  EXPECT_TRUE(trace->validate().ok());
  EXPECT_THAT(trace->meta.marks, SizeIs(20));
  EXPECT_FALSE(trace->meta.cut_off);
  std::map<std::string, std::string> operators;  // by kernel
  int kernels = 0;
  for (size_t row = 0; row < trace->spans.size(); ++row) {
    const trace::Span span = trace->spans.row(row);
    if (span.category != trace::Category::kKernel) continue;
    ++kernels;
    ASSERT_TRUE(span.op.valid());
    operators[std::string(trace->name(span))] = trace->operators[span.op.index].kind;
  }
  EXPECT_EQ(kernels, 60);
  EXPECT_EQ(operators,
            (std::map<std::string, std::string>{{"gemm", "aten::mm"}, {"relu(float*)", "aten::relu"}}));
}

}  // namespace
}  // namespace hone::observe::testing

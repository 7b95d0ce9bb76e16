#include "analyze/host_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyze/hot_lines.h"
#include "trace/link/frames.h"

namespace hone::analyze {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;
using trace::FrameId, trace::FrameKind, trace::StackSample, trace::ThreadState;

constexpr int kMain = 100, kLoader = 200;
const std::string kPackages = "/venv/lib/python3.12/site-packages/";

// A program's main thread on track 0, a process that prepares its batches on track 1.
class HostLines : public ::testing::Test {
 protected:
  HostLines() {
    for (const int pid : {kMain, kLoader}) {
      trace::Track track;
      track.pid = track.tid = pid;
      trace.add_track(track);
    }
  }
  FrameId python(const std::string& function, const std::string& file, int line) {
    return add({trace.strings.intern(function), trace.strings.intern(file), line, FrameKind::kPython});
  }
  FrameId native(const std::string& function, const std::string& file) {
    return add({trace.strings.intern(function), trace.strings.intern(file), 0, FrameKind::kNative});
  }
  FrameId add(trace::Frame frame) {
    trace.stacks.frames.push_back(frame);
    return {static_cast<uint32_t>(trace.stacks.frames.size() - 1)};
  }
  uint32_t sample(uint32_t track, ThreadState state, std::vector<FrameId> frames,
                  std::vector<FrameId> below = {}, int64_t time_ns = 0) {
    trace.stacks.add({time_ns, {track}, state}, frames, below);
    trace::link::recognise_frames(trace);
    return static_cast<uint32_t>(trace.stacks.samples.size() - 1);
  }

  trace::Trace trace;
  const FrameId train = python("main", "/home/anna/train.py", 20);
  const FrameId collate = python("collate", "/home/anna/data.py", 41);
  const FrameId decode = python("decode", "/usr/lib/python3.12/json/decoder.py", 353);
  const FrameId fetch = python("fetch", kPackages + "torch/utils/data/_utils/fetch.py", 50);
  const FrameId next = python("__next__", kPackages + "torch/utils/data/dataloader.py", 708);
  const FrameId queue = python("get", "/usr/lib/python3.12/multiprocessing/queues.py", 113);
  const FrameId worker = python("_worker_loop", kPackages + "torch/utils/data/_utils/worker.py", 320);
};

TEST_F(HostLines, AreThoseOfTheProgramsOwnCodeWithWhatTheyCall) {
  std::vector<uint32_t> rows;
  for (int i = 0; i < 9; ++i) rows.push_back(sample(0, ThreadState::kRunning, {decode, collate, train}));
  for (int i = 0; i < 3; ++i) rows.push_back(sample(0, ThreadState::kSleep, {train}));
  for (int i = 0; i < 2; ++i) rows.push_back(sample(0, ThreadState::kRunning, {queue}));  // too few to say
  const std::vector<HostLine> lines = host_lines(trace, rows, kMain);
  ASSERT_THAT(lines, SizeIs(2));
  EXPECT_EQ(host_line_text(lines[0]),
            "collate (data.py:41): 64.3 % of 14 samples, most of them in decode (decoder.py:353)");
  EXPECT_EQ(host_line_text(lines[1]), "main (train.py:20): 21.4 % of 14 samples; it sleeps");
}

TEST_F(HostLines, OfANativeProgramAreItsFunctions) {
  const FrameId solve = native("solve", "/home/anna/simulation"), memcpy = native("memcpy", "/lib/libc.so.6");
  const std::vector<HostLine> lines =
      host_lines(trace, std::vector{sample(0, ThreadState::kRunning, {}, {memcpy, solve})}, kMain);
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_EQ(lines[0].where, "solve (simulation)");
  EXPECT_EQ(lines[0].calls, "memcpy (libc.so.6)");
  const FrameId nameless = native("?", "/lib/libz.so.1");
  EXPECT_EQ(
      host_lines(trace, std::vector{sample(0, ThreadState::kRunning, {}, {nameless, solve})}, kMain)[0].calls,
      "libz.so.1");
}

TEST_F(HostLines, StacksSayThatBatchesOrFilesAreWaitedFor) {
  const auto cause = [&](ThreadState state, std::vector<FrameId> frames, std::vector<FrameId> below = {}) {
    return cause_of_stack(trace, trace.stacks.samples[sample(0, state, std::move(frames), std::move(below))]);
  };
  EXPECT_EQ(cause(ThreadState::kRunning, {collate, fetch, next, train}), Cause::kInput);
  EXPECT_EQ(cause(ThreadState::kFile, {collate, fetch, next, train}), Cause::kInput);
  EXPECT_EQ(cause(ThreadState::kFile, {train}), Cause::kIo);
  EXPECT_EQ(cause(ThreadState::kRunning, {train}, {native("__GI___libc_read", "/lib/libc.so.6")}),
            Cause::kIo);
  EXPECT_EQ(cause(ThreadState::kSleep, {train}), std::nullopt);
}

TEST_F(HostLines, OfLoadersAreThoseOfTheirWorkWhileBatchesAreWaitedFor) {
  for (int i = 0; i < 6; ++i) {
    sample(1, ThreadState::kRunning, {collate, fetch, worker, train}, {}, 1'000'000 * i);
    sample(1, ThreadState::kPipe, {queue, worker, train}, {}, 1'000'000 * i);  // waits for an order itself
    sample(1, ThreadState::kRunning, {decode, fetch, worker, train}, {}, 100'000'000 + i);  // nobody waits
  }
  const std::vector<int64_t> waits = {0, 2'000'000, 4'000'000};
  const std::vector<HostLine> lines = lines_of_loaders(trace, 0, kMain, waits);
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_EQ(lines[0].where, "collate (data.py:41)");
  EXPECT_EQ(lines[0].pid, kLoader);
  EXPECT_THAT(lines_of_loaders(trace, 0, kMain, {}), IsEmpty());
}

TEST_F(HostLines, BetweenOperatorsHaveTheCauseOfTheGapOrOfTheStack) {
  const auto span = [&](trace::Category category, int64_t from, int64_t to) {
    trace.spans.add({from, to - from, {0}, trace.strings.intern("x"), category});
  };
  span(trace::Category::kOperator, 0, 1'000'000);
  span(trace::Category::kOperator, 1'100'000, 2'000'000);
  span(trace::Category::kOperator, 12'000'000, 13'000'000);
  span(trace::Category::kOperator, 13'010'000, 14'000'000);
  for (int i = 0; i < 6; ++i) {
    sample(0, ThreadState::kRunning, {train}, {}, 500'000);      // in an operator
    sample(0, ThreadState::kRunning, {train}, {}, 1'050'000);    // in a short gap
    sample(0, ThreadState::kSleep, {train}, {}, 5'000'000 + i);  // in a long one
    sample(0, ThreadState::kRunning, {train}, {}, 13'005'000);   // in one shorter than a moment is known
    sample(0, ThreadState::kRunning, {collate, next, train}, {}, 7'000'000 + i);
  }
  const auto lines = lines_between_operators(trace, 0);
  const auto of = [&](Cause cause) { return lines[static_cast<std::size_t>(cause)]; };
  ASSERT_THAT(of(Cause::kLaunch), SizeIs(1));
  EXPECT_EQ(of(Cause::kLaunch)[0].samples, 6);
  ASSERT_THAT(of(Cause::kHostOther), SizeIs(1));
  EXPECT_EQ(of(Cause::kHostOther)[0].waits, "sleeps");
  ASSERT_THAT(of(Cause::kInput), SizeIs(1));
  EXPECT_EQ(of(Cause::kInput)[0].where, "collate (data.py:41)");
  Verdict verdict;
  std::vector<LedgerRow> ledger(2);
  ledger[1].cause = Cause::kInput;
  ledger[1].lines = of(Cause::kInput);
  tell_where(ledger, verdict);
  EXPECT_EQ(verdict.sentence, "");
  verdict.cause = Cause::kInput;
  tell_where(ledger, verdict);
  EXPECT_THAT(verdict.sentence, testing::HasSubstr("Most of all at collate (data.py:41): "));
}

// Of a program without steps.
TEST_F(HostLines, AreHotWhereThreadsRunAndWhereTheMainThreadWaits) {
  const FrameId read = python("read_all", "/home/anna/data.py", 7);
  for (int i = 0; i < 6; ++i) sample(0, ThreadState::kRunning, {decode, collate, train});
  for (int i = 0; i < 2; ++i) sample(0, ThreadState::kFile, {read, train});
  for (int i = 0; i < 2; ++i) sample(1, ThreadState::kRunning, {collate});
  for (int i = 0; i < 9; ++i) sample(1, ThreadState::kPipe, {worker});
  trace.host_use.push_back({.seconds = 2, .cpu_s = 3});
  const HotLines hot = hot_lines(trace);
  EXPECT_EQ(hot.running, 8);
  ASSERT_THAT(hot.lines, SizeIs(1));
  EXPECT_EQ(hot.lines[0].where, "collate (data.py:41)");
  EXPECT_EQ(hot.main_samples, 8);
  EXPECT_EQ(hot.main_waiting, 2);
  ASSERT_THAT(hot.waits, SizeIs(1));
  EXPECT_EQ(hot.waits[0].where, "read_all (data.py:7)");
  ASSERT_THAT(hot.use, SizeIs(1));
  EXPECT_EQ(hot.use[0].value, 1.5);
}

}  // namespace
}  // namespace hone::analyze

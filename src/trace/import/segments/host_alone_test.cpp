#include "trace/import/segments/host_alone.h"

#include <array>

#include <gtest/gtest.h>

#include "trace/testing/segment_writer.h"

namespace hone::trace::segments {
namespace {

TEST(HostAlone, HoldsTheStacksOfTheProgramThatWasStartedAndOfItsChildren) {
  SegmentWriter writer(1, 0);
  HostProcess shell, python;
  shell.pid = 20, shell.parent = 1, shell.command = writer.name("sh -c");
  python.pid = 21, python.parent = 20, python.command = writer.name("python3 sums.py");
  HostFrame frame;
  frame.id = 1, frame.function = writer.name("add_up"), frame.file = writer.name("/home/me/sums.py"),
  frame.line = 7;
  HostSample sample;
  sample.time_ns = 2'000'000, sample.pid = sample.tid = 21, sample.python = 1,
  sample.state = ThreadState::kRunning;
  const std::array<uint32_t, 1> frames = {1};
  writer.add(shell).add(python).add(frame).add(sample,
                                               {reinterpret_cast<const char*>(frames.data()), sizeof frames});
  HostUse begin, end;
  begin.pid = end.pid = 20, begin.block = end.block = 1;
  begin.time_ns = 1'000'000, end.time_ns = 1'001'000'000, end.cpu_ns = 500'000'000;
  writer.add(begin).add(end);
  const Result<Trace> trace = read_host_alone(writer.bytes());
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  ASSERT_EQ(trace->stacks.samples.size(), 1u);
  EXPECT_EQ(trace->strings.text(trace->stacks.frames[0].function), "add_up");
  ASSERT_EQ(trace->host_use.size(), 1u);
  EXPECT_DOUBLE_EQ(trace->host_use[0].cpu_s, 0.5);
  EXPECT_DOUBLE_EQ(trace->host_use[0].seconds, 1);
}

TEST(HostAlone, IsRefusedWhereNobodyWasSeen) {
  EXPECT_FALSE(read_host_alone(SegmentWriter(1, 0).bytes()).ok());
  EXPECT_FALSE(read_host_alone("no such file").ok());
}

}  // namespace
}  // namespace hone::trace::segments

#include "trace/import/segments/host_file.h"

#include <array>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/testing/segment_writer.h"

namespace hone::trace::segments {
namespace {

constexpr int32_t kRank = 100, kLoader = 200, kStranger = 300;

// A rank with a kernel at 5000, which is the trace's time 0.
SegmentFile rank_file() {
  SegmentWriter writer(kRank);
  writer.add(writer.kernel("gemm", 5000, 100, 1));
  return std::move(*read_segment(writer.bytes()));
}

class HostFile : public ::testing::Test {
 protected:
  HostFile() {
    HostProcess loader;
    loader.pid = kLoader;
    loader.parent = kRank;
    loader.command = writer.name("/usr/bin/python3 train.py");
    writer.add(loader);
    HostFrame frame;
    frame.id = 7;
    frame.function = writer.name("collate");
    frame.file = writer.name("/home/anna/data.py");
    frame.line = 41;
    writer.add(frame);
  }
  void add_sample(int32_t pid, int64_t time_ns) {
    HostSample sample;
    sample.time_ns = time_ns;
    sample.pid = sample.tid = pid;
    sample.state = ThreadState::kSleep;
    sample.python = 1;
    const std::array<uint32_t, 2> ids = {7, 0};
    writer.add(sample, {reinterpret_cast<const char*>(ids.data()), sizeof(ids)});
  }
  void add_use(int32_t pid, uint32_t block, int64_t time_ns, uint64_t bytes) {
    HostUse use;
    use.pid = pid;
    use.block = block;
    use.time_ns = time_ns;
    use.bytes_read = bytes;
    use.main_in_line_ns = static_cast<int64_t>(bytes);
    use.bytes_received = 2 * bytes;
    writer.add(use);
  }
  const Trace& read() {
    files.push_back(rank_file());
    add_host_file(writer.bytes(), files);
    EXPECT_TRUE(files[0].file.trace.validate().ok());
    return files[0].file.trace;
  }

  SegmentWriter writer{1};
  std::vector<SegmentFile> files;
};

TEST_F(HostFile, LeavesOutSamplesOfNoTimeThereIs) {
  add_sample(kRank, std::numeric_limits<int64_t>::max() - 3);
  add_sample(kRank, std::numeric_limits<int64_t>::min());
  add_sample(kRank, 5500);
  EXPECT_EQ(read().stacks.samples.size(), 1u);
}

TEST_F(HostFile, GivesTheStacksOfARankAndOfWhatItStartedToTheRank) {
  add_sample(kRank, 5500);
  add_sample(kLoader, 4900);
  add_sample(kStranger, 5500);
  const Trace& trace = read();
  ASSERT_EQ(trace.stacks.samples.size(), 2u);
  const StackSample &own = trace.stacks.samples[0], &loader = trace.stacks.samples[1];
  EXPECT_EQ(own.time_ns, 500);
  EXPECT_EQ(own.state, trace::ThreadState::kSleep);
  EXPECT_EQ(loader.time_ns, -100);
  EXPECT_EQ(trace.tracks[loader.track.index].pid, kLoader);
  EXPECT_EQ(trace.tracks[trace.tracks[loader.track.index].process.index].name, "python3 train.py");
  EXPECT_EQ(trace.strings.text(trace.stacks.frames[trace.stacks.python(own)[0].index].function), "collate");
}

TEST_F(HostFile, AddsUpWhatARankAndItsChildrenTookInABlock) {
  for (const int32_t pid : {kRank, kLoader, kStranger, 0}) {
    add_use(pid, 3, 1'000'000'000, 100);
    add_use(pid, 3, 3'000'000'000, 1100);
  }
  const Trace& trace = read();
  ASSERT_EQ(trace.host_use.size(), 1u);
  const trace::HostUse& use = trace.host_use[0];
  EXPECT_EQ(use.block, 3u);
  EXPECT_EQ(use.processes, 2);
  EXPECT_DOUBLE_EQ(use.seconds, 2);
  EXPECT_DOUBLE_EQ(use.bytes_read, 2000);
  EXPECT_DOUBLE_EQ(use.bytes_received, 2000);
  EXPECT_DOUBLE_EQ(use.main_in_line_s, 1e-6);
}

TEST_F(HostFile, LeavesFilesAsTheyAreWhereItCannotBeRead) {
  files.push_back(rank_file());
  add_host_file("nothing of hone", files);
  EXPECT_TRUE(files[0].file.trace.stacks.empty());
  add_sample(kRank, 5500);
  const std::string bytes = writer.bytes();
  add_host_file(std::string_view(bytes).substr(0, bytes.size() - 5), files);
  EXPECT_TRUE(files[0].file.trace.stacks.empty());
}

}  // namespace
}  // namespace hone::trace::segments

// Traces written and read back: every table and column returns, whatever the spans look like, and damaged
// files are errors.
#include <algorithm>
#include <filesystem>
#include <random>
#include <tuple>

#include <gtest/gtest.h>

#include "core/file.h"
#include "core/testing/scratch_path.h"
#include "trace/perfetto/lanes.h"
#include "trace/perfetto/reader.h"
#include "trace/perfetto/writer.h"

namespace hone::trace {
namespace {

Trace random_trace(uint32_t seed, int span_count) {
  std::mt19937 random(seed);
  auto below = [&](int n) { return static_cast<int>(random() % static_cast<uint32_t>(n)); };
  Trace trace;
  trace.meta = {"hone test", "a machine", "cpu", 2, 3, {{"driver", "1.2"}, {"odd \"name\"", "väl\nue"}}};
  TrackId process = trace.add_track({TrackKind::kProcess, "rank 0", {}, 42, 42, 0, -1});
  trace.add_track({TrackKind::kThread, "main", process, 42, 42, 0, -1});
  trace.add_track({TrackKind::kThread, "worker", process, 42, 43, 0, -1});
  TrackId other =
      trace.add_track({TrackKind::kProcess, "rank 1", {}, 42, 42, 1, -1});  // the same pid elsewhere
  trace.add_track({TrackKind::kStream, "stream 7", other, 42, 7, 1, 0});
  for (int i = 0; i < 5; ++i) {
    Operator op;
    op.name = "op_" + std::to_string(i);
    op.kind = "Conv";
    op.op_class = static_cast<OperatorClass>(i);
    op.provenance = {"conv", "relu"};
    op.dtype = DType::kF32;
    op.flops = 1e9 * i;
    op.bytes_read = 1e6;
    op.bytes_written = 2e6;
    op.constant_bytes = 5e5;
    op.avoidable_bytes = i;
    op.fuses_with = i > 0 ? "op_0" : "";
    op.implementation = "onednn";
    op.least_flops = 1.5e8;
    op.executed_flops = 2e8;
    op.algorithm = "Winograd F(4x4,3x3)";
    op.geometry = "3×3";
    op.device = "cpu";
    trace.add_operator(op);
  }
  for (int i = 0; i < span_count; ++i) {
    Span span;
    span.start_ns = 1'000'000 + below(300);
    span.duration_ns = below(4) == 0 ? 0 : below(100);
    span.track = {static_cast<uint32_t>(below(5))};
    if (below(10) > 0) span.name = trace.strings.intern("name " + std::to_string(below(20)));
    span.category = static_cast<Category>(below(kCategoryCount));
    span.step = below(4) - 1;
    if (below(3) > 0) span.op = {static_cast<uint32_t>(below(5))};
    if (below(3) == 0) span.correlation = random() | (uint64_t{random()} << 32);
    trace.spans.add(span);
  }
  return trace;
}

std::vector<Span> sorted_spans(const Trace& trace) {
  std::vector<Span> spans;
  for (std::size_t i = 0; i < trace.spans.size(); ++i) spans.push_back(trace.spans.row(i));
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) {
    auto key = [](const Span& s) {
      return std::tuple(s.track.index, s.start_ns, s.duration_ns, s.name.index, s.category, s.step,
                        s.op.index, s.correlation);
    };
    return key(a) < key(b);
  });
  return spans;
}

class PerfettoFile : public testing::Test {
 protected:
  std::filesystem::path path_ = scratch_path("hone_perfetto_test.pftrace");
  void TearDown() override { std::filesystem::remove(path_); }
};

TEST_F(PerfettoFile, ComesBackWhole) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    Trace trace = random_trace(seed, seed == 0 ? 0 : 300);
    Status written = write_perfetto(trace, path_);
    ASSERT_TRUE(written.ok()) << written.error().message;
    Result<Trace> read = read_perfetto(path_);
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(read->meta, trace.meta);
    EXPECT_EQ(read->tracks, trace.tracks);
    EXPECT_EQ(read->operators, trace.operators);
    EXPECT_EQ(read->strings.size(), trace.strings.size());
    EXPECT_EQ(sorted_spans(*read), sorted_spans(trace));
  }
}

TEST_F(PerfettoFile, RefusesDamage) {
  ASSERT_TRUE(write_perfetto(random_trace(1, 50), path_).ok());
  Result<std::string> bytes = read_file(path_);
  ASSERT_TRUE(bytes.ok());
  for (std::size_t length = 0; length < bytes->size(); ++length)
    EXPECT_FALSE(parse_perfetto(std::string_view(*bytes).substr(0, length)).ok()) << length;
  std::mt19937 random(3);
  for (int trial = 0; trial < 3000; ++trial) {  // any answer but a crash
    std::string broken = *bytes;
    for (int k = 0; k < 3; ++k) broken[random() % broken.size()] = static_cast<char>(random());
    (void)parse_perfetto(broken);
  }
}

TEST_F(PerfettoFile, OfAnotherProgramIsUnsupported) {
  std::string other = "\x0a\x02\x40\x01";  // a packet with a timestamp and no more
  Result<Trace> read = parse_perfetto(other);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, ErrorCode::kUnsupported);
}

TEST_F(PerfettoFile, IsNotWrittenForAnInvalidTrace) {
  Trace trace = random_trace(1, 10);
  trace.spans.track[3] = {99};
  EXPECT_FALSE(write_perfetto(trace, path_).ok());
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST(LaneEvents, NestWithinEveryLane) {
  Trace trace = random_trace(9, 500);
  std::vector<std::tuple<uint32_t, uint32_t, std::vector<uint32_t>>> lanes;
  int64_t last = 0;
  for (const perfetto::LaneEvent& event : perfetto::lane_events(trace.spans)) {
    EXPECT_GE(event.time_ns, last);
    last = event.time_ns;
    uint32_t track = trace.spans.track[event.row].index;
    auto lane = std::find_if(lanes.begin(), lanes.end(), [&](const auto& entry) {
      return std::get<0>(entry) == track && std::get<1>(entry) == event.lane;
    });
    if (lane == lanes.end()) lane = lanes.insert(lanes.end(), {track, event.lane, {}});
    std::vector<uint32_t>& open = std::get<2>(*lane);
    if (event.begins) {
      open.push_back(event.row);
    } else {
      ASSERT_FALSE(open.empty());
      EXPECT_EQ(open.back(), event.row);
      open.pop_back();
    }
  }
  for (const auto& lane : lanes) EXPECT_TRUE(std::get<2>(lane).empty());
}

}  // namespace
}  // namespace hone::trace

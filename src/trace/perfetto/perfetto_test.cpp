// Traces written and read back: every table and column returns, whatever the spans look like, and damaged
// files are errors.
#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/file.h"
#include "core/testing/scratch_path.h"
#include "core/testing/source_folder.h"
#include "trace/checked_reader.h"
#include "trace/import/import.h"
#include "trace/link/link.h"
#include "trace/perfetto/fields.h"
#include "trace/perfetto/lanes.h"
#include "trace/perfetto/reader.h"
#include "trace/perfetto/writer.h"
#include "trace/testing/random_trace.h"

namespace hone::trace {
namespace {

// A span with its details, whose row may change on the way.
struct WholeSpan {
  Span span;
  std::optional<Call> call;
  std::optional<Launch> launch;
  std::optional<Copy> copy;
  std::optional<Collective> collective;
  friend bool operator==(const WholeSpan&, const WholeSpan&) = default;
};

template <typename Detail>
std::optional<Detail> detail_of(const std::vector<Detail>& details, uint32_t row) {
  const Detail* found = find_detail(details, row);
  if (found == nullptr) return std::nullopt;
  Detail detail = *found;
  detail.span = 0;
  return detail;
}

std::vector<WholeSpan> sorted_spans(const Trace& trace) {
  std::vector<WholeSpan> spans;
  for (uint32_t i = 0; i < trace.spans.size(); ++i)
    spans.push_back({trace.spans.row(i), detail_of(trace.calls, i), detail_of(trace.launches, i),
                     detail_of(trace.copies, i), detail_of(trace.collectives, i)});
  auto key = [](const WholeSpan& whole) {
    const Span& s = whole.span;
    return std::tuple(s.track.index, s.start_ns, s.duration_ns, s.name.index, s.category, s.step, s.op.index,
                      s.correlation, whole.call.value_or(Call{}).external,
                      whole.launch.value_or(Launch{}).external, whole.copy.value_or(Copy{}).bytes,
                      whole.collective.value_or(Collective{}).elements_in);
  };
  std::sort(spans.begin(), spans.end(),
            [&](const WholeSpan& a, const WholeSpan& b) { return key(a) < key(b); });
  return spans;
}

// By name, since strings are numbered anew.
// Samples with the names of their frames: strings are numbered anew.
std::vector<std::string> named_stacks(const Trace& trace) {
  std::vector<std::string> rows;
  for (const StackSample& sample : trace.stacks.samples) {
    std::string row = std::to_string(sample.time_ns) + " " + std::to_string(sample.track.index) + " " +
                      std::string(thread_state_name(sample.state));
    for (const auto& stack : {trace.stacks.python(sample), trace.stacks.native(sample)})
      for (const FrameId id : stack) {
        const Frame& frame = trace.stacks.frames[id.index];
        row += " | " + std::string(trace.strings.text(frame.function)) + " " +
               std::string(trace.strings.text(frame.file)) + " " + std::to_string(frame.line) + " " +
               std::string(frame_kind_name(frame.kind)) + " " + std::string(frame_owner_name(frame.owner)) +
               " " + std::string(frame_role_name(frame.role));
      }
    rows.push_back(row);
  }
  return rows;
}

std::vector<std::pair<KernelCounters, std::map<std::string_view, double>>> named_counters(
    const Trace& trace) {
  std::vector<std::pair<KernelCounters, std::map<std::string_view, double>>> rows;
  for (KernelCounters row : trace.counters) {
    std::map<std::string_view, double> values = {{trace.strings.text(row.kernel), 0}};
    for (const CounterValue& each : row.values) values[trace.strings.text(each.metric)] = each.value;
    row.kernel = {};
    row.values = {};
    rows.emplace_back(row, std::move(values));
  }
  return rows;
}

// With the names of their metrics.
std::vector<std::pair<DeviceSamples, std::vector<std::string_view>>> named_samples(const Trace& trace) {
  std::vector<std::pair<DeviceSamples, std::vector<std::string_view>>> series;
  for (DeviceSamples samples : trace.samples) {
    std::vector<std::string_view> names;
    for (const StringId metric : samples.metrics) names.push_back(trace.strings.text(metric));
    samples.metrics.assign(names.size(), {});
    series.emplace_back(std::move(samples), std::move(names));
  }
  return series;
}

std::vector<std::string> named_kernel_samples(const Trace& trace) {
  std::vector<std::string> rows;
  const auto text = [&](StringId id) {
    return id.valid() ? std::string(trace.strings.text(id)) : std::string("none");
  };
  for (const KernelSample& sample : trace.kernel_samples) {
    std::string row = std::to_string(sample.rank) + ' ' + std::to_string(sample.device);
    for (const uint32_t size : sample.grid) row += ' ' + std::to_string(size);
    for (const uint32_t size : sample.block) row += ' ' + std::to_string(size);
    for (const StringId id : {sample.kernel, sample.function, sample.file, sample.source})
      row += ' ' + text(id);
    row += ' ' + std::to_string(sample.offset) + ' ' + std::to_string(sample.line) + ' ';
    row += line_info_name(sample.line_info);
    for (const StallSamples& each : sample.stalls)
      row += ' ' + text(each.reason) + ' ' + std::to_string(each.samples);
    rows.push_back(row);
  }
  return rows;
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
    EXPECT_EQ(named_counters(*read), named_counters(trace));
    EXPECT_TRUE(named_samples(*read) == named_samples(trace));
    EXPECT_EQ(named_kernel_samples(*read), named_kernel_samples(trace));
    EXPECT_EQ(named_stacks(*read), named_stacks(trace));
    EXPECT_EQ(read->host_use, trace.host_use);
    EXPECT_TRUE(sorted_spans(*read) == sorted_spans(trace));
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

// What ui.perfetto.dev needs of a file: tracks described before they are used and under parents that are
// there, processes and threads that do not share numbers, names interned before they are used, slices in
// order of time.
class Structure {
 public:
  explicit Structure(std::string_view bytes) {
    CheckedReader reader(bytes.data(), bytes.size());
    while (reader.next()) packet(reader.get_view());
  }
  int slices = 0, flows = 0, counters = 0, samples = 0;
  std::vector<std::string> faults;

 private:
  void packet(protozero::data_view bytes) {
    uint64_t time = 0;
    CheckedReader reader(bytes);
    while (reader.next()) {
      if (reader.tag() == perfetto::PacketField::timestamp) {
        time = reader.get_uint64();
        if (time < time_) faults.push_back("out of order");
        time_ = time;
      } else if (reader.tag() == perfetto::PacketField::track_descriptor) {
        descriptor(reader.get_view());
      } else if (reader.tag() == perfetto::PacketField::interned_data) {
        interned(reader.get_view());
      } else if (reader.tag() == perfetto::PacketField::track_event) {
        event(reader.get_view());
      } else {
        reader.skip();
      }
    }
  }

  void descriptor(protozero::data_view bytes) {
    uint64_t uuid = 0;
    CheckedReader reader(bytes);
    while (reader.next()) {
      if (reader.tag() == perfetto::TrackField::uuid) {
        uuid = reader.get_uint64();
      } else if (reader.tag() == perfetto::TrackField::parent_uuid) {
        if (!tracks_.contains(reader.get_uint64())) faults.push_back("no such parent");
      } else if (reader.tag() == perfetto::TrackField::process ||
                 reader.tag() == perfetto::TrackField::thread) {
        const bool thread = reader.tag() == perfetto::TrackField::thread;
        CheckedReader numbers(reader.get_view());
        int64_t number = 0;
        while (numbers.next()) {
          if (numbers.tag() == (thread ? perfetto::ThreadField::tid : perfetto::ProcessField::pid))
            number = numbers.get_int32();
          else
            numbers.skip();
        }
        if (!numbers_.insert({thread, number}).second) faults.push_back("a number twice");
      } else if (reader.tag() == perfetto::TrackField::counter) {
        reader.skip();
        ++counters;
      } else {
        reader.skip();
      }
    }
    if (!tracks_.insert(uuid).second) faults.push_back("a track twice");
  }

  void interned(protozero::data_view bytes) {
    CheckedReader reader(bytes);
    while (reader.next()) {
      const bool name = reader.tag() == perfetto::InternedField::event_names;
      CheckedReader entry(reader.get_view());
      while (entry.next()) {
        if (entry.tag() == perfetto::InternedEntryField::iid)
          iids_.insert({name, entry.get_uint64()});
        else
          entry.skip();
      }
    }
  }

  void event(protozero::data_view bytes) {
    CheckedReader reader(bytes);
    while (reader.next()) {
      if (reader.tag() == perfetto::EventField::track_uuid) {
        if (!tracks_.contains(reader.get_uint64())) faults.push_back("a slice without track");
      } else if (reader.tag() == perfetto::EventField::category_iids) {
        if (!iids_.contains({false, reader.get_uint64()})) faults.push_back("no such category");
        ++slices;
      } else if (reader.tag() == perfetto::EventField::name_iid) {
        if (!iids_.contains({true, reader.get_uint64()})) faults.push_back("no such name");
      } else if (reader.tag() == perfetto::EventField::flow_ids) {
        reader.get_fixed64();
        ++flows;
      } else if (reader.tag() == perfetto::EventField::double_counter_value) {
        reader.get_double();
        ++samples;
      } else {
        reader.skip();
      }
    }
  }

  uint64_t time_ = 0;
  std::set<uint64_t> tracks_;
  std::set<std::pair<bool, int64_t>> numbers_;
  std::set<std::pair<bool, uint64_t>> iids_;
};

TEST_F(PerfettoFile, IsWhatPerfettoExpects) {
  for (uint32_t seed = 0; seed < 5; ++seed) {
    Trace trace = random_trace(seed, 300);
    ASSERT_TRUE(write_perfetto(trace, path_).ok());
    Result<std::string> bytes = read_file(path_);
    ASSERT_TRUE(bytes.ok());
    const Structure structure(*bytes);
    EXPECT_THAT(structure.faults, testing::IsEmpty());
    EXPECT_EQ(structure.slices, 300);
    EXPECT_EQ(structure.counters, 4);
    EXPECT_EQ(structure.samples, 5 + 2 + 2);  // all of the first metric, and of the second where it changes
    EXPECT_EQ(structure.flows,
              300 - std::count(trace.spans.correlation.begin(), trace.spans.correlation.end(), 0u));
  }
}

// A recording of PyTorch, linked: what a user takes to ui.perfetto.dev.
TEST_F(PerfettoFile, KeepsARealTraceOfTwoRanks) {
  const std::filesystem::path folder = source_folder() / "tests/traces/recorded";
  const std::filesystem::path files[] = {folder / "straggler_sleeps.fault.rank0.json.gz",
                                         folder / "straggler_sleeps.fault.rank1.json.gz"};
  Result<Trace> trace = import_trace(files);
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  ASSERT_TRUE(link_trace(*trace).ok());
  ASSERT_FALSE(trace->collectives.empty());
  ASSERT_FALSE(trace->launches.empty());
  ASSERT_TRUE(write_perfetto(*trace, path_).ok());
  const Result<std::string> bytes = read_file(path_);
  ASSERT_TRUE(bytes.ok());
  EXPECT_THAT(Structure(*bytes).faults, testing::IsEmpty());
  EXPECT_NE(bytes->find("rank 1: python"), std::string::npos);  // both processes are named python
  const Result<Trace> read = read_perfetto(path_);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->meta, trace->meta);
  EXPECT_EQ(read->tracks, trace->tracks);
  EXPECT_EQ(read->operators, trace->operators);
  EXPECT_TRUE(sorted_spans(*read) == sorted_spans(*trace));
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

// Segments made up by hand, for tests of what reads them: records as the recorder writes them, or bytes that no recorder
// would write. Times in ns. Not part of the product.
#pragma once

#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "trace/segments/record.h"

namespace hone::trace::segments {

class SegmentWriter {
 public:
  explicit SegmentWriter(int32_t pid = 100, int32_t parent_pid = 1) {
    header_.pid = pid;
    header_.parent_pid = parent_pid;
    header_.monotonic_ns = 1'000'000;
    header_.realtime_ns = 1'790'000'000'000'000'000;
  }

  FileHeader& header() { return header_; }

  // The number of a name; its record is written when it is first asked for.
  uint32_t name(std::string_view text) {
    if (text.empty()) return kNoName;
    const auto [at, is_new] = names_.try_emplace(std::string(text), static_cast<uint32_t>(names_.size() + 1));
    if (is_new) {
      Name record;
      record.id = at->second;
      record.length = static_cast<uint32_t>(text.size());
      add(record, text);
    }
    return at->second;
  }

  template <typename Record>
  SegmentWriter& add(const Record& record, std::string_view following = {}) {
    const Record whole = with_head(record, static_cast<uint32_t>(following.size()));
    raw({reinterpret_cast<const char*>(&whole), sizeof(Record)});
    raw(following);
    records_.resize(records_.size() + (8 - following.size() % 8) % 8, '\0');
    return *this;
  }

  SegmentWriter& raw(std::string_view bytes) {
    records_ += bytes;
    return *this;
  }

  // A kernel on stream 7 of device 0.
  Kernel kernel(std::string_view symbol, int64_t start_ns, int64_t ns, uint32_t correlation) {
    Kernel record;
    record.start_ns = start_ns;
    record.end_ns = start_ns + ns;
    record.correlation = correlation;
    record.context = 1;
    record.stream = 7;
    record.name = name(symbol);
    record.grid = {132, 1, 1};
    record.block = {256, 1, 1};
    return record;
  }

  ApiCall call(std::string_view function, int64_t start_ns, int64_t ns, uint32_t correlation,
               int64_t tid = 101) {
    ApiCall record;
    record.start_ns = start_ns;
    record.end_ns = start_ns + ns;
    record.tid = tid;
    record.correlation = correlation;
    record.name = name(function);
    return record;
  }

  Range range(RangeKind what, std::string_view label, int64_t start_ns, int64_t ns,
              std::string_view inputs = {}, int64_t tid = 101) {
    Range record;
    record.start_ns = start_ns;
    record.end_ns = start_ns + ns;
    record.tid = tid;
    record.what = what;
    record.name = name(label);
    record.inputs = name(inputs);
    return record;
  }

  struct Sample {
    int64_t start_ns = 0, end_ns = 0;
    std::vector<double> values = {};
  };
  SegmentWriter& samples(uint32_t device, const std::vector<std::string_view>& metrics,
                         const std::vector<Sample>& rows) {
    DeviceSamples record;
    record.device = device;
    record.metrics = static_cast<uint32_t>(metrics.size());
    record.samples = static_cast<uint32_t>(rows.size());
    std::string following;
    const auto append = [&](const auto& value) {
      following.append(reinterpret_cast<const char*>(&value), sizeof(value));
    };
    for (const std::string_view metric : metrics) append(name(metric));
    following.resize((following.size() + 7) / 8 * 8);
    for (const Sample& row : rows) {
      append(DeviceSample{row.start_ns, row.end_ns});
      for (const double value : row.values) append(value);
    }
    return add(record, following);
  }

  SegmentWriter& mode(Mode mode, uint32_t block, int64_t time_ns, uint64_t launches = 0) {
    ModeChange record;
    record.time_ns = time_ns;
    record.mode = mode;
    record.block = block;
    record.launches = launches;
    return add(record);
  }

  SegmentWriter& mark(MarkKind what, std::string_view label, int64_t time_ns, uint64_t launches = 0,
                      int64_t tid = 101) {
    Mark record;
    record.time_ns = time_ns;
    record.tid = tid;
    record.what = what;
    record.name = name(label);
    record.launches = launches;
    return add(record);
  }

  SegmentWriter& note(std::string_view text) {
    Note record;
    record.text = name(text);
    return add(record);
  }

  std::string bytes() const {
    return std::string(reinterpret_cast<const char*>(&header_), sizeof(FileHeader)) + records_;
  }

  // Into a run folder, under the name that the recorder gives it.
  std::filesystem::path write(const std::filesystem::path& run_folder) const {
    const std::filesystem::path folder = run_folder / kFolder;
    std::filesystem::create_directories(folder);
    const std::filesystem::path path =
        folder / (std::to_string(header_.pid) + "-" + std::to_string(header_.monotonic_ns) + kExtension);
    const std::string all = bytes();
    std::ofstream(path, std::ios::binary).write(all.data(), static_cast<std::streamsize>(all.size()));
    return path;
  }

 private:
  FileHeader header_;
  std::map<std::string, uint32_t> names_;
  std::string records_;
};

}  // namespace hone::trace::segments

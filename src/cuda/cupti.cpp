#include "cuda/cupti.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include "core/clock.h"

namespace hone::cuda {
namespace {

constexpr uint32_t kOldestCupti = 18;  // of CUDA 12.0: its records begin as core/cupti_records.h says
constexpr cupti::ActivityKind kRecordedKinds[] = {cupti::ActivityKind::kConcurrentKernel,
                                                  cupti::ActivityKind::kCopy, cupti::ActivityKind::kSet};
constexpr std::size_t kRecordBufferBytes = std::size_t{4} << 20;
constexpr std::size_t kMostRecordBuffers = 32;
constexpr int64_t kRecordPatienceNs = 1'000'000'000;
constexpr auto kRecordPeriod = std::chrono::milliseconds(1);

// What CUPTI's callbacks work on. They know no closure, and a process has one CUPTI.
struct RecordCollector {
  std::mutex mutex;
  const CuptiFunctions* functions = nullptr;  // null: nobody records
  int64_t clock_offset = 0;                   // added to CUPTI's times
  std::vector<DeviceRecord> records;
  std::size_t of_graphs = 0, dropped = 0, unfinished = 0;
  std::size_t buffers_out = 0;
  std::weak_ptr<Cupti> loaded;
};

RecordCollector& record_collector() {
  static auto& collector = *new RecordCollector;  // CUPTI's threads may outlive static objects
  return collector;
}

template <typename Activity>
DeviceRecord common_record(DeviceRecord::Kind kind, const Activity& activity, int64_t offset) {
  return {.kind = kind,
          .graph = activity.graph,
          .start_ns = static_cast<int64_t>(activity.start) + offset,
          .end_ns = static_cast<int64_t>(activity.end) + offset,
          .kernel = {},
          .grid = {},
          .block = {}};
}

void collect(RecordCollector& to, const cupti::Activity& activity) {
  const auto add = [&](DeviceRecord record, uint64_t start, uint64_t end) {
    if (record.graph != 0) ++to.of_graphs;
    if (start == 0 || end < start)
      ++to.unfinished;
    else
      to.records.push_back(std::move(record));
  };
  if (activity.kind == cupti::ActivityKind::kConcurrentKernel) {
    const auto& kernel = reinterpret_cast<const cupti::KernelActivity&>(activity);
    DeviceRecord record = common_record(DeviceRecord::Kind::kKernel, kernel, to.clock_offset);
    if (kernel.name != nullptr) record.kernel = kernel.name;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      record.grid[axis] = static_cast<uint32_t>(kernel.grid[axis]);
      record.block[axis] = static_cast<uint32_t>(kernel.block[axis]);
    }
    record.registers = kernel.registers;
    add(std::move(record), kernel.start, kernel.end);
  } else if (activity.kind == cupti::ActivityKind::kCopy) {
    const auto& copy = reinterpret_cast<const cupti::CopyActivity&>(activity);
    add(common_record(DeviceRecord::Kind::kCopy, copy, to.clock_offset), copy.start, copy.end);
  } else if (activity.kind == cupti::ActivityKind::kSet) {
    const auto& set = reinterpret_cast<const cupti::SetActivity&>(activity);
    add(common_record(DeviceRecord::Kind::kSet, set, to.clock_offset), set.start, set.end);
  }
}

// Without a buffer CUPTI drops records, and says how many.
void give_record_buffer(uint8_t** buffer, std::size_t* bytes, std::size_t* most_records) {
  RecordCollector& collector = record_collector();
  const std::lock_guard lock(collector.mutex);
  *most_records = 0;  // as many as there is room for
  *buffer = collector.buffers_out < kMostRecordBuffers
                ? static_cast<uint8_t*>(std::aligned_alloc(4096, kRecordBufferBytes))
                : nullptr;
  *bytes = *buffer != nullptr ? kRecordBufferBytes : 0;
  if (*buffer != nullptr) ++collector.buffers_out;
}

void take_record_buffer(void* context, uint32_t stream, uint8_t* buffer, std::size_t, std::size_t valid) {
  if (buffer == nullptr) return;
  RecordCollector& collector = record_collector();
  const std::lock_guard lock(collector.mutex);
  if (const CuptiFunctions* const f = collector.functions) {
    cupti::Activity* activity = nullptr;
    while (valid > 0 && f->get_next_record(buffer, valid, &activity) == cupti::Result::kSuccess)
      collect(collector, *activity);
    std::size_t dropped = 0;
    if (f->get_dropped(context, stream, &dropped) == cupti::Result::kSuccess) collector.dropped += dropped;
  }
  --collector.buffers_out;
  std::free(buffer);
}

// From CUPTI's clock to ours, by the closest pair of readings.
int64_t clock_offset(const CuptiFunctions& functions) {
  int64_t offset = 0, closest = std::numeric_limits<int64_t>::max();
  for (int i = 0; i < 5; ++i) {
    uint64_t theirs = 0;
    const int64_t before = now_ns();
    if (functions.get_timestamp(&theirs) != cupti::Result::kSuccess) continue;
    const int64_t between = now_ns() - before;
    if (between >= closest) continue;
    closest = between;
    offset = before + between / 2 - static_cast<int64_t>(theirs);
  }
  return offset;
}

}  // namespace

Result<std::shared_ptr<Cupti>> Cupti::load(const LibraryPlaces& places, int driver_version) {
  HONE_ASSIGN(const FoundLibrary library, find_library(cupti_name(), places, driver_version));
  RecordCollector& collector = record_collector();
  const std::lock_guard lock(collector.mutex);
  std::shared_ptr<Cupti> loaded = collector.loaded.lock();
  if (loaded != nullptr && loaded->path_ == library.path) return loaded;
  loaded.reset(new Cupti);
  loaded->path_ = library.path;
  HONE_CHECK(take_functions(library, loaded->functions_));
  uint32_t version = 0;
  HONE_CHECK(loaded->check(loaded->functions_.get_version(&version), "cuptiGetVersion"));
  if (version < kOldestCupti)
    return unsupported(
        fmt::format("{} is of API version {}: CUPTI is used from CUDA 12.0 (18) on", library.path, version));
  collector.loaded = loaded;
  return loaded;
}

Cupti::~Cupti() {
  if (recording_) (void)end(0);
  if (subscribed_) (void)functions_.unsubscribe(subscriber_);
}

Status Cupti::check(cupti::Result code, std::string_view call) const {
  if (code == cupti::Result::kSuccess) return {};
  if (code == cupti::Result::kMultipleSubscribers)
    return unsupported("another profiler has this process's CUPTI, which serves one at a time");
  const char* words = nullptr;
  if (functions_.get_result_string(code, &words) != cupti::Result::kSuccess || words == nullptr)
    words = "unknown error";
  const char* const help = code == cupti::Result::kNotPrivileged
                               ? ": this user may not profile; run as root, or have the driver loaded with "
                                 "NVreg_RestrictProfilingToAdminUsers=0"
                               : "";
  return io_error(fmt::format("{} ({}): {} ({}){}", call, path_, words, static_cast<int>(code), help));
}

// Kept until the object goes: attaching takes some 20 ms, and another profiler of this process is refused from here on.
Status Cupti::subscribe() {
  if (subscribed_) return {};
  const auto nothing = [](void*, cupti::Domain, uint32_t, const void*) {};
  HONE_CHECK(check(functions_.subscribe(&subscriber_, nothing, nullptr), "cuptiSubscribe"));
  subscribed_ = true;
  return {};
}

Status Cupti::enable_kinds() {
  HONE_CHECK(check(functions_.register_callbacks(give_record_buffer, take_record_buffer),
                   "cuptiActivityRegisterCallbacks"));
  {
    const int64_t offset = clock_offset(functions_);
    const std::lock_guard lock(record_collector().mutex);
    record_collector().clock_offset = offset;
  }
  for (const cupti::ActivityKind kind : kRecordedKinds)
    HONE_CHECK(check(functions_.enable(kind), "cuptiActivityEnable"));
  return {};
}

void Cupti::disable_kinds() {
  for (const cupti::ActivityKind kind : kRecordedKinds) (void)functions_.disable(kind);
}

Status Cupti::begin() {
  RecordCollector& collector = record_collector();
  {
    const std::lock_guard lock(collector.mutex);
    if (collector.functions != nullptr) return unsupported("another plan of this process is being recorded");
    collector.functions = &functions_;
    collector.records.clear();
    collector.of_graphs = collector.dropped = collector.unfinished = 0;
  }
  recording_ = true;
  Status begun = subscribe();
  if (begun.ok()) begun = enable_kinds();
  if (!begun.ok()) (void)end(0);
  return begun;
}

Status Cupti::wait_for(std::size_t of_graphs) const {
  RecordCollector& collector = record_collector();
  for (const int64_t end = now_ns() + kRecordPatienceNs;;) {
    HONE_CHECK(check(functions_.flush_all(0), "cuptiActivityFlushAll"));
    {
      const std::lock_guard lock(collector.mutex);
      if (collector.of_graphs >= of_graphs || collector.dropped > 0) return {};
    }
    if (now_ns() >= end) return {};  // what there is then is counted by who asked
    std::this_thread::sleep_for(kRecordPeriod);
  }
}

Result<std::vector<DeviceRecord>> Cupti::end(std::size_t of_graphs) {
  if (!recording_) return invalid("CUPTI's records are asked for, and nothing was recording");
  const Status came = of_graphs > 0 ? wait_for(of_graphs) : Status();
  if (subscribed_) {
    disable_kinds();
    (void)functions_.flush_all(cupti::kFlushForced);
  }
  recording_ = false;
  RecordCollector& collector = record_collector();
  const std::lock_guard lock(collector.mutex);
  collector.functions = nullptr;
  std::vector<DeviceRecord> records = std::exchange(collector.records, {});
  HONE_CHECK(came);
  if (collector.dropped > 0) return io_error(fmt::format("CUPTI dropped {} records", collector.dropped));
  if (collector.unfinished > 0)
    return io_error(fmt::format("CUPTI has no times for {} of its records", collector.unfinished));
  std::stable_sort(records.begin(), records.end(),
                   [](const DeviceRecord& a, const DeviceRecord& b) { return a.start_ns < b.start_ns; });
  return records;
}

}  // namespace hone::cuda

// A CUPTI for tests: the records of what the fake driver has run, in CUPTI's structures and its buffers. Its clock is
// another than the host's. FAKE_CUPTI in the environment, read at each call, is a list of faults: "taken" (another
// profiler has it), "refuses" (no permission), "drops" (a record of each recording is lost, and said to be), "loses" (and
// not said to be), "foreign" (kernels of no graph come between), "other_graph" (a kernel of somebody else's graph),
// "late" (what has run comes at the third flush), "untimed" (a record without times).
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cuda/driver_abi.h"
#include "cuda/testing/fake_driver_listener.h"

#include "core/cupti_records.h"

namespace {

namespace cupti = hone::cupti;
using cupti::ActivityKind;
using cupti::Result;

// CUPTI's clock is ahead of the driver's, and never at 0.
constexpr int64_t kAheadNs = 1'000'000'000'000;

// Vendors' records are larger than what hone declares of them.
template <typename Record>
struct Grown {
  Record record;
  uint64_t more[3];
};

struct FakeRecord {
  ActivityKind kind;
  int64_t start, end;
  uint32_t graph;
  std::string name;
};

struct State {
  std::mutex mutex;
  bool subscribed = false;
  std::set<int> kinds;
  cupti::BufferRequested requested = nullptr;
  cupti::BufferCompleted completed = nullptr;
  std::vector<FakeRecord> records;
  std::set<std::string> names;  // what records point at
  bool lost_one = false;
  std::size_t dropped = 0;
  int flushes = 0;
  int64_t recorded = 0;
};
State& state() {
  static auto& the_state = *new State;
  return the_state;
}

bool behaves(std::string_view how) {
  const char* const faults = std::getenv("FAKE_CUPTI");
  return faults != nullptr && std::string_view(faults).find(how) != std::string_view::npos;
}

ActivityKind kind_of(int node) {
  return node == hone::cuda::kKernelNode ? ActivityKind::kConcurrentKernel
         : node == hone::cuda::kCopyNode ? ActivityKind::kCopy
                                         : ActivityKind::kSet;
}

void on_work(int node, uint32_t graph, int64_t start_ns, int64_t end_ns, const char* name) {
  if (node != hone::cuda::kKernelNode && node != hone::cuda::kCopyNode && node != hone::cuda::kSetNode)
    return;
  State& s = state();
  const std::lock_guard lock(s.mutex);
  const ActivityKind kind = kind_of(node);
  if (s.kinds.count(static_cast<int>(kind)) == 0) return;
  ++s.recorded;
  const int64_t start = start_ns + kAheadNs, end = end_ns + kAheadNs;
  if (behaves("foreign"))
    s.records.push_back({ActivityKind::kConcurrentKernel, start, end, 0, "of_somebody_else"});
  if (behaves("other_graph") && !s.lost_one) {
    s.lost_one = true;
    s.records.push_back({ActivityKind::kConcurrentKernel, start, end, 4711, "of_somebody_else"});
  }
  if ((behaves("drops") || behaves("loses")) && !s.lost_one && graph != 0) {
    s.lost_one = true;
    if (behaves("drops")) ++s.dropped;
    return;
  }
  const bool untimed = behaves("untimed");
  s.records.push_back({kind, untimed ? 0 : start, untimed ? 0 : end, graph, name});
}

template <typename Record>
void write(Record record, const FakeRecord& of, uint8_t* buffer, std::size_t& used) {
  record.kind = of.kind;
  record.start = static_cast<uint64_t>(of.start);
  record.end = static_cast<uint64_t>(of.end);
  record.graph = of.graph;
  const Grown<Record> grown{record, {}};
  std::memcpy(buffer + used, &grown, sizeof grown);
  used += sizeof grown;
}

std::size_t bytes_of(ActivityKind kind) {
  return kind == ActivityKind::kConcurrentKernel ? sizeof(Grown<cupti::KernelActivity>)
         : kind == ActivityKind::kCopy           ? sizeof(Grown<cupti::CopyActivity>)
                                                 : sizeof(Grown<cupti::SetActivity>);
}

// The last first: CUPTI promises no order.
void give_buffer(std::vector<FakeRecord> records) {
  State& s = state();
  uint8_t* buffer = nullptr;
  std::size_t bytes = 0, most = 0, used = 0;
  s.requested(&buffer, &bytes, &most);
  if (buffer == nullptr) {
    s.dropped += records.size();
    return;
  }
  for (; !records.empty() && used + sizeof(Grown<cupti::KernelActivity>) <= bytes; records.pop_back()) {
    const FakeRecord& record = records.back();
    if (record.kind == ActivityKind::kConcurrentKernel) {
      cupti::KernelActivity kernel = {};
      kernel.name = s.names.insert(record.name).first->c_str();
      for (int axis = 0; axis < 3; ++axis) kernel.grid[axis] = axis + 2, kernel.block[axis] = 1;
      kernel.block[0] = 128;
      kernel.registers = 40;
      write(kernel, record, buffer, used);
    } else if (record.kind == ActivityKind::kCopy) {
      write(cupti::CopyActivity{}, record, buffer, used);
    } else {
      write(cupti::SetActivity{}, record, buffer, used);
    }
  }
  s.dropped += records.size();
  s.completed(nullptr, 0, buffer, bytes, used);
}

}  // namespace

extern "C" {

// What tests ask: whether activities are on now, and how many records there were in all.
int fake_cupti_is_on() {
  const std::lock_guard lock(state().mutex);
  return state().kinds.empty() ? 0 : 1;
}
int64_t fake_cupti_recorded() {
  const std::lock_guard lock(state().mutex);
  return state().recorded;
}

Result cuptiGetVersion(uint32_t* version) { return *version = 130001, Result::kSuccess; }
Result cuptiGetResultString(Result, const char** text) {
  return *text = "CUPTI_ERROR_OF_THE_FAKE", Result::kSuccess;
}
Result cuptiSubscribe(cupti::Subscriber* subscriber, cupti::Callback, void*) {
  const std::lock_guard lock(state().mutex);
  if (behaves("taken") || state().subscribed) return Result::kMultipleSubscribers;
  state().subscribed = true;
  *subscriber = &state();
  return Result::kSuccess;
}
Result cuptiUnsubscribe(cupti::Subscriber) {
  const std::lock_guard lock(state().mutex);
  state().subscribed = false;
  return Result::kSuccess;
}
Result cuptiGetTimestamp(uint64_t* now) {
  return *now = static_cast<uint64_t>(fake_driver_clock() + kAheadNs), Result::kSuccess;
}
Result cuptiActivityRegisterCallbacks(cupti::BufferRequested requested, cupti::BufferCompleted completed) {
  const std::lock_guard lock(state().mutex);
  state().requested = requested;
  state().completed = completed;
  return Result::kSuccess;
}
Result cuptiActivityEnable(ActivityKind kind) {
  if (behaves("refuses")) return Result::kNotPrivileged;
  {
    const std::lock_guard lock(state().mutex);
    if (state().kinds.empty()) state().lost_one = false, state().flushes = 0;
    state().kinds.insert(static_cast<int>(kind));
  }
  fake_driver_listen(on_work);
  return Result::kSuccess;
}
Result cuptiActivityDisable(ActivityKind kind) {
  const std::lock_guard lock(state().mutex);
  state().kinds.erase(static_cast<int>(kind));
  return Result::kSuccess;
}
Result cuptiActivityFlushAll(uint32_t forced) {
  const std::lock_guard lock(state().mutex);
  if (behaves("late") && forced == 0 && ++state().flushes < 3) return Result::kSuccess;
  if (state().records.empty() && state().dropped == 0) return Result::kSuccess;
  give_buffer(std::exchange(state().records, {}));
  return Result::kSuccess;
}
Result cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid, cupti::Activity** record) {
  auto* at = reinterpret_cast<uint8_t*>(*record);
  at = at == nullptr ? buffer : at + bytes_of((*record)->kind);
  if (at >= buffer + valid) return static_cast<Result>(12);
  *record = reinterpret_cast<cupti::Activity*>(at);
  return Result::kSuccess;
}
// Called within a flush.
Result cuptiActivityGetNumDroppedRecords(void*, uint32_t, size_t* dropped) {
  *dropped = std::exchange(state().dropped, 0);
  return Result::kSuccess;
}
}

// A CUPTI over the fake CUDA: callbacks, activities in buffers, one subscriber. FAKE_CUPTI=taken: another
// profiler has subscribed; =taken_once: it has gone when one asks again; =late: work takes 200 ms to be done; =old: of a version before 12.0; =refuses: kernels may not be recorded; =drops: it loses 7
// records a buffer. What it counts and samples: fake_cupti_profiler.cpp, fake_cupti_pc_sampling.cpp.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <mutex>
#include <set>
#include <utility>

#include <sys/syscall.h>
#include <unistd.h>

#include "observe/inject/cupti/cupti_abi.h"
#include "observe/inject/cupti/cupti_pc_sampling_abi.h"
#include "observe/inject/cupti/cupti_profiler_abi.h"
#include "observe/inject/testing/fake_cuda.h"
#include "observe/inject/testing/fake_cupti_pc_sampling.h"
#include "observe/inject/testing/fake_cupti_profiler.h"

namespace cupti = hone::observe::inject::cupti;
using cupti::ActivityKind;
using cupti::Domain;
using cupti::Result;

namespace {

bool behaves(const char* how) {
  const char* wanted = std::getenv("FAKE_CUPTI");
  return wanted && std::strcmp(wanted, how) == 0;
}

uint64_t steady_clock() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

struct FakeCupti {
  cupti::Callback callback = nullptr;
  void* user = nullptr;
  cupti::BufferRequested requested = nullptr;
  cupti::BufferCompleted completed = nullptr;
  cupti::Clock clock = nullptr;
  std::set<std::pair<int, uint32_t>> callbacks;
  std::set<int> domains, kinds;
  uint8_t* buffer = nullptr;
  size_t capacity = 0, used = 0;
  uint64_t last_work = 0;

  uint64_t now() const { return clock ? clock() : steady_clock(); }
};

std::mutex lock;
FakeCupti state;
std::atomic<uint32_t> next_correlation{1};
std::atomic<int> changes{0};
std::atomic<int> changes_beside_calls{0};  // the real one may crash then

void note_change() {
  ++changes;
  if (fake_cuda_calls_beside() > 0) ++changes_beside_calls;
}

size_t bytes_of(ActivityKind kind) {
  switch (kind) {
    case ActivityKind::kConcurrentKernel:
      return 216;  // as CUDA 13 writes it: longer than what we declare
    case ActivityKind::kCopy:
    case ActivityKind::kPeerCopy:
      return 96;
    case ActivityKind::kSet:
      return 88;
    case ActivityKind::kMemory:
      return 128;
    case ActivityKind::kSynchronization:
      break;
  }
  return 56;
}

void give_buffer_back() {
  if (!state.buffer) return;
  uint8_t* buffer = std::exchange(state.buffer, nullptr);
  state.completed(nullptr, 0, buffer, state.capacity, state.used);
}

// With the lock held.
template <typename Record>
void write_record(const Record& record) {
  const size_t bytes = bytes_of(record.kind);
  if (state.buffer && state.used + bytes > state.capacity) give_buffer_back();
  if (!state.buffer) {
    size_t most = 0;
    state.used = 0;
    state.requested(&state.buffer, &state.capacity, &most);
    if (!state.buffer) return;
  }
  std::memset(state.buffer + state.used, 0xee, bytes);
  std::memcpy(state.buffer + state.used, &record, std::min(bytes, sizeof(record)));
  state.used += bytes;
}

const char* function_of(int domain, uint32_t call) {
  if (domain == static_cast<int>(Domain::kDriver))
    return call == kFakeCuLaunchKernel         ? "cuLaunchKernel"
           : call == kFakeCuDriverGetVersion   ? "cuDriverGetVersion"
           : call == kFakeCuCtxSynchronize     ? "cuCtxSynchronize"
           : call == kFakeCuStreamBeginCapture ? "cuStreamBeginCapture_v2"
           : call == kFakeCuStreamEndCapture   ? "cuStreamEndCapture"
                                               : nullptr;
  switch (call) {
    case kFakeLaunchKernel:
      return "cudaLaunchKernel_v7000";
    case kFakeMemcpyAsync:
      return "cudaMemcpyAsync_ptsz_v7000";
    case kFakeMemsetAsync:
      return "cudaMemsetAsync_v3020";
    case kFakeMemcpyPeerAsync:
      return "cudaMemcpyPeerAsync_v4000";
    case kFakeMalloc:
      return "cudaMalloc_v3020";
    case kFakeDeviceSynchronize:
      return "cudaDeviceSynchronize_v3020";
    case kFakeGraphLaunch:
      return "cudaGraphLaunch_v10000";
    case kFakeGetDevice:
      return "cudaGetDevice_v3020";
    default:
      return nullptr;
  }
}

// Of this thread. As on an H100: a call whose beginning was told and whose end is not, because its callback was disabled
// meanwhile, stays open for ever.
thread_local int told_calls = 0;

void tell(int domain, uint32_t call, cupti::Site site, const char* kernel, uint32_t correlation) {
  cupti::Callback callback = nullptr;
  void* user = nullptr;
  {
    std::lock_guard<std::mutex> held(lock);
    if (state.callbacks.count({domain, call}) || state.domains.count(domain)) {
      callback = state.callback;
      user = state.user;
    }
  }
  if (!callback) return;
  told_calls = std::max(0, told_calls + (site == cupti::Site::kEnter ? 1 : -1));
  cupti::CallData data = {};
  data.site = site;
  data.function = call == kFakeLaunchKernel ? "cudaLaunchKernel" : function_of(domain, call);
  data.correlation = correlation;
  const uint32_t* const of = fake_cuda_geometry();
  const cupti::LaunchParameters launch = {nullptr, {of[0], of[1], of[2]}, {of[3], of[4], of[5]}, 0, nullptr};
  int returned = 0;
  data.symbol = kernel;
  data.parameters = kernel ? &launch : nullptr;
  data.returned = site == cupti::Site::kExit ? &returned : nullptr;
  data.context = &state;
  callback(user, static_cast<Domain>(domain), call, &data);
}

// The outermost call decides: a call of the driver inside of one of the runtime has its correlation.
thread_local int depth = 0;
thread_local uint32_t correlation_of_outermost = 0;

uint32_t enter(int domain, uint32_t call, const char* kernel) {
  if (depth == 0 && told_calls == 0) correlation_of_outermost = next_correlation++;
  ++depth;
  tell(domain, call, cupti::Site::kEnter, kernel, correlation_of_outermost);
  return correlation_of_outermost;
}

void leave(int domain, uint32_t call, const char* kernel, uint32_t correlation) {
  --depth;
  tell(domain, call, cupti::Site::kExit, kernel, correlation);
}

void work(const FakeWork& done, uint32_t correlation) {
  std::lock_guard<std::mutex> held(lock);
  const auto enabled = [](ActivityKind kind) { return state.kinds.count(static_cast<int>(kind)) > 0; };
  const uint64_t now = state.now();
  state.last_work = steady_clock();
  if (done.kind == FakeWork::kKernel) fake_profiler_sees_kernel();
  if (done.kind == FakeWork::kKernel) fake_sampler_sees_kernel(done.name);
  if (done.kind == FakeWork::kKernel && enabled(ActivityKind::kConcurrentKernel)) {
    cupti::KernelActivity kernel = {};
    kernel.kind = ActivityKind::kConcurrentKernel;
    kernel.start = now;
    kernel.end = now + 1000;
    kernel.stream = 7;
    for (int axis = 0; axis < 3; ++axis) {
      kernel.grid[axis] = static_cast<int32_t>(fake_cuda_geometry()[axis]);
      kernel.block[axis] = static_cast<int32_t>(fake_cuda_geometry()[3 + axis]);
    }
    kernel.registers = 32;
    kernel.correlation = correlation;
    kernel.name = done.name;
    kernel.graph_node = done.graph_node;
    write_record(kernel);
  } else if (done.kind == FakeWork::kCopy && enabled(ActivityKind::kCopy)) {
    cupti::CopyActivity copy = {};
    copy.kind = ActivityKind::kCopy;
    copy.copy_kind = 1;
    copy.bytes = done.bytes;
    copy.start = now;
    copy.end = now + 500;
    copy.correlation = correlation;
    write_record(copy);
  } else if (done.kind == FakeWork::kPeerCopy && enabled(ActivityKind::kPeerCopy)) {
    cupti::PeerCopyActivity copy = {};
    copy.kind = ActivityKind::kPeerCopy;
    copy.copy_kind = 10;
    copy.bytes = done.bytes;
    copy.start = now;
    copy.end = now + 700;
    copy.destination_device = 1;
    copy.correlation = correlation;
    write_record(copy);
  } else if (done.kind == FakeWork::kSet && enabled(ActivityKind::kSet)) {
    cupti::SetActivity set = {};
    set.kind = ActivityKind::kSet;
    set.bytes = done.bytes;
    set.start = now;
    set.end = now + 300;
    set.correlation = correlation;
    write_record(set);
  } else if (done.kind == FakeWork::kAllocation && enabled(ActivityKind::kMemory)) {
    cupti::MemoryActivity memory = {};
    memory.kind = ActivityKind::kMemory;
    memory.operation = 1;
    memory.memory_kind = 3;
    memory.address = 0x7000;
    memory.bytes = done.bytes;
    memory.timestamp = now;
    memory.correlation = correlation;
    write_record(memory);
  } else if (done.kind == FakeWork::kSynchronization && enabled(ActivityKind::kSynchronization)) {
    write_record(cupti::SynchronizationActivity{ActivityKind::kSynchronization, 4, now, now + 100,
                                                correlation, 1, 0, 0});
  }
}

void tell_resource(uint32_t id, void* descriptor) {
  cupti::Callback callback = nullptr;
  void* user = nullptr;
  {
    std::lock_guard<std::mutex> held(lock);
    if (state.callbacks.count({static_cast<int>(Domain::kResource), id}))
      callback = state.callback, user = state.user;
  }
  if (!callback) return;
  cupti::ResourceData resource = {nullptr, nullptr, descriptor};
  callback(user, Domain::kResource, id, &resource);
}

void node_created(uint64_t node, uint64_t original) {
  cupti::GraphData graph = {};
  graph.node = reinterpret_cast<void*>(node);
  graph.original_node = reinterpret_cast<void*>(original);
  graph.graph = reinterpret_cast<void*>(uint64_t{5});
  tell_resource(cupti::kGraphNodeCreated, &graph);
  if (original) tell_resource(cupti::kGraphNodeCloned, &graph);
}

void module_loaded(const void* cubin, size_t bytes) {
  fake_sampler_sees_code(cubin, bytes);
  cupti::LoadedModule module = {1, bytes, static_cast<const char*>(cubin)};
  tell_resource(cupti::kModuleLoaded, &module);
}

constexpr FakeListener kListener = {enter, leave, work, node_created, module_loaded};

Result subscribe(cupti::Subscriber* subscriber, cupti::Callback callback, void* user) {
  note_change();
  std::lock_guard<std::mutex> held(lock);
  static int asked = 0;
  if (behaves("taken") || (behaves("taken_once") && asked++ == 0) || state.callback)
    return Result::kMultipleSubscribers;
  state.callback = callback;
  state.user = user;
  *subscriber = &state;
  fake_cuda_listen(&kListener);
  return Result::kSuccess;
}

template <typename Set, typename Member>
Result set_member(Set& set, Member member, bool enable) {
  std::lock_guard<std::mutex> held(lock);
  enable ? (void)set.insert(member) : (void)set.erase(member);
  return Result::kSuccess;
}

}  // namespace

extern "C" {

Result cuptiGetVersion(uint32_t* version) {
  return *version = behaves("old") ? 17 : 130001, Result::kSuccess;
}
Result cuptiGetResultString(Result, const char** text) {
  return *text = "CUPTI_ERROR_OF_THE_FAKE", Result::kSuccess;
}

Result cuptiSubscribe(cupti::Subscriber* subscriber, cupti::Callback callback, void* user) {
  return subscribe(subscriber, callback, user);
}
Result cuptiSubscribe_v2(cupti::Subscriber* subscriber, cupti::Callback callback, void* user,
                         cupti::SubscriberParameters* parameters) {
  const Result result = subscribe(subscriber, callback, user);
  if (result != Result::kSuccess)
    std::snprintf(parameters->other, parameters->other_bytes, "CUPTI for someone");
  return result;
}
// Numbers begin anew, as after another profiler had CUPTI meanwhile.
Result cuptiUnsubscribe(cupti::Subscriber) {
  note_change();
  std::lock_guard<std::mutex> held(lock);
  state.callback = nullptr;
  state.callbacks.clear();
  state.domains.clear();
  next_correlation = 1;
  fake_cuda_listen(nullptr);
  return Result::kSuccess;
}
int fake_cupti_changes() { return changes; }
int fake_cupti_changes_beside_calls() { return changes_beside_calls; }
Result cuptiEnableCallback(uint32_t enable, cupti::Subscriber, Domain domain, uint32_t id) {
  return set_member(state.callbacks, std::pair{static_cast<int>(domain), id}, enable != 0);
}
Result cuptiEnableDomain(uint32_t enable, cupti::Subscriber, Domain domain) {
  return set_member(state.domains, static_cast<int>(domain), enable != 0);
}
Result cuptiGetCallbackName(Domain domain, uint32_t id, const char** name) {
  *name = function_of(static_cast<int>(domain), id);
  return *name ? Result::kSuccess : static_cast<Result>(1);
}
Result cuptiGetTimestamp(uint64_t* now) { return *now = steady_clock(), Result::kSuccess; }
Result cuptiSetThreadIdType(uint32_t) { return Result::kSuccess; }
Result cuptiGetGraphNodeId(void* node, uint64_t* id) {
  return *id = reinterpret_cast<uint64_t>(node), Result::kSuccess;
}
Result cuptiGetGraphId(void* graph, uint32_t* id) {
  return *id = static_cast<uint32_t>(reinterpret_cast<uint64_t>(graph)), Result::kSuccess;
}
Result cuptiActivityRegisterCallbacks(cupti::BufferRequested requested, cupti::BufferCompleted completed) {
  std::lock_guard<std::mutex> held(lock);
  state.requested = requested;
  state.completed = completed;
  return Result::kSuccess;
}
Result cuptiActivityRegisterTimestampCallback(cupti::Clock clock) {
  std::lock_guard<std::mutex> held(lock);
  state.clock = clock;
  return Result::kSuccess;
}
Result cuptiActivityEnable(ActivityKind kind) {
  note_change();
  if (kind == ActivityKind::kConcurrentKernel && behaves("refuses")) return static_cast<Result>(35);
  return set_member(state.kinds, static_cast<int>(kind), true);
}
Result cuptiActivityDisable(ActivityKind kind) {
  note_change();
  return set_member(state.kinds, static_cast<int>(kind), false);
}
Result cuptiActivityFlushAll(uint32_t forced) {
  std::lock_guard<std::mutex> held(lock);
  if (behaves("late") && steady_clock() < state.last_work + 200'000'000) {
    if (!forced) return Result::kSuccess;
    state.used = 0;  // what was on its way is lost
  }
  give_buffer_back();
  return Result::kSuccess;
}
Result cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid, cupti::Activity** record) {
  auto* at = reinterpret_cast<uint8_t*>(*record);
  at = at ? at + bytes_of((*record)->kind) : buffer;
  if (at >= buffer + valid) return static_cast<Result>(12);
  *record = reinterpret_cast<cupti::Activity*>(at);
  return Result::kSuccess;
}
Result cuptiActivityGetNumDroppedRecords(void*, uint32_t, size_t* dropped) {
  return *dropped = behaves("drops") ? 7 : 0, Result::kSuccess;
}
}

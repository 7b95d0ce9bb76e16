#include "observe/inject/device/device_recorder.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <iterator>

#include "observe/inject/device/cuda_devices.h"
#include "observe/inject/recorder.h"

namespace hone::observe::inject {
namespace segments = trace::segments;
using segments::Mode;
namespace {

// ns, for Python's main thread to stand still, and for a call of the program to return.
constexpr int64_t kPausePatience = 500'000'000, kCallPatience = 50'000'000;
// ns, for what devices are still doing when a block ends.
constexpr int64_t kDeliveryPatience = 1'000'000'000, kDeliveryPeriod = 20'000'000, kQuiet = 300'000'000;
constexpr cupti::ActivityKind kKinds[] = {
    cupti::ActivityKind::kConcurrentKernel, cupti::ActivityKind::kCopy,
    cupti::ActivityKind::kPeerCopy,         cupti::ActivityKind::kSet,
    cupti::ActivityKind::kSynchronization,  cupti::ActivityKind::kMemory};

enum DeviceNote : uint32_t { kNoteActivities = 1, kNoteClock = 2, kNoteRefused = 4, kNoteLent = 8 };

// What CUPTI calls. It knows no closure: the recorder of the process is asked for.
void callback_of_cupti(void* device, cupti::Domain domain, uint32_t id, const void* data) {
  static_cast<DeviceRecorder*>(device)->on_callback(domain, id, data);
}

void buffer_requested(uint8_t** buffer, size_t* bytes, size_t* most_records) {
  *buffer = this_process()->device().activities().buffers().take();
  *bytes = *buffer ? ActivityBuffers::kBytes : 0;
  *most_records = 0;  // as many as there is room for
}

void buffer_completed(void* context, uint32_t stream, uint8_t* buffer, size_t, size_t valid_bytes) {
  if (buffer) this_process()->device().activities().complete(context, stream, buffer, valid_bytes);
}

uint64_t clock_of_cupti() { return static_cast<uint64_t>(monotonic_ns()); }

}  // namespace

DeviceRecorder::DeviceRecorder(const Environment& environment, Output& output)
    : environment_(environment), output_(output) {}

void DeviceRecorder::cuda_starts() {
  Locked locked(lock_);
  if (!cuda_is_here_.exchange(true)) obey_locked();
}

void DeviceRecorder::obey(const DeviceOrder& order) {
  Locked locked(lock_);
  order_ = order;
  is_our_thread_ = true;
  obey_locked();
  is_our_thread_ = false;
}

void DeviceRecorder::obey_locked() {
  const DeviceOrder& order = order_;
  if (!cuda_is_here() || state_ == State::kGone) return;
  stop_watching();
  sampler_.end();
  if (is_recorded(order.mode)) {
    attached_for_capture_ = false;  // from here on it is for what is ordered
    if (!attach()) return;
    enable_calls();
    if (!record()) return;
    open_calls_.begin_anew();
    calls_.begin();
    watch_ = Watch::kCalls;
    return;
  }
  stop_recording();
  if (order.mode == Mode::kCounters && attach()) return count_launches(order);
  if (order.mode == Mode::kFinished) return let_go();
  const bool watches = order.mark_runtime_call || order.mark_driver_call;
  if (order.mode == Mode::kWaiting && !watches) {
    may_attach_at_once() ? (void)attach() : let_go();
  } else if (order.mode == Mode::kSampling) {
    watch_for_marks(order);
    if (attach()) sampler_.begin(order.sampling_request);
  } else if (order.mode == Mode::kLeftAlone || order.mode == Mode::kWaiting) {
    watch_for_marks(order);
  }
}

void DeviceRecorder::make_quietly(Change change) {
  if (!is_our_thread_) return (this->*change)();
  if (PythonPause::python_ends())
    return;  // beside what the interpreter takes down; nothing more is recorded anyway
  if (pause_.hold(kPausePatience)) {
    (this->*change)();
    pause_.release();
  } else if (!attached() || !make_in_a_call(change)) {
    (this->*change)();  // the program waits or computes, and launches nothing
  }
}

bool DeviceRecorder::make_in_a_call(Change change) {
  if (!told_of_calls_) return false;
  change_ = change;
  gate_.want([](void* device) { static_cast<DeviceRecorder*>(device)->make_change(); }, this);
  return gate_.wait(kCallPatience);
}

// A program without Python can be held nowhere before CUPTI calls us: it is attached to while it starts CUDA, unless it has
// CUPTI itself. Studied kernels need all the code that is loaded (loaded_code.h), whatever the program is.
bool DeviceRecorder::may_attach_at_once() const {
  if (environment_.attach_early || environment_.lines) return true;
  return !PythonPause::python_is_here() && (loaded_ || !cupti_is_loaded());
}

bool DeviceRecorder::attach() {
  if (lent_) return false;
  if (state_ != State::kDetached) return state_ != State::kGone;
  char why[4096 + 256];
  if (!loaded_ && !load_cupti(environment_, cupti_, why, sizeof(why))) {
    state_ = State::kGone;
    output_.note(why);
    return false;
  }
  loaded_ = true;
  make_quietly(&DeviceRecorder::attach_now);
  return attached();
}

void DeviceRecorder::attach_now() {
  if (!subscribe()) return;
  if (!cupti_.ActivityRegisterTimestampCallback ||
      cupti_.ActivityRegisterTimestampCallback(clock_of_cupti) != cupti::Result::kSuccess) {
    uint64_t now = 0;
    cupti_.GetTimestamp(&now);
    activities_.set_clock_offset(monotonic_ns() - static_cast<int64_t>(now));
    note_once(kNoteClock, "CUPTI keeps its own clock here: times of devices are shifted to the host's once");
  }
  if (cupti_.ActivityEnableAllSyncRecords) cupti_.ActivityEnableAllSyncRecords(0);  // no polling
  if (cupti_.SetThreadIdType) cupti_.SetThreadIdType(cupti::kThreadIdOfSystem);
  if (attached_before_) {
    correlations_.attached_again();
    calls_.attached_again();
    activities_.attached_again();
  }
  attached_before_ = true;
  const cupti::Result result = cupti_.ActivityRegisterCallbacks(buffer_requested, buffer_completed);
  if (result != cupti::Result::kSuccess) {
    cupti_.Unsubscribe(subscriber_);
    gone("no device work recorded: %s: %s", "cuptiActivityRegisterCallbacks", result);
    return;
  }
  state_ = State::kWatching;
  open_calls_.begin_anew();
  told_of_calls_ = false;
  for (uint32_t id : {cupti::kGraphNodeCreated, cupti::kGraphNodeCloned, cupti::kGraphExecCreated}) {
    enable_callback(true, cupti::Domain::kResource, id);
  }
  if (environment_.lines) enable_callback(true, cupti::Domain::kResource, cupti::kModuleLoaded);
  enable_callback(true, cupti::Domain::kState, cupti::kFatalError);
  watch_captures();
  if (!exit_is_watched_) {
    exit_is_watched_ = true;
    watch_exit_of_process();  // after CUPTI was loaded, to run before it goes
  }
}

bool DeviceRecorder::subscribe() {
  char other[128] = {};
  cupti::Result result;
  if (cupti_.Subscribe_v2) {
    cupti::SubscriberParameters parameters = {sizeof(parameters), "hone", other, sizeof(other)};
    result = cupti_.Subscribe_v2(&subscriber_, callback_of_cupti, this, &parameters);
  } else {
    result = cupti_.Subscribe(&subscriber_, callback_of_cupti, this);
  }
  refused_ = false;
  if (result == cupti::Result::kSuccess) return true;
  if (result == cupti::Result::kMultipleSubscribers) {
    refused(other[0] ? other : "unnamed");
  } else {
    gone("no device work recorded: CUPTI cannot be used (%s): %s", cupti_.path, result);
  }
  return false;
}

// Until the next recorded block, when the program's profiler may have ended.
void DeviceRecorder::refused(const char* by) {
  refused_ = true;
  char text[512];
  std::snprintf(
      text, sizeof(text),
      "no device work recorded while the program's own profiler has CUPTI, which serves one at a time (%s)",
      by);
  note_once(kNoteRefused, text);
}

bool DeviceRecorder::record() {
  if (state_ == State::kRecording) return true;
  make_quietly(&DeviceRecorder::enable_activities);
  return state_ == State::kRecording;
}

void DeviceRecorder::enable_activities() {
  const cupti::Result result = cupti_.ActivityEnable(cupti::ActivityKind::kConcurrentKernel);
  if (result != cupti::Result::kSuccess) {
    cupti_.Unsubscribe(subscriber_);
    gone("no device work recorded: CUPTI refuses to record kernels (%s): %s", cupti_.path, result);
    return;
  }
  for (cupti::ActivityKind kind : kKinds) set_activity(kind, true);
  state_ = State::kRecording;
  if (!counts_launches_) own_calls_ = 0;
  counts_launches_ = true;
}

void DeviceRecorder::disable_activities() {
  for (cupti::ActivityKind kind : kKinds) set_activity(kind, false);
  disable_work();
}

// The program's calls are recorded where it makes them: in the runtime, and in the driver if it goes there itself
// (Triton, CuPy, JAX). The first recorded block shows whether it does: where it does not, the runtime's calls of the driver
// need not be looked at.
void DeviceRecorder::enable_calls() {
  runtime_.fill(cupti_, output_);
  driver_.fill(cupti_, output_);
  driver_calls_recorded_ = driver_calls_wanted_ && !environment_.driver_calls_never;
  const auto enable = [this](cupti::Domain domain) {
    return [this, domain](uint32_t id) { enable_callback(true, domain, id); };
  };
  runtime_.each_recorded(enable(cupti::Domain::kRuntime));
  if (driver_calls_recorded_) driver_.each_recorded(enable(cupti::Domain::kDriver));
  told_of_calls_ = true;
}

// Callbacks of calls that work are disabled where none of these is open; those of calls that wait, in which a program may
// be at any time, stay.
void DeviceRecorder::enable_work(bool enable) {
  runtime_.each_that_works([&](uint32_t id) { enable_callback(enable, cupti::Domain::kRuntime, id); });
  driver_.each_that_works([&](uint32_t id) { enable_callback(enable, cupti::Domain::kDriver, id); });
  told_of_calls_ = told_of_calls_ || enable;
}

void DeviceRecorder::disable_work() { enable_work(false); }

void DeviceRecorder::stop_recording() {
  if (state_ != State::kRecording) return;
  make_quietly(&DeviceRecorder::disable_activities);
  wait_for_delivery();
  cupti_.ActivityFlushAll(cupti::kFlushForced);
  const Activities::Launched launched = activities_.take_launched();
  if (launched.kernels > 0 && !environment_.driver_calls_always) {
    driver_calls_wanted_ = (launched.without_call + launched.by_driver) * 100 > launched.kernels;
  }
  state_ = State::kWatching;
}

// Hosts run ahead of their devices: what those are still doing when a block ends is waited for, because a forced flush
// would lose its times. It has come when CUPTI has given every buffer back; should it keep an empty one, when the work
// of the last launch has come and nothing more for a while.
void DeviceRecorder::wait_for_delivery() {
  const timespec period = {0, kDeliveryPeriod};
  uint64_t buffers = 0;
  for (int64_t waited = 0, quiet = 0; waited < kDeliveryPatience; waited += kDeliveryPeriod) {
    cupti_.ActivityFlushAll(0);
    const Activities::Delivered delivered = activities_.delivered();
    quiet = delivered.buffers == buffers ? quiet + kDeliveryPeriod : 0;
    buffers = delivered.buffers;
    if (activities_.buffers().out() == 0 || (delivered.last_launch && quiet >= kQuiet)) return;
    nanosleep(&period, nullptr);
  }
}

void DeviceRecorder::set_activity(cupti::ActivityKind kind, bool enable) {
  const cupti::Result result = enable ? cupti_.ActivityEnable(kind) : cupti_.ActivityDisable(kind);
  if (!enable || result == cupti::Result::kSuccess) return;
  char text[512];
  std::snprintf(text, sizeof(text), "not recorded: CUPTI's activities of kind %d (cupti_activity.h): %s",
                static_cast<int>(kind), cupti_.text(result));
  note_once(kNoteActivities, text);
}

void DeviceRecorder::enable_callback(bool enable, cupti::Domain domain, uint32_t id) {
  cupti_.EnableCallback(enable, subscriber_, domain, id);
}

// As long as CUPTI is attached: kernels of a capture must not be counted.
void DeviceRecorder::watch_captures() {
  for (uint32_t id : cupti::kBeginCaptureCalls) enable_callback(true, cupti::Domain::kDriver, id);
  for (uint32_t id : cupti::kEndCaptureCalls) enable_callback(true, cupti::Domain::kDriver, id);
}

void DeviceRecorder::watch_for_marks(const DeviceOrder& order) {
  if ((!order.mark_runtime_call && !order.mark_driver_call) || !attach()) return;
  runtime_.fill(cupti_, output_);
  driver_.fill(cupti_, output_);
  mark_runtime_call_ = order.mark_runtime_call;
  mark_driver_call_ = order.mark_driver_call;
  open_calls_.begin_anew();
  watch_ = Watch::kMarks;
  runtime_.each_like(mark_runtime_call_,
                     [&](uint32_t id) { enable_callback(true, cupti::Domain::kRuntime, id); });
  driver_.each_like(mark_driver_call_,
                    [&](uint32_t id) { enable_callback(true, cupti::Domain::kDriver, id); });
  told_of_calls_ = true;
}

void DeviceRecorder::count_launches(const DeviceOrder& order) {
  runtime_.fill(cupti_, output_);
  driver_.fill(cupti_, output_);
  if (!counters_.begin(order.counter_request)) return;
  open_calls_.begin_anew();
  watch_ = Watch::kCounters;
  enable_work(true);
}

// The launch that is being counted ends in a callback: they are disabled after it.
void DeviceRecorder::stop_counting() {
  counters_.end();
  watch_ = Watch::kNothing;
  if (attached()) make_quietly(&DeviceRecorder::disable_work);
}

void DeviceRecorder::stop_watching() {
  if (watch_ == Watch::kCounters) stop_counting();
  watch_ = Watch::kNothing;
}

// Disabled, CUPTI costs up to 1 µs a launch from then on. It is not finalized, which alone would free the program of that: it
// crashed programs, in a callback of theirs as well (docs/decisions/0023-observing.md).
void DeviceRecorder::let_go() {
  if (!attached() || captures_ > 0 || !pause_.hold(kPausePatience))
    return;  // a graph's nodes are told of until its capture ends
  unsubscribe();
  pause_.release();
}

void DeviceRecorder::unsubscribe() {
  if (attached()) cupti_.Unsubscribe(subscriber_);
  counts_launches_ = false;
  state_ = State::kDetached;
}

void DeviceRecorder::flush(bool forced) {
  Locked locked(lock_);
  if (state_ != State::kRecording) return;
  cupti_.ActivityFlushAll(forced ? cupti::kFlushForced : 0);
}

void DeviceRecorder::collect_samples() {
  Locked locked(lock_);
  sampler_.collect();
}

uint64_t DeviceRecorder::launches() {
  Locked locked(lock_);
  if (!attached() || !counts_launches_) return 0;
  last_number_ = 0;
  enable_callback(true, cupti::Domain::kDriver, cupti::kDriverGetVersion);
  call_driver();
  enable_callback(false, cupti::Domain::kDriver, cupti::kDriverGetVersion);
  return last_number_ == 0 ? 0 : last_number_ - own_calls_++;
}

void DeviceRecorder::describe_devices() {
  if (devices_described_ || !cuda_is_here()) return;
  devices_described_ = write_devices(output_);
}

void DeviceRecorder::lend(const char* reason) {
  Locked locked(lock_);
  if (state_ == State::kGone || lent_.exchange(true)) return;
  stop_watching();
  sampler_.end();
  stop_recording();
  unsubscribe();
  note_once(kNoteLent, reason);
}

void DeviceRecorder::take_back() { lent_ = false; }

void DeviceRecorder::capture_begins() {
  Locked locked(lock_);
  if (captures_++ > 0 || !cuda_is_here() || state_ != State::kDetached) return;
  attached_for_capture_ = attach();
}

void DeviceRecorder::capture_ends() {
  Locked locked(lock_);
  if (captures_ == 0 || --captures_ > 0) return;
  if (attached_for_capture_ && state_ == State::kWatching && watch_ == Watch::kNothing) unsubscribe();
  attached_for_capture_ = false;
}

void DeviceRecorder::process_ends() {
  flush(true);
  Locked locked(lock_);
  sampler_.end();
  counters_.write_last_samples();
  state_ = State::kGone;
}

void DeviceRecorder::in_child() {
  lock_.reopen();
  watch_ = Watch::kNothing;
  is_our_thread_ = false;
  pause_.in_child();
  gate_.in_child();
  open_calls_.begin_anew();
  sampler_.in_child();
  counters_.in_child();
  code_.in_child();
  lent_ = false;
  captures_ = 0;
  if (cuda_is_here()) state_ = State::kGone;  // CUDA does not work in the child either
}

void DeviceRecorder::gone(const char* format, const char* what, cupti::Result result) {
  state_ = State::kGone;
  char text[4096 + 512];
  std::snprintf(text, sizeof(text), format, what, cupti_.text(result));
  output_.note(text);
}

void DeviceRecorder::note_once(uint32_t which, const char* text) {
  if (noted_ & which) return;
  noted_ |= which;
  output_.note(text);
}

void DeviceRecorder::on_callback(cupti::Domain domain, uint32_t id, const void* data) {
  if (!data) return;
  switch (domain) {
    case cupti::Domain::kRuntime:
    case cupti::Domain::kDriver:
      return on_call(domain, id, *static_cast<const cupti::CallData*>(data));
    case cupti::Domain::kResource:
      return on_resource(id, static_cast<const cupti::ResourceData*>(data)->descriptor);
    case cupti::Domain::kState:
      if (id != cupti::kFatalError) return;
      state_ = State::kGone;
      output_.note("no device work recorded from here on: CUPTI met an error and detached itself");
      return;
  }
}

void DeviceRecorder::on_resource(uint32_t id, const void* descriptor) {
  if (!descriptor) return;
  if (id != cupti::kModuleLoaded) return on_graph(id, *static_cast<const cupti::GraphData*>(descriptor));
  const auto& module = *static_cast<const cupti::LoadedModule*>(descriptor);
  code_.loaded(module.cubin, module.bytes);
}

void DeviceRecorder::on_call(cupti::Domain domain, uint32_t id, const cupti::CallData& call) {
  if (domain == cupti::Domain::kDriver && id == cupti::kDriverGetVersion) {
    last_number_ = call.correlation;
    return;
  }
  if (domain == cupti::Domain::kDriver && on_capture(id, call)) return;
  const OpenCalls::Edge edge = open_calls_.on_call(call.site == cupti::Site::kEnter);
  if (edge == OpenCalls::Edge::kOurs) return;
  const OpenCalls::Ours ours;  // counting and sampling wait for the device
  record_call(edge, domain, id, call);
  if (edge == OpenCalls::Edge::kOuterEnds) gate_.call_ended();
}

void DeviceRecorder::record_call(OpenCalls::Edge edge, cupti::Domain domain, uint32_t id,
                                 const cupti::CallData& call) {
  switch (watch_.load(std::memory_order_acquire)) {
    case Watch::kNothing:
      return;
    case Watch::kCalls:
      return calls_.on_call(edge, domain, id, call);
    case Watch::kCounters:
      return counters_.on_call(edge, domain, id, call);
    case Watch::kMarks:
      return on_watched_call(edge, domain, id, call);
  }
}

bool DeviceRecorder::on_capture(uint32_t id, const cupti::CallData& call) {
  const auto is_one_of = [id](const auto& ids) {
    return std::find(std::begin(ids), std::end(ids), id) != std::end(ids);
  };
  const bool begins = is_one_of(cupti::kBeginCaptureCalls);
  if (!begins && !is_one_of(cupti::kEndCaptureCalls)) return false;
  counters_.on_capture(begins, call);
  return true;
}

// A call of the driver that the runtime makes is a part of the program's one call.
void DeviceRecorder::on_watched_call(OpenCalls::Edge edge, cupti::Domain domain, uint32_t id,
                                     const cupti::CallData& call) {
  const bool runtime = domain == cupti::Domain::kRuntime;
  if (runtime ? !begins(edge) || !runtime_.is_like(id, mark_runtime_call_)
              : edge != OpenCalls::Edge::kOuterBegins || !driver_.is_like(id, mark_driver_call_))
    return;
  this_process()->mark(segments::MarkKind::kApiCall, runtime ? runtime_.name(id) : driver_.name(id),
                       call.correlation);
}

void DeviceRecorder::on_graph(uint32_t id, const cupti::GraphData& graph) {
  if (id == cupti::kGraphExecCreated || !cupti_.GetGraphNodeId) return;
  segments::GraphNode record;
  record.time_ns = monotonic_ns();
  record.tid = current_tid();
  if (cupti_.GetGraphNodeId(graph.node, &record.node) != cupti::Result::kSuccess) return;
  if (id == cupti::kGraphNodeCloned && graph.original_node) {
    cupti_.GetGraphNodeId(graph.original_node, &record.original);
  }
  if (cupti_.GetGraphId && graph.graph) cupti_.GetGraphId(graph.graph, &record.graph);
  output_.add(segments::with_head(record));
}

}  // namespace hone::observe::inject

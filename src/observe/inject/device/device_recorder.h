// Recording what devices do: CUPTI's subscription of this process, made when the session orders the first recorded
// block, and what of it is enabled from then on (docs/decisions/0023-observing.md).
//
// CUPTI has one subscriber in a process. If the program has a profiler of its own, that one wins: we record the
// host alone and say so.
// It bears no change of its state beside calls of the program: subscribing, and enabling or disabling activities, are done
// while Python's main thread stands still (python_pause.h), or else by the program itself when a call of it returns
// (call_gate.h). A program without Python is attached to while it starts CUDA, before it makes any call.
//
// For experiments: HONE_OBSERVE_ATTACH=early subscribes to every program as soon as it starts CUDA;
// HONE_OBSERVE_DRIVER_CALLS=always|never.
#pragma once

#include <atomic>
#include <cstdint>

#include "observe/inject/counters/counter_recorder.h"
#include "observe/inject/counters/pm_sampler.h"
#include "observe/inject/cupti/cupti.h"
#include "observe/inject/device/activities.h"
#include "observe/inject/device/call_gate.h"
#include "observe/inject/device/call_table.h"
#include "observe/inject/device/calls.h"
#include "observe/inject/device/loaded_code.h"
#include "observe/inject/device/open_calls.h"
#include "observe/inject/log/output.h"
#include "observe/inject/python_pause.h"
#include "trace/segments/record.h"

namespace hone::observe::inject {

// Whether devices are recorded in this mode, and what the program says of itself.
constexpr bool is_recorded(trace::segments::Mode mode) {
  using trace::segments::Mode;
  return mode == Mode::kTimeline || mode == Mode::kOperators || mode == Mode::kStacks;
}

// What the session wants of the device side.
struct DeviceOrder {
  trace::segments::Mode mode = trace::segments::Mode::kWaiting;
  uint32_t mark_runtime_call = 0, mark_driver_call = 0;
  const char* counter_request = "";   // the file that says what to count
  const char* sampling_request = "";  // and what to sample
};

class DeviceRecorder {
 public:
  DeviceRecorder(const Environment& environment, Output& output);

  // CUDA has been loaded into this process and calls us while it starts: the last order comes into force.
  void cuda_starts();

  // Does what is ordered; returns when it is in force.
  void obey(const DeviceOrder& order);

  // How much work the program has launched so far, as CUPTI numbers it: kernels, copies, fills and replays of graphs. 0: not
  // known. CUPTI begins to count when it first records kernels, goes on where that is disabled, and tells only in a
  // callback: of a call that we make ourselves.
  uint64_t launches();

  // Delivers what CUPTI has finished; `forced`: the unfinished as well.
  void flush(bool forced);

  // Writes down what devices have sampled since, in Mode::kSampling.
  void collect_samples();

  // Writes what the devices are, once CUDA can be asked.
  void describe_devices();

  // Lets go of CUPTI while the program's own profiler wants it, and until that has ended.
  void lend(const char* reason);
  void take_back();

  // While the program captures a CUDA graph CUPTI says which call made which node, which nobody can learn later. Where
  // nothing else is wanted of it yet it is subscribed for that alone, and let go of at the end.
  void capture_begins();
  void capture_ends();

  // The process ends: everything is delivered, and CUPTI, which is taken down next, is not called any more.
  void process_ends();

  bool cuda_is_here() const { return cuda_is_here_.load(std::memory_order_acquire); }
  bool attached() const { return state_.load() == State::kWatching || state_.load() == State::kRecording; }
  bool unavailable() const { return state_.load() == State::kGone || refused_.load(); }
  bool lent() const { return lent_.load(); }

  // Whether all is counted that was ordered to be, as far as it can be.
  bool counted() {
    counters_.write_samples();
    return counters_.done();
  }

  void in_child();

  // Called by CUPTI.
  void on_callback(cupti::Domain domain, uint32_t id, const void* data);
  Activities& activities() { return activities_; }

 private:
  enum class State {
    kDetached,   // CUPTI has not been touched, or has been left
    kWatching,   // subscribed: nodes of graphs, and in steps left alone perhaps one call
    kRecording,  // activities enabled
    kGone,       // not to be had in this process
  };
  // What callbacks of calls are for at the moment. Shared with threads of the program: an atomic, no lock.
  enum class Watch : uint32_t { kNothing, kCalls, kMarks, kCounters };

  // A change of CUPTI's state, which is not to be made beside a call of the program.
  using Change = void (DeviceRecorder::*)();
  void make_quietly(Change change);
  bool make_in_a_call(Change change);
  void make_change() { (this->*change_)(); }

  void obey_locked();
  bool may_attach_at_once() const;
  bool attach();
  void attach_now();
  bool subscribe();
  bool record();
  void enable_activities();
  void disable_activities();
  void enable_calls();
  void watch_captures();
  void stop_recording();
  void wait_for_delivery();
  void watch_for_marks(const DeviceOrder& order);
  void count_launches(const DeviceOrder& order);
  void stop_counting();
  void enable_work(bool enable);
  void disable_work();
  void stop_watching();
  void let_go();
  void unsubscribe();
  void gone(const char* format, const char* what, cupti::Result result);
  void refused(const char* by);
  void note_once(uint32_t which, const char* text);
  void set_activity(cupti::ActivityKind kind, bool enable);
  void enable_callback(bool enable, cupti::Domain domain, uint32_t id);

  void on_call(cupti::Domain domain, uint32_t id, const cupti::CallData& call);
  void record_call(OpenCalls::Edge edge, cupti::Domain domain, uint32_t id, const cupti::CallData& call);
  void on_watched_call(OpenCalls::Edge edge, cupti::Domain domain, uint32_t id, const cupti::CallData& call);
  bool on_capture(uint32_t id, const cupti::CallData& call);
  void on_resource(uint32_t id, const void* descriptor);
  void on_graph(uint32_t id, const cupti::GraphData& graph);

  const Environment& environment_;
  Output& output_;
  Cupti cupti_;
  CallTable runtime_{cupti::Domain::kRuntime}, driver_{cupti::Domain::kDriver};
  Correlations correlations_;
  Calls calls_{output_, runtime_, driver_, correlations_};
  Activities activities_{cupti_, output_, calls_, correlations_};
  LoadedCode code_;
  OpenCalls open_calls_;
  CounterRecorder counters_{cupti_, output_, code_, open_calls_};
  PmSampler sampler_{cupti_, output_};
  PythonPause pause_;
  CallGate gate_{open_calls_};
  Change change_ = nullptr;  // for the gate

  DeviceOrder order_;  // the last
  Lock lock_;          // orders, one at a time; never taken in a callback of CUPTI
  std::atomic<State> state_{State::kDetached};
  std::atomic<bool> cuda_is_here_{false};
  std::atomic<bool> refused_{false};  // the program's own profiler has CUPTI at the moment
  std::atomic<bool> lent_{false};     // and told us so
  bool attached_for_capture_ = false;
  bool counts_launches_ = false;
  uint32_t own_calls_ = 0;        // which CUPTI counts, too
  std::atomic<int> captures_{0};  // of graphs, that go on
  bool loaded_ = false, attached_before_ = false, devices_described_ = false, exit_is_watched_ = false;
  cupti::Subscriber subscriber_ = nullptr;
  uint32_t mark_runtime_call_ = 0, mark_driver_call_ = 0;
  uint32_t noted_ = 0;  // bits of notes that have been written
  bool driver_calls_recorded_ = false;
  bool driver_calls_wanted_ = true;  // until a block has shown that the program makes none

  std::atomic<Watch> watch_{Watch::kNothing};
  std::atomic<uint32_t> last_number_{0};  // of what was launched
  bool told_of_calls_ = false;            // callbacks of calls have been enabled since it was attached
  bool is_our_thread_ = false;            // that holds the lock: not one of the program
};

}  // namespace hone::observe::inject

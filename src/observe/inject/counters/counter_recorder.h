// Hardware counters of single launches of the program, while the session has Mode::kCounters in force: CUPTI's range profiler
// is started when the program calls the driver to launch a wanted kernel and stopped when that call returns. In between
// CUPTI saves the device's memory, runs the kernel once for each pass, and restores what it wrote: the program finds what one
// run would have left. What caches matter to is counted before that, in launches of their own, which run once, as the program
// runs them. Where memory is too full to be saved on the device, all metrics are divided into such groups of one pass each
// (docs/decisions/0028-counters.md).
//
// What is not counted, because counting would change what the program does or fail it: kernels launched by CUDA graphs,
// launches into streams that are being captured and all others meanwhile, and what the session leaves out (collectives).
//
// A launch is counted alone: calls of other threads that would give the device work, copy, set or allocate memory wait until it
// is done, because what they did in between would be counted, repeated or undone with it. That takes tens of milliseconds, and
// has an end (kGatePatience) whatever happens.
//
// Where source lines are wanted, more launches of the same kernels are sampled once all are counted (pc_sampler.h), likewise
// alone.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "observe/inject/counters/counter_config.h"
#include "observe/inject/counters/counter_request.h"
#include "observe/inject/counters/counter_rounds.h"
#include "observe/inject/counters/pc_sampler.h"
#include "observe/inject/counters/range_counter.h"
#include "observe/inject/cupti/cupti.h"
#include "observe/inject/device/open_calls.h"
#include "observe/inject/log/output.h"

namespace hone::observe::inject {

class CounterRecorder {
 public:
  CounterRecorder(const Cupti& cupti, Output& output, LoadedCode& code, const OpenCalls& open_calls)
      : cupti_(cupti), output_(output), open_calls_(open_calls), sampler_(cupti, output, code) {}

  // Makes ready what the file asks for. False: nothing can be counted; a note says why, unless nothing was asked.
  bool begin(const char* request_path);
  // No launch is counted from here on: waits for the one at hand, lets go of the hardware, and notes what was not counted.
  void end();
  // Everything is counted that was asked for, or will not be.
  bool done() const;
  // Of the thread that obeys orders, from time to time: what was sampled is written once there is enough, or nothing more comes.
  void write_samples();
  // Nothing more will come: what there is is written.
  void write_last_samples();

  // At both ends of calls of the program: of those that work (CallTable::each_that_works), between begin() and end(), and from
  // the moment CUPTI is attached of those of the driver that begin and end the capture of a stream. Never throws.
  void on_call(OpenCalls::Edge edge, cupti::Domain domain, uint32_t id, const cupti::CallData& call);
  void on_capture(bool begins, const cupti::CallData& call);

  // CUPTI's profiler holds on to a context of the program: where no launch came after the last count.
  bool holds_hardware() const { return counter_.enabled() || sampler_enabled_; }

  void in_child();

 private:
  struct Launched;
  using Wanted = CounterRounds::Wanted;
  struct Sampled {
    double ns = 0;     // a launch of the kernel, as first counted
    int attempts = 0;  // to count one that takes as long
    uint32_t launches = 0;
    uint64_t samples = 0;
  };

  bool prepare(const char* request_path);
  bool start_profiler(uint32_t device);
  void make_groups(const CounterRequest& request);
  bool use_group(size_t group);
  void divide_if_memory_is_short();
  void pass_gate();
  bool alone() const;
  void launch_begins(uint32_t id, const cupti::CallData& call);
  void launch_ends(const cupti::CallData& call);
  Wanted* wanted(const Launched& launched);
  bool can_be_counted(const Launched& launched);
  bool start(void* context);
  double counted_time() const;
  void take_count();
  bool is_like_the_first(double ns);
  void write();
  void all_are_counted();
  bool sampled_enough(const Wanted& wanted) const;
  void sample_ends();
  void release_hardware();
  void let_go();
  void note_missing();
  bool check(bool worked);
  void give_up(const std::string& why);

  // What launches are for: to be counted, to be sampled, and then nothing more, until samples are written.
  enum class Phase : uint32_t { kCounting, kSampling, kSampled, kWriting };

  const Cupti& cupti_;
  Output& output_;
  const OpenCalls& open_calls_;
  PcSampler sampler_;
  CuptiProfiler profiler_;
  RangeCounter counter_{profiler_};
  const char* chip_ = nullptr;

  std::atomic<bool> ends_{true}, done_{true}, gave_up_{false};
  std::atomic<Phase> phase_{Phase::kCounting};
  std::atomic<int64_t> sampling_until_ns_{0};
  std::atomic<bool> sampler_enabled_{false};
  std::atomic<int32_t> captures_{0};  // of streams, at this moment
  std::atomic<uint32_t> owner_{0};    // futex: the thread whose launch is being counted; 0: none
  std::atomic<uint32_t> held_{0};     // threads that wait at the gate
  CounterRounds rounds_;

  // Of the owner:
  std::vector<std::vector<std::string>> groups_;  // metrics that are counted together
  size_t once_groups_ = 0;                        // of them, the first: in one pass
  static constexpr size_t kNoGroup = SIZE_MAX;
  size_t group_ = kNoGroup;  // that counter_ is made for
  std::vector<uint32_t> metric_names_;
  Wanted* kernel_ = nullptr;
  ByteBuffer record_;
  std::vector<Sampled> sampled_;  // by the kernel's number
  bool memory_was_asked_ = false;
  bool lines_wanted_ = false;
  int failures_ = 0;
};

}  // namespace hone::observe::inject

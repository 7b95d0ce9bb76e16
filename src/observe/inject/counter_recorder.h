// Hardware counters of single launches of the program, while the session has Mode::kCounters in force: CUPTI's range profiler
// is started when the program calls the driver to launch a wanted kernel and stopped when that call returns. In between
// CUPTI saves the device's memory, runs the kernel once for each pass, and restores what it wrote: the program finds what one
// run would have left. Where memory is too full to be saved on the device, all metrics are divided into groups of one pass
// each, and each launch is counted for one group: it then runs once (docs/decisions/0028-counters.md).
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

#include "observe/inject/counter_config.h"
#include "observe/inject/counter_request.h"
#include "observe/inject/cupti.h"
#include "observe/inject/output.h"
#include "observe/inject/pc_sampler.h"

namespace hone::observe::inject {

class CounterRecorder {
 public:
  CounterRecorder(const Cupti& cupti, Output& output, LoadedCode& code)
      : cupti_(cupti), output_(output), sampler_(cupti, output, code) {}

  // Makes ready what the file asks for. False: nothing can be counted; a note says why, unless nothing was asked.
  bool begin(const char* request_path);
  // No launch is counted from here on: waits for the one at hand, and lets go of the hardware.
  void end();
  // Everything is counted that was asked for, or will not be.
  bool done() const { return done_.load(std::memory_order_acquire); }
  // Of the thread that obeys orders, from time to time: what was sampled is written once there is enough, or nothing more comes.
  void write_samples();

  // At both ends of calls of the program: of those that work (CallTable::each_that_works), between begin() and end(), and from
  // the moment CUPTI is attached of those of the driver that begin and end the capture of a stream. Never throws.
  void on_call(cupti::Domain domain, uint32_t id, const cupti::CallData& call);
  void on_capture(bool begins, const cupti::CallData& call);

  // Whether CUPTI's profiler has been started in this process.
  bool profiler_was_used() const { return profiler_was_used_; }

  void in_child();

 private:
  // The range profiler of one context. CUPTI keeps the address of the image for as long as it is enabled.
  struct Context {
    void* context = nullptr;
    void* profiler = nullptr;
    std::vector<uint8_t> image, empty_image;
  };
  struct Launched;
  struct Wanted {
    WantedKernel kernel;
    uint32_t counted = 0;
    bool in_round = false;  // it has been counted in this round
    double ns = 0;          // a launch, as counted
    uint32_t sampled = 0;   // launches
    uint64_t samples = 0;
  };

  bool prepare(const char* request_path);
  bool use_metrics(const std::vector<std::string>& metrics);
  void divide_if_memory_is_short();
  void pass_gate();
  void leave_gate();
  bool alone() const;
  void launch_begins(uint32_t id, const cupti::CallData& call);
  void launch_ends(const cupti::CallData& call);
  Wanted* wanted(const Launched& launched);
  bool can_be_counted(const Launched& launched);
  bool start(void* context);
  Context* context_of(void* context);
  bool make_images(Context& context);
  bool count_was_good();
  void write(Wanted& wanted);
  bool round_is_over() const;
  void next_round();
  void all_are_counted();
  bool sampled_enough(const Wanted& wanted) const;
  void sample_ends();
  void disable_contexts();
  void let_go();
  bool check(cupti::Result result, const char* what);
  void give_up(const std::string& why);

  // What launches are for: to be counted, to be sampled, nothing more.
  enum class Phase : uint32_t { kCounting, kSampling, kSampled };

  const Cupti& cupti_;
  Output& output_;
  PcSampler sampler_;
  CuptiProfiler profiler_;
  const char* chip_ = nullptr;
  bool profiler_was_used_ = false;

  std::atomic<bool> ends_{true}, done_{true};
  std::atomic<Phase> phase_{Phase::kCounting};
  std::atomic<int64_t> sampling_until_ns_{0};
  std::atomic<int32_t> captures_{0};  // of streams, at this moment
  std::atomic<uint32_t> owner_{0};    // futex: the thread whose launch is being counted; 0: none
  std::atomic<int32_t> in_calls_{0};  // threads
  std::atomic<uint32_t> period_{0};   // counts begin() and what forgets who is in a call
  std::vector<Wanted> wanted_;        // as many from begin() to end()

  // Of the owner:
  std::vector<std::string> known_;
  std::vector<std::vector<std::string>> groups_;  // metrics of each round, where they are divided
  std::unique_ptr<CounterConfig> config_;
  std::vector<uint32_t> metric_names_;
  std::vector<Context> contexts_;
  Context* at_ = nullptr;
  Wanted* kernel_ = nullptr;
  std::vector<double> values_;
  ByteBuffer record_;
  bool memory_was_asked_ = false;
  bool lines_wanted_ = false;
  uint32_t round_ = 0, rounds_ = 0;
  int64_t last_count_ns_ = 0;
  std::atomic<bool> enabled_{false};     // contexts
  bool contexts_are_of_before_ = false;  // of metrics that are not wanted any more
  int failures_ = 0;
};

}  // namespace hone::observe::inject

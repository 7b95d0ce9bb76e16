// Hardware counters of single launches of the program, while the session has Mode::kCounters in force: CUPTI's range profiler
// is started when the program calls the driver to launch a wanted kernel and stopped when that call returns. In between
// CUPTI saves what the kernel may write, runs it once for each pass, and restores: the program finds the same memory.
//
// What is not counted, because replay would change what the program does or fail it: kernels launched by CUDA graphs, launches
// into streams that are being captured and all others meanwhile, and what the session leaves out (collectives). A
// count that launches of other threads came into is thrown away and taken again.
//
// The calls that are counted take milliseconds longer, on the thread that makes them; nothing else waits.
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

namespace hone::observe::inject {

class CounterRecorder {
 public:
  CounterRecorder(const Cupti& cupti, Output& output) : cupti_(cupti), output_(output) {}

  // Makes ready what the file asks for. False: nothing can be counted; a note says why, unless nothing was asked.
  bool begin(const char* request_path);
  // No launch is counted from here on: waits for the one at hand, and lets go of the hardware.
  void end();
  // Everything is counted that was asked for, or will not be.
  bool done() const { return left_.load(std::memory_order_acquire) == 0; }

  // Of the driver's calls, at both ends: those that launch, between begin() and end(), and from the moment CUPTI is
  // attached those that begin and end the capture of a stream. Never throws.
  void on_launch(uint32_t id, const cupti::CallData& call);
  void on_capture(bool begins, const cupti::CallData& call);

  void in_child();

 private:
  // The range profiler of one context, and an image that nothing was counted into yet.
  struct Context {
    void* context = nullptr;
    void* profiler = nullptr;
    std::vector<uint8_t> empty_image;
  };
  struct Launched;

  bool prepare(const char* request_path);
  void launch_begins(uint32_t id, const cupti::CallData& call);
  void launch_ends(const cupti::CallData& call);
  WantedKernel* wanted(const Launched& launched);
  bool can_be_counted(const Launched& launched);
  bool start(void* context);
  Context* context_of(void* context);
  bool make_empty_image(Context& context);
  bool count_was_good();
  void count_was_bad();
  void write(const WantedKernel& kernel);
  void let_go();
  bool check(cupti::Result result, const char* what);
  void give_up(const std::string& why);

  const Cupti& cupti_;
  Output& output_;
  CuptiProfiler profiler_;
  std::unique_ptr<CounterConfig> config_;
  CounterRequest request_;
  std::vector<uint32_t> counted_;  // instances, by kernel of the request
  std::vector<uint32_t> metric_names_;

  std::atomic<bool> ends_{true};
  std::atomic<uint32_t> left_{0};     // instances
  std::atomic<int32_t> captures_{0};  // of streams, at this moment
  std::atomic<int32_t> owner_{0};     // the thread whose launch is being counted; 0: none
  std::atomic<bool> disturbed_{false};
  // Of the owner:
  std::vector<Context> contexts_;
  Context* at_ = nullptr;
  WantedKernel* kernel_ = nullptr;
  std::vector<uint8_t> image_;
  std::vector<double> values_;
  ByteBuffer record_;
  int failures_ = 0, disturbances_ = 0;
};

}  // namespace hone::observe::inject

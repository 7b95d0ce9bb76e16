// What whole devices do over time, while the session has Mode::kSampling in force: CUPTI's PM sampling reads hardware counters of
// a device at a fixed interval, without touching kernels or waiting for them, and this writes down what they say.
//
// All of it happens on the recorder's own thread, and a lease of the hardware ends with the mode: CUPTI's range profiler, which
// CounterRecorder uses, and PM sampling cannot have it at once (docs/decisions/0038-sampling.md).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "observe/inject/counters/counter_config.h"
#include "observe/inject/cupti/cupti.h"
#include "observe/inject/cupti/cupti_sampling_abi.h"
#include "observe/inject/log/output.h"

namespace hone::observe::inject {

// CUPTI's functions for PM sampling, which are there together since CUDA 12.6.
struct CuptiSampling {
  template <typename Parameters>
  using Call = cupti::Result (*)(Parameters*);

  Call<cupti::SamplingEnable> enable = nullptr;
  Call<cupti::Sampling> disable = nullptr;
  Call<cupti::SamplingConfig> set_config = nullptr;
  Call<cupti::Sampling> start = nullptr;
  Call<cupti::Sampling> stop = nullptr;
  Call<cupti::SamplingDecode> decode = nullptr;
  Call<cupti::SamplingAvailability> availability = nullptr;
  Call<cupti::SamplingImageSize> image_size = nullptr;
  Call<cupti::SamplingImageInitialize> image_initialize = nullptr;
  Call<cupti::SamplingImageInfo> image_info = nullptr;
  Call<cupti::SampleInfo> sample_info = nullptr;

  // False: this CUPTI is older.
  bool load(const Cupti& cupti);
};

// One thread at a time.
class PmSampler {
 public:
  PmSampler(const Cupti& cupti, Output& output) : cupti_(cupti), output_(output) {}

  // Starts what the file asks for. What cannot be sampled a note says; nothing where nothing is asked.
  void begin(const char* request_path);
  // Writes down what has been sampled since. To be called a few times in the time that kMostSamples take.
  void collect();
  // Writes down the rest, and lets go of the hardware.
  void end();

  bool samples() const { return !devices_.empty(); }

  // The devices are the parent's.
  void in_child();

  // That an image of CUPTI's has room for.
  static constexpr uint32_t kMostSamples = 2048;

 private:
  struct Sampled {
    uint32_t device = 0;
    int64_t interval_ns = 0;
    void* sampling = nullptr;
    bool started = false;
    std::unique_ptr<CounterConfig> config;
    std::vector<uint32_t> names;  // of its metrics
    std::vector<uint8_t> image;
    int64_t last_end = 0;  // of the last sample that was good, as CUPTI has it
  };
  // What CUPTI's times are counted by.
  enum class Clock { kUnknown, kMonotonic, kReal, kCupti, kNone };

  void prepare(const char* request_path);
  bool start(uint32_t index, int64_t interval_ns, const std::vector<std::string>& metrics);
  bool choose_metrics(Sampled& device, const char* chip, const std::vector<std::string>& metrics);
  bool make_image(Sampled& device);
  bool configure(Sampled& device, const char* chip);
  bool reset_image(Sampled& device);
  // False: there will be no more samples.
  bool collect(Sampled& device);
  void write(Sampled& device, std::size_t samples);
  void write_rows(const Sampled& device, uint32_t rows, int64_t shift);
  int64_t shift_to_monotonic(int64_t last_end);
  int64_t clock_now(Clock clock) const;
  void release(Sampled& device);
  bool check(const Sampled& device, cupti::Result result, const char* what);
  void note(const Sampled& device, const std::string& why);

  const Cupti& cupti_;
  Output& output_;
  CuptiProfiler profiler_;
  CuptiSampling sampling_;
  std::vector<Sampled> devices_;
  Clock clock_ = Clock::kUnknown;
  int64_t unknown_shift_ = 0;  // of times by Clock::kNone
  std::vector<double> values_;
  ByteBuffer rows_, record_;
};

}  // namespace hone::observe::inject

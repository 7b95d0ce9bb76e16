// Where warps of a kernel were found and why they had not gone on: CUPTI's sampling of program counters around single
// launches. Each multiprocessor looks at one of its warps every so many cycles; the program's results stay what they are, and
// the kernel takes little longer. CUPTI cannot do this and count at once (counter_recorder.h).
//
// One thread at a time, and all of it but write() in a call of the program that launches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "observe/inject/counters/counter_request.h"
#include "observe/inject/cupti/cupti.h"
#include "observe/inject/cupti/cupti_pc_sampling_abi.h"
#include "observe/inject/device/loaded_code.h"
#include "observe/inject/log/output.h"

namespace hone::observe::inject {

// CUPTI's functions for this, which are there together since CUDA 11.3.
struct CuptiPcSampling {
  template <typename Parameters>
  using Call = cupti::Result (*)(Parameters*);

  Call<cupti::PcContext> enable = nullptr, disable = nullptr, start = nullptr, stop = nullptr;
  Call<cupti::PcSettings> set = nullptr;
  Call<cupti::PcData> data = nullptr;
  Call<cupti::PcStallCount> stall_count = nullptr;
  Call<cupti::PcStallReasons> stall_reasons = nullptr;

  // False: this CUPTI is older.
  bool load(const Cupti& cupti);
};

// Room for what CUPTI hands over.
class PcRecords {
 public:
  explicit PcRecords(size_t reasons);
  cupti::PcBuffer& buffer() { return buffer_; }

 private:
  std::vector<cupti::PcStall> stalls_;
  std::vector<cupti::PcRecord> records_;
  cupti::PcBuffer buffer_ = {};
};

class PcSampler {
 public:
  PcSampler(const Cupti& cupti, Output& output, LoadedCode& code)
      : cupti_(cupti), output_(output), code_(code) {}

  // Forgets what was sampled before. False: nothing can be sampled; a note says why.
  bool begin();

  // The launch that follows is sampled, of a kernel that takes about so long (0: not known). False: no launch can be any more;
  // a note says why.
  bool start(void* context, double kernel_ns);
  // The launch has returned: what was sampled of it is kept under that number. Waits until the device is done. How often
  // it was sampled; false as start().
  bool stop(size_t kernel, uint64_t& samples);

  bool enabled() const { return !contexts_.empty(); }
  void disable();

  // Everything that was sampled, as records; the kernels by their numbers.
  void write(size_t kernel, const WantedKernel& description);

 private:
  struct Context {
    void* context = nullptr;
    uint32_t period = 0;
    std::map<uint32_t, uint32_t>
        reasons;  // CUPTI's number: the segment's for its name; those of issued instructions alone
    std::unique_ptr<PcRecords> kept, taken;  // CUPTI's own while it samples; what is fetched
  };
  // An instruction of a kernel: cubin, function (the segment's number for it), offset.
  using Place = std::tuple<uint64_t, uint32_t, uint64_t>;
  using Reasons = std::map<uint32_t, uint32_t>;  // samples by the segment's numbers for them

  Context* context_of(void* context);
  bool learn_reasons(Context& context);
  bool configure(Context& context, uint32_t period);
  void keep(Context& context, size_t kernel, uint64_t& samples);
  bool check(cupti::Result result, const char* what);

  const Cupti& cupti_;
  Output& output_;
  LoadedCode& code_;
  CuptiPcSampling functions_;
  std::vector<std::unique_ptr<Context>> contexts_;
  // Of contexts that are not sampled any more: whether CUPTI's own thread has done with its buffer nobody says.
  std::vector<std::unique_ptr<PcRecords>> left_to_cupti_;
  Context* at_ = nullptr;
  std::map<size_t, std::map<Place, Reasons>> sampled_;  // by kernel
  std::map<uint32_t, std::string> functions_named_;
  ByteBuffer records_;
};

// The period, as CUPTI takes it (2 to the power of it, in cycles), at which a launch that takes so long is sampled often enough on
// a device with a hundred multiprocessors and not more often than its buffers hold.
uint32_t sampling_period(double kernel_ns);

}  // namespace hone::observe::inject

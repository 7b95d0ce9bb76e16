// Sampling of instructions of the fake CUPTI. In every launch warps are found 6000 times at offset 16, where they wait for global
// memory, and 2000 times at offset 64, where they are issued. Offset 16 N of code was made of line N of /src/fake.cu. A
// fetch hands over one instruction. FAKE_CUPTI=no_sampling: this device cannot; =no_samples: it finds nothing. To count and to sample at once is an error.
#include "observe/inject/testing/fake_cupti_pc_sampling.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <mutex>
#include <numeric>
#include <string>
#include <vector>

#include "observe/inject/cupti/cupti_abi.h"
#include "observe/inject/cupti/cupti_pc_sampling_abi.h"
#include "observe/inject/testing/fake_cupti_profiler.h"

namespace cupti = hone::observe::inject::cupti;
using cupti::Result;

namespace {

constexpr Result kInvalidHere = static_cast<Result>(1), kNotSupported = static_cast<Result>(27);
constexpr const char* kReasons[] = {"smsp__pcsamp_warps_issue_stalled_long_scoreboard",
                                    "smsp__pcsamp_warps_issue_stalled_long_scoreboard_not_issued",
                                    "smsp__pcsamp_warps_issue_stalled_selected"};
constexpr uint32_t kFirstNumber = 7;  // reasons are not numbered from 0

struct FakeSampler {
  bool enabled = false, configured = false, started = false;
  std::vector<std::string> kernels;  // sampled, of which nothing has been fetched
  bool first_is_fetched = false;
};

std::mutex sampler_lock;
FakeSampler sampler;
uint64_t last_checksum = 0;

void fill(cupti::PcRecord& record, const char* kernel, uint64_t offset,
          const std::vector<cupti::PcStall>& stalls) {
  record.cubin = last_checksum;
  record.offset = offset;
  record.function = strdup(kernel);
  record.stalls_count = stalls.size();
  std::copy(stalls.begin(), stalls.end(), record.stalls);
}

uint64_t checksum_of(const void* cubin, size_t count) {
  const auto* bytes = static_cast<const uint8_t*>(cubin);
  return std::accumulate(bytes, bytes + count, uint64_t{1});
}

}  // namespace

void fake_sampler_sees_code(const void* cubin, size_t bytes) { last_checksum = checksum_of(cubin, bytes); }

void fake_sampler_sees_kernel(const char* kernel) {
  std::lock_guard<std::mutex> held(sampler_lock);
  const char* behave = std::getenv("FAKE_CUPTI");
  if (behave && std::strcmp(behave, "no_samples") == 0) return;
  if (sampler.started) sampler.kernels.push_back(kernel);
}

extern "C" {

Result cuptiPCSamplingEnable(cupti::PcContext*) {
  const char* behave = std::getenv("FAKE_CUPTI");
  if (behave && std::strcmp(behave, "no_sampling") == 0) return kNotSupported;
  std::lock_guard<std::mutex> held(sampler_lock);
  if (sampler.enabled || fake_profiler_is_enabled()) return kInvalidHere;
  sampler.enabled = true;
  return Result::kSuccess;
}
Result cuptiPCSamplingDisable(cupti::PcContext*) {
  std::lock_guard<std::mutex> held(sampler_lock);
  if (!sampler.enabled) return kInvalidHere;
  sampler = FakeSampler();
  return Result::kSuccess;
}
Result cuptiPCSamplingGetNumStallReasons(cupti::PcStallCount* asked) {
  return *asked->count = std::size(kReasons), Result::kSuccess;
}
Result cuptiPCSamplingGetStallReasons(cupti::PcStallReasons* asked) {
  for (size_t i = 0; i < asked->count; ++i) {
    asked->numbers[i] = kFirstNumber + static_cast<uint32_t>(i);
    std::strcpy(asked->names[i], kReasons[i]);
  }
  return Result::kSuccess;
}
Result cuptiPCSamplingSetConfigurationAttribute(cupti::PcSettings* asked) {
  std::lock_guard<std::mutex> held(sampler_lock);
  for (size_t i = 0; i < asked->count; ++i)
    if (asked->settings[i].what == cupti::PcAttribute::kBuffer) sampler.configured = sampler.enabled;
  return sampler.configured && !sampler.started ? Result::kSuccess : kInvalidHere;
}
Result cuptiPCSamplingStart(cupti::PcContext*) {
  std::lock_guard<std::mutex> held(sampler_lock);
  if (!sampler.configured || sampler.started) return kInvalidHere;
  sampler.started = true;
  return Result::kSuccess;
}
Result cuptiPCSamplingStop(cupti::PcContext*) {
  std::lock_guard<std::mutex> held(sampler_lock);
  if (!sampler.started) return kInvalidHere;
  sampler.started = false;
  return Result::kSuccess;
}
Result cuptiPCSamplingGetData(cupti::PcData* asked) {
  std::lock_guard<std::mutex> held(sampler_lock);
  if (sampler.started) return kInvalidHere;
  auto& buffer = *static_cast<cupti::PcBuffer*>(asked->buffer);
  buffer.count = 0;
  if (!sampler.kernels.empty()) {
    const std::string kernel = sampler.kernels.front();
    buffer.count = 1;
    if (!sampler.first_is_fetched) {
      fill(buffer.records[0], kernel.c_str(), 16, {{kFirstNumber, 6000}, {kFirstNumber + 1, 5000}});
    } else {
      fill(buffer.records[0], kernel.c_str(), 64, {{kFirstNumber + 2, 2000}});
      sampler.kernels.erase(sampler.kernels.begin());
    }
    sampler.first_is_fetched = !sampler.first_is_fetched;
  }
  buffer.remaining = sampler.kernels.size() + (sampler.first_is_fetched ? 1 : 0);
  return Result::kSuccess;
}

Result cuptiGetCubinCrc(cupti::CubinCrc* asked) {
  asked->crc = checksum_of(asked->cubin, asked->cubin_bytes);
  return Result::kSuccess;
}
Result cuptiGetSassToSourceCorrelation(cupti::SourceLine* asked) {
  asked->line = static_cast<uint32_t>(asked->offset / 16);
  asked->file = strdup("fake.cu");
  asked->folder = strdup("/src");
  return Result::kSuccess;
}
}

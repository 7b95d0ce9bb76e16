#include "observe/inject/counters/pc_sampler.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string_view>
#include <utility>

#include <dlfcn.h>

#include "observe/inject/cupti/cupti_profiler_abi.h"

namespace hone::observe::inject {
namespace segments = trace::segments;
using cupti::Result;
namespace {

constexpr size_t kRecords = 4096;  // a fetch
constexpr size_t kHardwareBytes = 64 << 20, kScratchBytes = 8 << 20;
constexpr int kMostFetches = 64;
// Samples a launch: enough that a line with a hundredth of them is told from one with two, and no more than 64 MiB hold.
constexpr double kSamplesALaunch = 20'000, kMultiprocessors = 128, kCyclesANs = 1.7;
constexpr uint32_t kShortestPeriod = 5, kLongestPeriod = 20, kUnknownPeriod = 12;
// Beside the reasons of stalls there are numbers of all samples. Of each reason there is a second count, of samples in whose cycle the scheduler issued nothing at all.
constexpr std::string_view kNotIssued = "_not_issued", kStalled = "_stalled_";

// The device has done what it was given, so that a sampled range holds the whole kernel and nothing before it.
void wait_for_device() {
  static int (*const wait)() = [] {
    void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    return driver ? reinterpret_cast<int (*)()>(dlsym(driver, "cuCtxSynchronize")) : nullptr;
  }();
  if (wait) wait();
}

cupti::PcContext of_context(void* context) {
  auto made = cupti::parameters<cupti::PcContext>();
  made.context = context;
  return made;
}

cupti::PcSetting pc_setting(cupti::PcAttribute what, uint64_t value) {
  return {what, Result::kSuccess, {value, 0, 0}};
}

}  // namespace

uint32_t sampling_period(double kernel_ns) {
  if (!(kernel_ns > 0)) return kUnknownPeriod;
  const double cycles = kernel_ns * kCyclesANs * kMultiprocessors / kSamplesALaunch;
  return static_cast<uint32_t>(
      std::clamp(std::floor(std::log2(cycles)), double{kShortestPeriod}, double{kLongestPeriod}));
}

bool CuptiPcSampling::load(const Cupti& cupti) {
  const auto find = [&](auto& function, const char* name) {
    function = cupti.find<std::remove_reference_t<decltype(function)>>(name);
    return function != nullptr;
  };
  return find(enable, "cuptiPCSamplingEnable") && find(disable, "cuptiPCSamplingDisable") &&
         find(start, "cuptiPCSamplingStart") && find(stop, "cuptiPCSamplingStop") &&
         find(set, "cuptiPCSamplingSetConfigurationAttribute") && find(data, "cuptiPCSamplingGetData") &&
         find(stall_count, "cuptiPCSamplingGetNumStallReasons") &&
         find(stall_reasons, "cuptiPCSamplingGetStallReasons");
}

PcRecords::PcRecords(size_t reasons) : stalls_(kRecords * reasons), records_(kRecords) {
  for (size_t i = 0; i < kRecords; ++i) {
    records_[i] = {};
    records_[i].bytes = sizeof(cupti::PcRecord);
    records_[i].stalls = stalls_.data() + i * reasons;
  }
  buffer_.bytes = sizeof(buffer_);
  buffer_.capacity = kRecords;
  buffer_.records = records_.data();
}

bool PcSampler::begin() {
  sampled_.clear();
  at_ = nullptr;
  if (functions_.load(cupti_)) return true;
  output_.note(std::string("no source lines of kernels: ") + cupti_.path + " cannot sample them");
  return false;
}

bool PcSampler::start(void* context, double kernel_ns) {
  at_ = context_of(context);
  if (!at_ || !configure(*at_, sampling_period(kernel_ns))) return false;
  wait_for_device();
  auto starting = of_context(context);
  return check(functions_.start(&starting), "sampling cannot be started");
}

PcSampler::Context* PcSampler::context_of(void* context) {
  for (const auto& known : contexts_)
    if (known->context == context) return known->taken ? known.get() : nullptr;
  auto enabling = of_context(context);
  if (!check(functions_.enable(&enabling), "their instructions cannot be sampled")) return nullptr;
  Context& made = *contexts_.emplace_back(std::make_unique<Context>());
  made.context = context;
  return learn_reasons(made) ? &made : nullptr;
}

bool PcSampler::learn_reasons(Context& context) {
  size_t count = 0;
  auto counting = cupti::parameters<cupti::PcStallCount>();
  counting.context = context.context;
  counting.count = &count;
  if (!check(functions_.stall_count(&counting), "reasons of stalls are not known")) return false;
  std::vector<uint32_t> numbers(count);
  std::vector<char> text(count * cupti::kReasonNameBytes);
  std::vector<char*> names(count);
  for (size_t i = 0; i < count; ++i) names[i] = text.data() + i * cupti::kReasonNameBytes;
  auto naming = cupti::parameters<cupti::PcStallReasons>();
  naming.context = context.context;
  naming.count = count;
  naming.numbers = numbers.data();
  naming.names = names.data();
  if (!check(functions_.stall_reasons(&naming), "reasons of stalls are not known")) return false;
  for (size_t i = 0; i < count; ++i) {
    const std::string_view name(names[i], strnlen(names[i], cupti::kReasonNameBytes));
    if (name.find(kStalled) != name.npos && !name.ends_with(kNotIssued))
      context.reasons[numbers[i]] = output_.id(name);
  }
  context.kept = std::make_unique<PcRecords>(count);
  context.taken = std::make_unique<PcRecords>(count);
  return true;
}

bool PcSampler::configure(Context& context, uint32_t period) {
  if (context.period == period) return true;
  std::vector<cupti::PcSetting> settings = {pc_setting(cupti::PcAttribute::kPeriod, period)};
  if (context.period == 0) {
    settings.push_back(pc_setting(cupti::PcAttribute::kMode, cupti::kPcContinuous));
    settings.push_back(pc_setting(cupti::PcAttribute::kStartStop, 1));
    settings.push_back(pc_setting(cupti::PcAttribute::kScratchBytes, kScratchBytes));
    settings.push_back(pc_setting(cupti::PcAttribute::kHardwareBufferBytes, kHardwareBytes));
    settings.push_back(
        pc_setting(cupti::PcAttribute::kBuffer, reinterpret_cast<uint64_t>(&context.kept->buffer())));
  }
  auto setting = cupti::parameters<cupti::PcSettings>();
  setting.context = context.context;
  setting.count = settings.size();
  setting.settings = settings.data();
  const Result result = functions_.set(&setting);
  if (context.period != 0) return true;  // where the period stays as it is, so be it
  context.period = period;
  return check(result, "how to sample cannot be chosen");
}

bool PcSampler::stop(size_t kernel, uint64_t& samples) {
  samples = 0;
  wait_for_device();
  auto stopping = of_context(at_->context);
  if (!check(functions_.stop(&stopping), "sampling cannot be stopped")) return false;
  auto fetching = cupti::parameters<cupti::PcData>();
  fetching.context = at_->context;
  cupti::PcBuffer& buffer = at_->taken->buffer();
  fetching.buffer = &buffer;
  for (int i = 0; i < kMostFetches; ++i) {
    buffer.count = buffer.remaining = 0;
    if (!check(functions_.data(&fetching), "samples cannot be read")) return false;
    keep(*at_, kernel, samples);
    if (buffer.count == 0 || buffer.remaining == 0) break;
  }
  return true;
}

void PcSampler::keep(Context& context, size_t kernel, uint64_t& samples) {
  const cupti::PcBuffer& buffer = context.taken->buffer();
  auto& places = sampled_[kernel];
  for (size_t i = 0; i < std::min(buffer.count, buffer.capacity); ++i) {
    const cupti::PcRecord& record = buffer.records[i];
    const char* function = record.function ? record.function : "";
    const uint32_t named = output_.id(function);
    functions_named_.try_emplace(named, function);
    Reasons& reasons = places[{record.cubin, named, record.offset}];
    for (size_t k = 0; k < record.stalls_count; ++k) {
      const auto reason = context.reasons.find(record.stalls[k].reason);
      if (reason == context.reasons.end() || record.stalls[k].samples == 0) continue;
      reasons[reason->second] += record.stalls[k].samples;
      samples += record.stalls[k].samples;
    }
  }
}

void PcSampler::disable() {
  for (const auto& context : contexts_) {
    auto disabling = of_context(context->context);
    functions_.disable(&disabling);
    left_to_cupti_.push_back(std::move(context->kept));
  }
  contexts_.clear();
  at_ = nullptr;
}

void PcSampler::write(size_t kernel, const WantedKernel& description) {
  const auto found = sampled_.find(kernel);
  if (found == sampled_.end()) return;
  records_.clear();
  uint64_t count = 0;
  for (const auto& [place, reasons] : found->second) {
    const auto& [cubin, function, offset] = place;
    if (reasons.empty()) continue;
    const SourcePlace source = code_.place_of(cupti_, cubin, functions_named_[function].c_str(), offset);
    segments::SampledInstruction record;
    record.device = description.device;
    record.name = output_.id(description.symbol);
    std::copy(description.grid, description.grid + 3, record.grid.begin());
    std::copy(description.block, description.block + 3, record.block.begin());
    record.function = function;
    record.offset = offset;
    record.line_info = source.known;
    record.line = source.line;
    if (!source.file.empty()) record.file = output_.id(source.file);
    record.reasons = static_cast<uint32_t>(reasons.size());
    const auto whole =
        segments::with_head(record, static_cast<uint32_t>(reasons.size() * sizeof(segments::StallSamples)));
    records_.append(&whole, sizeof(whole));
    for (const auto& [reason, samples] : reasons) {
      const segments::StallSamples each = {reason, samples};
      records_.append(&each, sizeof(each));
    }
    ++count;
  }
  output_.add_all(records_, count);
}

bool PcSampler::check(Result result, const char* what) {
  if (result == Result::kSuccess) return true;
  output_.note(std::string("no source lines of kernels: ") + what + ": " + cupti_.reason(result));
  return false;
}

}  // namespace hone::observe::inject

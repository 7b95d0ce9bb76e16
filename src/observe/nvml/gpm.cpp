#include "observe/nvml/gpm.h"

#include <cmath>
#include <utility>

namespace hone::observe::nvml {
namespace {

using trace::live::GpuUse;
using trace::live::Known;

struct GpmRow {
  unsigned metric;
  double scale;  // to a share of 1, or bytes a second
  Known& (*place)(GpuUse&);
};

constexpr double kPercent = 0.01, kMib = 1024.0 * 1024.0;

const GpmRow kGpmRows[] = {
    {kGpmSm, kPercent, [](GpuUse& use) -> Known& { return use.sm_share; }},
    {kGpmOccupancy, kPercent, [](GpuUse& use) -> Known& { return use.warps_share; }},
    {kGpmTensor, kPercent, [](GpuUse& use) -> Known& { return use.tensor_share; }},
    {kGpmDram, kPercent, [](GpuUse& use) -> Known& { return use.dram_share; }},
    {kGpmFp64, kPercent, [](GpuUse& use) -> Known& { return use.fp64_share; }},
    {kGpmFp32, kPercent, [](GpuUse& use) -> Known& { return use.fp32_share; }},
    {kGpmFp16, kPercent, [](GpuUse& use) -> Known& { return use.fp16_share; }},
    {kGpmInteger, kPercent, [](GpuUse& use) -> Known& { return use.integer_share; }},
    {kGpmPcieSent, kMib, [](GpuUse& use) -> Known& { return use.pcie.sent; }},
    {kGpmPcieReceived, kMib, [](GpuUse& use) -> Known& { return use.pcie.received; }},
    {kGpmNvlinkSent, kMib, [](GpuUse& use) -> Known& { return use.nvlink.sent; }},
    {kGpmNvlinkReceived, kMib, [](GpuUse& use) -> Known& { return use.nvlink.received; }},
};

}  // namespace

Result<GpmReader> GpmReader::open(std::shared_ptr<const Library> library, Device gpu, int instance) {
  const Functions& f = library->functions();
  GpmSupport support{kGpmVersion, 0};
  if (const Return result = call(f.gpm_support, gpu, &support); result != kSuccess)
    return unsupported(library->words(result));
  if (support.is_supported == 0) return unsupported("this GPU has no GPM counters (Hopper and newer have)");
  if (f.gpm_free == nullptr || f.gpm_metrics == nullptr)
    return unsupported(library->words(kFunctionNotFound));
  GpmReader reader;
  reader.gpu_ = gpu;
  reader.instance_ = instance;
  reader.library_ = std::move(library);
  for (GpmSample* sample : {&reader.last_, &reader.next_})
    if (const Return result = call(f.gpm_alloc, sample); result != kSuccess) {
      *sample = nullptr;
      return unsupported(reader.library_->words(result));
    }
  return reader;
}

GpmReader::GpmReader(GpmReader&& other) noexcept { *this = std::move(other); }

GpmReader& GpmReader::operator=(GpmReader&& other) noexcept {
  if (this == &other) return *this;
  release();
  library_ = std::move(other.library_);
  gpu_ = other.gpu_;
  instance_ = other.instance_;
  last_ = std::exchange(other.last_, nullptr);
  next_ = std::exchange(other.next_, nullptr);
  started_ = other.started_;
  return *this;
}

GpmReader::~GpmReader() { release(); }

void GpmReader::release() noexcept {
  for (GpmSample sample : {last_, next_})
    if (sample != nullptr) library_->functions().gpm_free(sample);
  last_ = next_ = nullptr;
}

Status GpmReader::read(GpuUse& use) {
  const Functions& f = library_->functions();
  const Return result = instance_ < 0
                            ? call(f.gpm_sample, gpu_, next_)
                            : call(f.gpm_instance_sample, gpu_, static_cast<unsigned>(instance_), next_);
  if (result != kSuccess) {
    started_ = false;
    return io_error(library_->words(result));
  }
  Status filled;
  if (started_) filled = fill(use);
  started_ = true;
  std::swap(last_, next_);
  return filled;
}

Status GpmReader::fill(GpuUse& use) {
  const auto request = std::make_unique<GpmMetrics>();
  request->version = kGpmVersion;
  request->first = last_;
  request->second = next_;
  for (const GpmRow& row : kGpmRows) request->metrics[request->count++].metric = row.metric;
  if (const Return result = library_->functions().gpm_metrics(request.get()); result != kSuccess)
    return io_error(library_->words(result));
  for (unsigned i = 0; i < request->count; ++i) {
    const GpmMetric& metric = request->metrics[i];
    if (metric.result == kSuccess && std::isfinite(metric.value) && metric.value >= 0)
      kGpmRows[i].place(use) = metric.value * kGpmRows[i].scale;
  }
  return {};
}

}  // namespace hone::observe::nvml

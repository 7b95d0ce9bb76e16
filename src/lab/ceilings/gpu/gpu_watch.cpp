#include "lab/ceilings/gpu/gpu_watch.h"

#include <algorithm>
#include <cctype>

#include "core/clock.h"

namespace hone::lab {
namespace {

// "0000:19:00.0" and "00000000:19:00.0" are one place.
std::string bus_and_device(const std::string& pci_bus_id) {
  const std::size_t at = pci_bus_id.find(':');
  std::string text = at == std::string::npos ? pci_bus_id : pci_bus_id.substr(at + 1);
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

}  // namespace

GpuWatch::GpuWatch(const std::string& pci_bus_id) : bus_(bus_and_device(pci_bus_id)), last_ns_(now_ns()) {
  auto sampler = observe::nvml::GpuSampler::open();
  if (sampler.ok())
    sampler_ = *std::move(sampler);
  else
    note_ = "clocks and power are not known: " + sampler.error().message;
}

GpuState GpuWatch::now() {
  if (!sampler_) return {};
  const int64_t before = std::exchange(last_ns_, now_ns());
  const double seconds = static_cast<double>(last_ns_ - before) * 1e-9;
  for (const trace::live::GpuUse& gpu : sampler_->read(seconds).gpus)
    if (gpu.instance < 0 && bus_and_device(gpu.pci_bus_id) == bus_) return {gpu.sm_clock_mhz, gpu.power_w};
  return {};
}

}  // namespace hone::lab

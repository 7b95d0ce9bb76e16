// Timing work that a GPU is given again and again.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/result.h"
#include "core/roofs.h"
#include "lab/ceilings/gpu/gpu_ceilings.h"
#include "lab/ceilings/gpu/gpu_watch.h"

namespace hone::lab {

using GpuWork = std::function<Status(runtime::CudaQueue&)>;  // gives the work once

struct GpuTimes {
  std::vector<double> seconds;  // of the work once, one a reading
  GpuState state;               // medians
};

Rate rate_of(const GpuTimes& times, double amount);
Duration duration_of(const GpuTimes& times);

// Not thread-safe.
class GpuProbe {
 public:
  static Result<std::unique_ptr<GpuProbe>> make(const std::shared_ptr<runtime::CudaDevice>& device,
                                                const GpuRoofSizes& sizes);

  // Some replays, each of so many runs as take sizes.replay_s, and a rest of `rest_s` before each.
  Result<GpuTimes> in_bursts(const GpuWork& work, double rest_s, int readings = 7);
  // Replays without a rest for so long; those of the second half count.
  Result<GpuTimes> without_rest(const GpuWork& work, double seconds);
  // The shortest of a few replays.
  Result<double> once(const GpuWork& work);

  runtime::CudaQueue& queue() { return *queue_; }
  GpuWatch& watch() { return watch_; }

 private:
  GpuProbe(std::unique_ptr<runtime::Queue> owned, const std::string& pci_bus_id, const GpuRoofSizes& sizes)
      : owned_(std::move(owned)),
        queue_(static_cast<runtime::CudaQueue*>(owned_.get())),
        watch_(pci_bus_id),
        sizes_(sizes) {}
  struct Repeated;
  Result<std::unique_ptr<Repeated>> record(const GpuWork& work, double seconds);
  Result<double> seconds_between(const runtime::Event& from, const runtime::Event& to);

  std::unique_ptr<runtime::Queue> owned_;
  runtime::CudaQueue* queue_;
  GpuWatch watch_;
  GpuRoofSizes sizes_;
};

}  // namespace hone::lab

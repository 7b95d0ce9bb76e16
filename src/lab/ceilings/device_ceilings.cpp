#include "lab/ceilings/device_ceilings.h"

#include <fmt/format.h>

#include "lab/ceilings/cache.h"
#include "lab/ceilings/gpu/gpu_ceilings_cache.h"

namespace hone::lab {

bool has_gpu_roofs(const std::string& device) { return device == "cuda"; }

Result<GpuTools> gpu_tools_of(const std::string& device) {
  auto tools = GpuTools::open();
  return tools.ok() ? std::move(tools) : tools.error().within(fmt::format("device '{}'", device));
}

Result<Ceilings> load_or_measure_ceilings_of(const std::string& device, const Machine& machine,
                                             const CeilingsOptions& options) {
  if (!has_gpu_roofs(device)) return load_or_measure_ceilings(machine, options);
  HONE_ASSIGN(const GpuTools tools, gpu_tools_of(device));
  GpuCeilingsOptions measure;
  measure.quick = options.quick;
  measure.refresh = options.refresh;
  measure.cache_folder = options.cache_folder;
  if (options.progress)
    measure.progress = [&](double done, const std::string&) { return options.progress(done); };
  HONE_ASSIGN(const GpuCeilings found, load_or_measure_gpu_ceilings(tools, measure));
  return ceilings_of(found);
}

Result<std::optional<Ceilings>> kept_ceilings_of(const std::string& device, const Machine& machine) {
  if (!has_gpu_roofs(device)) {
    auto kept = CeilingsCache({}, machine, machine.cores).read();
    return kept.ok() ? std::optional(*std::move(kept)) : std::nullopt;
  }
  HONE_ASSIGN(const GpuTools tools, gpu_tools_of(device));
  const auto kept = GpuCeilingsCache({}, tools).read();
  return kept.ok() ? std::optional(ceilings_of(*kept)) : std::nullopt;
}

}  // namespace hone::lab

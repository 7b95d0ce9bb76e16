// The roofs of what a plan runs on, by the name of its device: the one place that knows which devices have roofs of their
// own.
#pragma once

#include <optional>
#include <string>

#include "core/result.h"
#include "lab/ceilings/ceilings.h"
#include "lab/ceilings/gpu/gpu_ceilings.h"
#include "lab/machine.h"

namespace hone::lab {

// A GPU of a driver's, whose roofs are lab/ceilings/gpu's; the others compute on this machine's CPUs.
bool has_gpu_roofs(const std::string& device);
// What those are measured with. An error says in one line what is missing, and where it was looked for.
Result<GpuTools> gpu_tools_of(const std::string& device);
// From the cache, or measured.
Result<Ceilings> load_or_measure_ceilings_of(const std::string& device, const Machine& machine,
                                             const CeilingsOptions& options);
// nullopt: none are kept, or none that can be read; an error: there is no such device here.
Result<std::optional<Ceilings>> kept_ceilings_of(const std::string& device, const Machine& machine);

}  // namespace hone::lab

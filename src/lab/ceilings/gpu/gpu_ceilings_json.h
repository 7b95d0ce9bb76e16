// The JSON form of a GPU's measured roofs: what `hone ceilings --device cuda --json` writes and the cache keeps.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/result.h"
#include "lab/ceilings/gpu/gpu_ceilings.h"

namespace hone::lab {

// {schema, device, driver, …, matrix, vector_f32, memory, links, launch_s, graph_node_s, not_measured, notes, roofs}; rates
// in units per second as {median, low, high}. `roofs` is the table that --roofs reads.
nlohmann::ordered_json gpu_ceilings_json(const GpuCeilings& ceilings);
// An error names the field that is missing or of another type.
Result<GpuCeilings> gpu_ceilings_from_json(const nlohmann::ordered_json& json);

}  // namespace hone::lab

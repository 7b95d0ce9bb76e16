// Measured roofs as JSON: in run folders, reports and the cache of ceilings, so that a number can be checked
// against the roof that it was compared with. Rates in units per second, times in seconds, each as {median,
// low, high}; 0 as "not measured" is in Roofs.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/result.h"
#include "core/roofs.h"

namespace hone::trace {

nlohmann::ordered_json roofs_to_json(const Roofs& roofs);
// An error names the field that is missing, of another type, or not a measurement.
Result<Roofs> roofs_from_json(const nlohmann::ordered_json& json);

}  // namespace hone::trace

// The JSON form of measured roofs: what `hone ceilings --json` writes, reports embed and the cache keeps.
// Rates in units per second, times in seconds, each as {median, low, high}.
#pragma once

#include <nlohmann/json.hpp>

#include "core/result.h"
#include "core/roofs.h"
#include "lab/ceilings/ceilings.h"

namespace hone::lab {

nlohmann::json roofs_json(const Roofs& roofs);
// An error names the field that is missing, of another type, or not a positive finite number.
Result<Roofs> roofs_from_json(const nlohmann::json& json);

// The roofs with how they were measured: {schema, measured_at, quick, seconds, repetitions, disturbed, notes,
// roofs}.
nlohmann::json ceilings_json(const Ceilings& ceilings);
Result<Ceilings> ceilings_from_json(const nlohmann::json& json);

}  // namespace hone::lab

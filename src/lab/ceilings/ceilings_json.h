// The JSON form of a measurement of roofs: what `hone ceilings --json` writes and the cache keeps. The roofs
// themselves are written as everywhere (trace/roofs_json.h).
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/result.h"
#include "lab/ceilings/ceilings.h"

namespace hone::lab {

// The roofs with how they were measured: {schema, measured_at, quick, seconds, repetitions, disturbed,
// doubtful, notes, roofs}.
nlohmann::ordered_json ceilings_json(const Ceilings& ceilings);
// An error names the field that is missing, of another type, or out of range.
Result<Ceilings> ceilings_from_json(const nlohmann::ordered_json& json);

}  // namespace hone::lab

// Measured roofs as JSON: in run folders and reports, so that a number can be checked against the roof that
// it was compared with.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/result.h"
#include "core/roofs.h"

namespace hone::trace {

nlohmann::ordered_json roofs_to_json(const Roofs& roofs);
// Missing numbers are 0, as "not measured" is in Roofs; an error names a field of the wrong type.
Result<Roofs> roofs_from_json(const nlohmann::ordered_json& json);

}  // namespace hone::trace

// What the JSON forms of the report share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "analyze/findings.h"

namespace hone::report::json {

using Json = nlohmann::ordered_json;

// Numbers that JSON has no word for (NaN, infinity) are written as null; bytes that are no UTF-8 as U+FFFD.
std::string dump(const Json& json);

}  // namespace hone::report::json

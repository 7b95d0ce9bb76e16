// The version of this build.
#pragma once

#include <string_view>

namespace hone {

inline constexpr std::string_view kVersion = "0.1.0";

}  // namespace hone

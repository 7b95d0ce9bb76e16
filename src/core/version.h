// The version of this build. CMakeLists.txt reads it from here.
#pragma once

#include <string_view>

namespace hone {

inline constexpr std::string_view kVersion = "0.1.0";

}  // namespace hone

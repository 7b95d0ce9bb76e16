// Where hone keeps what it could make again: timings, compiled kernels.
#pragma once

#include <cstdlib>
#include <filesystem>

namespace hone {

// "<cache folder>/hone", the cache folder from XDG_CACHE_HOME or HOME; empty if neither is set.
inline std::filesystem::path cache_folder() {
  if (const char* const cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != '\0')
    return std::filesystem::path(cache) / "hone";
  if (const char* const home = std::getenv("HOME"); home != nullptr && *home != '\0')
    return std::filesystem::path(home) / ".cache" / "hone";
  return {};
}

}  // namespace hone

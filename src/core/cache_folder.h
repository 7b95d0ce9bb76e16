// Where hone keeps what it could make again: timings, compiled kernels, plans of buckets.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string_view>

namespace hone {

// "<cache folder>/hone", the cache folder from XDG_CACHE_HOME or HOME; empty if neither is set.
std::filesystem::path cache_folder();

// Where files with that extension take `most_bytes` of `folder` or more, those that were used longest ago go, until they take
// less than half of it. Files that another process removes meanwhile are none of our business.
void make_room(const std::filesystem::path& folder, std::string_view extension, std::size_t most_bytes);

// By its date.
void mark_used(const std::filesystem::path& file);

}  // namespace hone

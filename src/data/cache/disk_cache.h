// Decoded samples kept in a folder that the user names: a file each, written when the sample is first read. A file is
// used only while what it was made of is unchanged (Dataset::version_of) and its checksum is right; anything else in it
// is made anew in silence, as if it were not there.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "data/cache/memory_cache.h"

namespace hone::data {

class DiskCache : public CachedDataset {
 public:
  // Why samples are no longer kept, since a write failed: a full disk, say. Reading goes on without the cache.
  virtual std::optional<Error> problem() const = 0;
};

// An error where the folder cannot be made or written to.
Result<std::shared_ptr<const DiskCache>> cache_on_disk(std::shared_ptr<const Dataset> dataset,
                                                       const std::filesystem::path& folder);

// The bytes of a cache file, and what is in them; an error for any other bytes.
Result<Sample> parse_cached_sample(std::span<const std::byte> bytes, uint64_t version);

}  // namespace hone::data

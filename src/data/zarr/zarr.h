// Zarr arrays, versions 2 and 3, in folders: chunks raw, or compressed by blosc, zstd, gzip or zlib; shards; chunks that
// are missing hold the fill value. And data sets of them.
#pragma once

#include <array>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/zarr/chunk_cache.h"
#include "data/zarr/metadata.h"

namespace hone::data {

// Thread-safe.
class ZarrArray {
 public:
  // The array in a folder; for OME-Zarr's image groups, its largest one.
  static Result<ZarrArray> open(const std::filesystem::path& folder);

  const ZarrMetadata& metadata() const { return metadata_; }
  const Shape& shape() const { return metadata_.shape; }
  DType dtype() const { return metadata_.dtype; }
  const std::string& axes() const {
    return axes_;
  }  // as OME-Zarr names them, a letter each; empty: not known
  const std::filesystem::path& folder() const { return folder_; }

  // Chunks that have been read are kept there. `of_a_sample`: the bytes of those that a sample is made of, at most.
  void keep_chunks(std::shared_ptr<ChunkCache> cache, int64_t of_a_sample);
  // What is decoded at once: the shards' chunks where there are shards.
  const Shape& chunk() const { return metadata_.sharding ? metadata_.sharding->chunk : metadata_.chunk; }

  // A box of the array, within it. Its chunks are read by up to `threads` threads.
  Result<Tensor> read(std::span<const int64_t> start, std::span<const int64_t> extent, StageTimes& times,
                      std::size_t threads = 1) const;

 private:
  struct Box;
  struct Shard;
  Status read_chunk(const Box& box, const std::vector<int64_t>& chunk, std::byte* out,
                    StageTimes& times) const;
  Status read_shard(const Box& box, const std::vector<int64_t>& shard, std::byte* out,
                    StageTimes& times) const;
  // Chunk `at` of the array's grid of chunk(), copied into the box, or the fill value where it is not there.
  Status copy_chunk(const Box& box, const std::vector<int64_t>& at, const ChunkCache::Load& load,
                    std::byte* out, StageTimes& times) const;

  std::filesystem::path folder_;
  ZarrMetadata metadata_;
  std::string axes_;
  std::shared_ptr<ChunkCache> cache_;
  int number_ = 0;  // in the cache
};

struct ZarrOptions {
  std::filesystem::path image = {};
  std::filesystem::path mask = {};   // empty: none; of the image's axes, its channels aside
  std::filesystem::path label = {};  // empty: none; a number for each sample, of one axis
  // What the axes are: n and t count samples, c channels, z depth, y and x pixels. Empty: what OME-Zarr says, or by
  // their number: yx, nyx, ncyx, nczyx.
  std::string axes = {}, mask_axes = {};
  // Samples are pieces of z, y and x of this size, side by side; 0: the whole axis. The last piece of an axis ends where
  // the axis does.
  std::array<int64_t, 3> patch = {0, 0, 0};
  // For decoded chunks, where samples share them; null: a chunk is decoded for each sample again.
  std::shared_ptr<CacheBudget> cache = {};
};

class ZarrDataset : public Dataset {
 public:
  // Null: nothing is kept, because no budget was given, or since no chunk is part of two samples.
  virtual std::shared_ptr<const ChunkCache> chunks() const = 0;
};

// "image" [c,y,x] or [c,z,y,x], and "mask" and "label" where there are.
Result<std::shared_ptr<const ZarrDataset>> open_zarr(const ZarrOptions& options);

}  // namespace hone::data

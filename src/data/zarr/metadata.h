// What a Zarr array says of itself: versions 2 (.zarray) and 3 (zarr.json) of the specification, as one description.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.h"
#include "core/result.h"
#include "core/shape.h"

namespace hone::data {

enum class ZarrCodec : uint8_t { kGzip, kZstd, kBlosc, kCrc32c };  // kGzip: zlib's own format, too

// How elements become the bytes of a chunk: laid out with the axes in `axis_order`, then through `codecs` one after the
// other.
struct ZarrEncoding {
  std::vector<int64_t> axis_order;  // empty: as they are
  bool big_endian = false;
  std::vector<ZarrCodec> codecs;
};

// Chunks of a shard, which is one file, found by an index of offsets and lengths.
struct ZarrSharding {
  Shape chunk;
  ZarrEncoding encoding;
  bool index_checksum = false;
  bool index_at_end = true;
};

struct ZarrMetadata {
  Shape shape, chunk;  // `chunk` is of a file: the shard's, where there are shards
  DType dtype = DType::kUndefined;
  std::array<std::byte, 16> fill = {};  // an element, as it is in memory
  ZarrEncoding encoding;                // without sharding
  std::optional<ZarrSharding> sharding;
  char separator = '.';
  std::string prefix;  // of chunks' names: "c/" or ""
};

// Of a group: which array is its image, as OME-Zarr has it ("multiscales"), and the names of its axes.
struct ZarrGroup {
  std::string path;
  std::string axes;  // a letter each: "tczyx"
};

inline constexpr int64_t kMostChunkBytes = int64_t{1} << 31;

Result<ZarrMetadata> parse_zarr_v2(std::string_view zarray);
Result<ZarrMetadata> parse_zarr_v3(std::string_view zarr_json);
// `attributes`: .zattrs, or a group's zarr.json.
Result<ZarrGroup> parse_zarr_group(std::string_view attributes);

// The name of a chunk's file.
std::string zarr_chunk_name(const ZarrMetadata& array, const std::vector<int64_t>& chunk);

}  // namespace hone::data

// A chunk's bytes as elements: what compressed and reordered them is undone. Internal to data/zarr.
#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "core/result.h"
#include "core/tensor.h"
#include "data/zarr/metadata.h"

namespace hone::data {

// Memory of its own, charged as tensors are.
class ChunkBytes {
 public:
  static Result<ChunkBytes> make(std::size_t bytes);  // not filled

  std::byte* data() { return static_cast<std::byte*>(room_.data()); }
  const std::byte* data() const { return static_cast<const std::byte*>(std::as_const(room_).data()); }
  std::size_t size() const { return size_; }
  std::span<const std::byte> bytes() const { return {data(), size_}; }
  void shorten(std::size_t bytes) { size_ = bytes; }

 private:
  Tensor room_;
  std::size_t size_ = 0;
};

// The chunk's elements in row-major order, native bytes. An error where the bytes do not give exactly one chunk.
Result<ChunkBytes> decode_chunk(std::span<const std::byte> bytes, const ZarrEncoding& encoding, DType dtype,
                                const Shape& chunk);

// Where each chunk of a shard lies in its file; `size` kMissingChunk: nowhere.
struct ShardEntry {
  uint64_t offset = 0, size = 0;
};
inline constexpr uint64_t kMissingChunk = ~uint64_t{0};
std::size_t shard_index_bytes(const ZarrMetadata& array);
Result<std::vector<ShardEntry>> decode_shard_index(std::span<const std::byte> bytes,
                                                   const ZarrMetadata& array);

// CRC-32C (Castagnoli), as RFC 3720 has it.
uint32_t crc32c(std::span<const std::byte> bytes);

}  // namespace hone::data

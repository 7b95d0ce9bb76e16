#include "data/zarr/chunk.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include <blosc.h>
#include <fmt/core.h>
#include <zlib.h>
#include <zstd.h>

namespace hone::data {
namespace {

constexpr std::size_t kChecksum = 4;

Error wrong_size(std::size_t found, std::size_t wanted) {
  return corrupt(fmt::format("the chunk holds {} bytes, it should be {}", found, wanted));
}

// zlib's own format or gzip's. `most`: what may come out.
Result<std::size_t> inflate_into(std::span<const std::byte> bytes, std::byte* to, std::size_t most) {
  if (bytes.size() > std::numeric_limits<uInt>::max() || most > std::numeric_limits<uInt>::max())
    return unsupported("a compressed chunk over 4 GiB");
  z_stream stream{};
  if (inflateInit2(&stream, 15 + 32) != Z_OK) return invalid("not enough memory to decompress a chunk");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(to);
  stream.avail_out = static_cast<uInt>(most);
  const int code = inflate(&stream, Z_FINISH);
  const std::size_t made = stream.total_out;
  inflateEnd(&stream);
  if (code != Z_STREAM_END)
    return corrupt("the chunk's gzip or zlib data are damaged, or give more than a chunk");
  return made;
}

Result<std::size_t> unzstd_into(std::span<const std::byte> bytes, std::byte* to, std::size_t most) {
  const std::size_t made = ZSTD_decompress(to, most, bytes.data(), bytes.size());
  if (ZSTD_isError(made) != 0)
    return corrupt(fmt::format("the chunk's zstd data are damaged: {}", ZSTD_getErrorName(made)));
  return made;
}

Result<std::size_t> unblosc_into(std::span<const std::byte> bytes, std::byte* to, std::size_t most) {
  std::size_t size = 0;
  if (blosc_cbuffer_validate(bytes.data(), bytes.size(), &size) < 0)
    return corrupt("the chunk's blosc data are damaged");
  if (size > most) return wrong_size(size, most);
  const int made = blosc_decompress_ctx(bytes.data(), to, most, 1);
  if (made < 0) return corrupt("the chunk's blosc data are damaged");
  return static_cast<std::size_t>(made);
}

uint32_t little_endian_word(const std::byte* bytes) {
  uint32_t word = 0;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

// Elements of `size` bytes from the order of axes in which they were stored into row-major order.
template <typename T>
void restore_axes(const T* from, T* to, const Shape& chunk, const std::vector<int64_t>& order) {
  const std::vector<int64_t> target = row_major_strides(chunk);
  const std::size_t rank = chunk.size();
  Shape index(rank, 0);  // in the stored order
  int64_t at = 0;
  const int64_t count = element_count(chunk);
  for (int64_t i = 0; i < count; ++i) {
    to[at] = from[i];
    for (std::size_t k = rank; k-- > 0;) {
      const auto axis = static_cast<std::size_t>(order[k]);
      at += target[axis];
      if (++index[k] < chunk[axis]) break;
      at -= target[axis] * chunk[axis];
      index[k] = 0;
    }
  }
}

void restore_axes_of(const ChunkBytes& from, ChunkBytes& to, const Shape& chunk, const ZarrEncoding& encoding,
                     std::size_t element) {
  const auto as = [&]<typename T>(T) {
    restore_axes(reinterpret_cast<const T*>(from.data()), reinterpret_cast<T*>(to.data()), chunk,
                 encoding.axis_order);
  };
  if (element == 1) return as(uint8_t{});
  if (element == 2) return as(uint16_t{});
  if (element == 4) return as(uint32_t{});
  as(uint64_t{});
}

}  // namespace

Result<ChunkBytes> ChunkBytes::make(std::size_t bytes) {
  auto room = Tensor::try_make(DType::kU8, {static_cast<int64_t>(bytes)});
  if (!room.ok()) return room.error().within("a chunk");
  ChunkBytes made;
  made.room_ = *std::move(room);
  made.size_ = bytes;
  return made;
}

uint32_t crc32c(std::span<const std::byte> bytes) {
  static const auto kTable = [] {
    std::array<uint32_t, 256> table{};
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? 0x82F63B78u : 0);
      table[i] = value;
    }
    return table;
  }();
  uint32_t sum = ~uint32_t{0};
  for (const std::byte byte : bytes) sum = kTable[(sum ^ static_cast<uint32_t>(byte)) & 0xff] ^ (sum >> 8);
  return ~sum;
}

Result<ChunkBytes> decode_chunk(std::span<const std::byte> bytes, const ZarrEncoding& encoding, DType dtype,
                                const Shape& chunk) {
  const std::size_t element = dtype_size(dtype);
  const std::size_t wanted = static_cast<std::size_t>(element_count(chunk)) * element;
  ChunkBytes held;  // keeps alive what `bytes` are
  for (std::size_t i = encoding.codecs.size(); i-- > 0;) {
    const ZarrCodec codec = encoding.codecs[i];
    if (codec == ZarrCodec::kCrc32c) {
      if (bytes.size() < kChecksum) return corrupt("the chunk is shorter than its checksum");
      const auto body = bytes.first(bytes.size() - kChecksum);
      if (crc32c(body) != little_endian_word(body.data() + body.size()))
        return corrupt("the chunk's checksum is wrong");
      bytes = body;
      continue;
    }
    // What is compressed twice, or with its checksum, is a little larger in between.
    const std::size_t most = i == 0 ? wanted : wanted + wanted / 2 + 4096;
    HONE_ASSIGN(ChunkBytes room, ChunkBytes::make(most));
    const auto made = codec == ZarrCodec::kGzip   ? inflate_into(bytes, room.data(), most)
                      : codec == ZarrCodec::kZstd ? unzstd_into(bytes, room.data(), most)
                                                  : unblosc_into(bytes, room.data(), most);
    if (!made.ok()) return made.error();
    room.shorten(*made);
    held = std::move(room);
    bytes = held.bytes();
  }
  if (bytes.size() != wanted) return wrong_size(bytes.size(), wanted);
  if (bytes.data() != held.data() || held.data() == nullptr) {
    HONE_ASSIGN(held, ChunkBytes::make(wanted));
    if (wanted != 0) std::memcpy(held.data(), bytes.data(), wanted);
  }
  held.shorten(wanted);
  if (encoding.big_endian && element > 1)
    for (std::size_t i = 0; i < wanted; i += element)
      std::reverse(held.data() + i, held.data() + i + element);
  if (encoding.axis_order.empty() || std::is_sorted(encoding.axis_order.begin(), encoding.axis_order.end()))
    return held;
  HONE_ASSIGN(ChunkBytes ordered, ChunkBytes::make(wanted));
  restore_axes_of(held, ordered, chunk, encoding, element);
  return ordered;
}

std::size_t shard_index_bytes(const ZarrMetadata& array) {
  std::size_t chunks = 1;
  for (std::size_t i = 0; i < array.chunk.size(); ++i)
    chunks *= static_cast<std::size_t>(array.chunk[i] / array.sharding->chunk[i]);
  return chunks * sizeof(ShardEntry) + (array.sharding->index_checksum ? kChecksum : 0);
}

Result<std::vector<ShardEntry>> decode_shard_index(std::span<const std::byte> bytes,
                                                   const ZarrMetadata& array) {
  if (bytes.size() != shard_index_bytes(array)) return corrupt("the shard is too short for its index");
  if (array.sharding->index_checksum) {
    const auto body = bytes.first(bytes.size() - kChecksum);
    if (crc32c(body) != little_endian_word(body.data() + body.size()))
      return corrupt("the checksum of the shard's index is wrong");
    bytes = body;
  }
  std::vector<ShardEntry> entries(bytes.size() / sizeof(ShardEntry));
  if (!entries.empty()) std::memcpy(entries.data(), bytes.data(), bytes.size());
  return entries;
}

}  // namespace hone::data

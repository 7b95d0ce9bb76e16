#include "data/zarr/zarr.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/core.h>

#include "core/file.h"
#include "core/side_by_side.h"
#include "data/file_bytes.h"
#include "data/zarr/chunk.h"

namespace hone::data {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostMetadata = std::size_t{16} << 20;

Result<std::string> read_metadata(const fs::path& path) {
  StageTimes ignored;
  HONE_ASSIGN(const FileBytes file, FileBytes::read(path, ignored, kMostMetadata));
  return std::string(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
}

// The numbers of the grid cells of size `cell` that [start, start + extent) touches, all axes together.
std::vector<std::vector<int64_t>> cells_of(std::span<const int64_t> start, std::span<const int64_t> extent,
                                           const Shape& cell) {
  std::vector<std::vector<int64_t>> cells = {{}};
  for (std::size_t axis = 0; axis < cell.size(); ++axis) {
    std::vector<std::vector<int64_t>> longer;
    const int64_t last = (start[axis] + extent[axis] - 1) / cell[axis];
    for (const auto& prefix : cells)
      for (int64_t i = start[axis] / cell[axis]; i <= last; ++i) {
        longer.push_back(prefix);
        longer.back().push_back(i);
      }
    cells = std::move(longer);
  }
  return cells;
}

}  // namespace

// What is asked for, and where it lies.
struct ZarrArray::Box {
  std::span<const int64_t> start, extent;
  std::vector<int64_t> strides;  // of the result, in elements
  std::size_t element = 1;

  explicit Box(std::span<const int64_t> s, std::span<const int64_t> e, std::size_t size)
      : start(s), extent(e), strides(row_major_strides(e)), element(size) {}

  // Copies the part of a chunk that is in the box, or fills it where `chunk_bytes` is null.
  void copy(const std::byte* chunk_bytes, const std::vector<int64_t>& origin, const Shape& chunk,
            const std::byte* fill, std::byte* out) const {
    const std::size_t rank = chunk.size();
    if (rank == 0) {
      std::memcpy(out, chunk_bytes != nullptr ? chunk_bytes : fill, element);
      return;
    }
    const std::vector<int64_t> from_strides = row_major_strides(chunk);
    Shape low(rank), count(rank), index(rank, 0);
    int64_t from = 0, to = 0, rows = 1;
    for (std::size_t axis = 0; axis < rank; ++axis) {
      low[axis] = std::max(start[axis], origin[axis]);
      count[axis] = std::min(start[axis] + extent[axis], origin[axis] + chunk[axis]) - low[axis];
      from += (low[axis] - origin[axis]) * from_strides[axis];
      to += (low[axis] - start[axis]) * strides[axis];
      if (axis + 1 < rank) rows *= count[axis];
    }
    const std::size_t row_bytes = static_cast<std::size_t>(count[rank - 1]) * element;
    for (int64_t row = 0; row < rows; ++row) {
      std::byte* const target = out + static_cast<std::size_t>(to) * element;
      if (chunk_bytes != nullptr)
        std::memcpy(target, chunk_bytes + static_cast<std::size_t>(from) * element, row_bytes);
      else
        for (std::size_t i = 0; i < row_bytes; i += element) std::memcpy(target + i, fill, element);
      for (std::size_t axis = rank - 1; axis-- > 0;) {
        from += from_strides[axis];
        to += strides[axis];
        if (++index[axis] < count[axis]) break;
        from -= from_strides[axis] * count[axis];
        to -= strides[axis] * count[axis];
        index[axis] = 0;
      }
    }
  }
};

Result<ZarrArray> ZarrArray::open(const fs::path& folder) {
  ZarrArray array;
  array.folder_ = folder;
  std::error_code failed;
  const auto within = [](const Error& error, const fs::path& path) { return error.within(path.string()); };
  if (!fs::is_directory(folder, failed))
    return not_found(
        fmt::format("cannot read the Zarr array '{}': there is no such folder", folder.string()));
  const fs::path v2 = folder / ".zarray", v3 = folder / "zarr.json", attributes = folder / ".zattrs";
  if (fs::exists(v2, failed)) {
    HONE_ASSIGN(const std::string text, read_metadata(v2));
    auto metadata = parse_zarr_v2(text);
    if (!metadata.ok()) return within(metadata.error(), v2);
    array.metadata_ = *std::move(metadata);
    return array;
  }
  const fs::path described = fs::exists(v3, failed) ? v3 : attributes;
  if (!fs::exists(described, failed))
    return invalid(
        fmt::format("'{}' is no Zarr array: it holds neither .zarray nor zarr.json", folder.string()));
  HONE_ASSIGN(const std::string text, read_metadata(described));
  auto metadata = parse_zarr_v3(text);
  if (metadata.ok()) {
    array.metadata_ = *std::move(metadata);
    return array;
  }
  const auto group = parse_zarr_group(text);
  if (!group.ok()) {
    const bool is_group = described == attributes || text.find("\"group\"") != std::string::npos;
    return within(is_group ? group.error() : metadata.error(), described);
  }
  if (fs::exists(folder / group->path / ".zattrs", failed) &&
      !fs::exists(folder / group->path / ".zarray", failed))
    return invalid(fmt::format("{}: its image '{}' is a group again", described.string(), group->path));
  HONE_ASSIGN(ZarrArray image, open(folder / group->path));
  if (group->axes.size() == image.shape().size()) image.axes_ = group->axes;
  return image;
}

void ZarrArray::keep_chunks(std::shared_ptr<ChunkCache> cache, int64_t of_a_sample) {
  cache_ = std::move(cache);
  int64_t bytes = static_cast<int64_t>(dtype_size(dtype()));
  for (std::size_t axis = 0; axis < shape().size(); ++axis)
    bytes *= (shape()[axis] + chunk()[axis] - 1) / chunk()[axis] * chunk()[axis];
  number_ = cache_->add_array(bytes, of_a_sample);
}

Status ZarrArray::copy_chunk(const Box& box, const std::vector<int64_t>& at, const ChunkCache::Load& load,
                             std::byte* out, StageTimes& times) const {
  std::vector<int64_t> origin = at;
  int64_t number = 0;
  for (std::size_t axis = 0; axis < origin.size(); ++axis) {
    number = number * ((shape()[axis] + chunk()[axis] - 1) / chunk()[axis]) + at[axis];
    origin[axis] *= chunk()[axis];
  }
  HONE_ASSIGN(const ChunkCache::Chunk bytes, cache_ ? cache_->get(number_, number, times, load) : load());
  const StageTimer timer(times, Stage::kDecode);
  box.copy(bytes ? bytes->data() : nullptr, origin, chunk(), metadata_.fill.data(), out);
  return {};
}

Status ZarrArray::read_chunk(const Box& box, const std::vector<int64_t>& chunk, std::byte* out,
                             StageTimes& times) const {
  const auto load = [&]() -> Result<ChunkCache::Chunk> {
    const fs::path path = folder_ / zarr_chunk_name(metadata_, chunk);
    const auto file = FileBytes::read(path, times);
    if (!file.ok() && file.error().code == ErrorCode::kNotFound) return ChunkCache::Chunk();
    if (!file.ok()) return file.error();
    const StageTimer timer(times, Stage::kDecode);
    auto decoded = decode_chunk(file->bytes(), metadata_.encoding, metadata_.dtype, metadata_.chunk);
    if (!decoded.ok()) return decoded.error().within(path.string());
    return ChunkCache::Chunk(std::make_shared<ChunkBytes>(*std::move(decoded)));
  };
  return copy_chunk(box, chunk, load, out, times);
}

// A file of chunks. Its index is read when the first chunk is not in the cache.
struct ZarrArray::Shard {
  fs::path path;
  const ZarrMetadata& metadata;
  std::optional<std::vector<ShardEntry>> entries = {};  // empty: there is no such file

  Status read_index(StageTimes& times) {
    if (entries) return {};
    std::error_code failed;
    const auto size = fs::file_size(path, failed);
    const std::size_t index_bytes = shard_index_bytes(metadata);
    if (failed && fs::exists(path))
      return io_error(fmt::format("cannot read '{}': {}", path.string(), failed.message()));
    if (failed) {
      entries.emplace();
      return {};
    }
    if (size < index_bytes)
      return corrupt(fmt::format("{}: the shard is too short for its index", path.string()));
    HONE_ASSIGN(const FileBytes index,
                FileBytes::read_part(path, metadata.sharding->index_at_end ? size - index_bytes : 0,
                                     index_bytes, times));
    auto decoded = decode_shard_index(index.bytes(), metadata);
    if (!decoded.ok()) return decoded.error().within(path.string());
    entries = *std::move(decoded);
    return {};
  }

  Result<ChunkCache::Chunk> load(int64_t number, StageTimes& times) {
    HONE_CHECK(read_index(times));
    if (entries->empty()) return ChunkCache::Chunk();
    const ShardEntry entry = (*entries)[static_cast<std::size_t>(number)];
    if (entry.offset == kMissingChunk && entry.size == kMissingChunk) return ChunkCache::Chunk();
    if (entry.size > static_cast<uint64_t>(2 * kMostChunkBytes))
      return corrupt(fmt::format("{}: chunk {}: its index says {} bytes", path.string(), number, entry.size));
    HONE_ASSIGN(const FileBytes bytes, FileBytes::read_part(path, entry.offset, entry.size, times));
    const StageTimer timer(times, Stage::kDecode);
    const ZarrSharding& inner = *metadata.sharding;
    auto decoded = decode_chunk(bytes.bytes(), inner.encoding, metadata.dtype, inner.chunk);
    if (!decoded.ok()) return decoded.error().within(fmt::format("{}: chunk {}", path.string(), number));
    return ChunkCache::Chunk(std::make_shared<ChunkBytes>(*std::move(decoded)));
  }
};

Status ZarrArray::read_shard(const Box& box, const std::vector<int64_t>& shard, std::byte* out,
                             StageTimes& times) const {
  Shard file{folder_ / zarr_chunk_name(metadata_, shard), metadata_};
  const std::size_t rank = shard.size();
  // The part of the box within the shard, and the shard's grid of chunks.
  std::vector<int64_t> low(rank), extent(rank), grid(rank);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const int64_t origin = shard[axis] * metadata_.chunk[axis];
    low[axis] = std::max(box.start[axis], origin);
    extent[axis] = std::min(box.start[axis] + box.extent[axis], origin + metadata_.chunk[axis]) - low[axis];
    grid[axis] = metadata_.chunk[axis] / chunk()[axis];
  }
  for (const auto& at : cells_of(low, extent, chunk())) {
    int64_t number = 0;  // within the shard
    for (std::size_t axis = 0; axis < rank; ++axis) number = number * grid[axis] + at[axis] % grid[axis];
    HONE_CHECK(copy_chunk(
        box, at, [&] { return file.load(number, times); }, out, times));
  }
  return {};
}

Result<Tensor> ZarrArray::read(std::span<const int64_t> start, std::span<const int64_t> extent,
                               StageTimes& times, std::size_t threads) const {
  const Shape& shape = metadata_.shape;
  if (start.size() != shape.size() || extent.size() != shape.size())
    return invalid(
        fmt::format("{}: a box of {} axes in an array of {}", folder_.string(), extent.size(), shape.size()));
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    if (start[axis] < 0 || extent[axis] < 0 || start[axis] > shape[axis] - extent[axis])
      return invalid(fmt::format("{}: a box beyond the array of {}", folder_.string(), shape_text(shape)));
  auto made = Tensor::try_make(metadata_.dtype, Shape(extent.begin(), extent.end()));
  if (!made.ok()) return made.error().within(folder_.string());
  if (made->size() == 0) return made;
  auto* const out = static_cast<std::byte*>(made->data());
  const Box box(start, extent, dtype_size(metadata_.dtype));
  const auto cells = cells_of(start, extent, metadata_.chunk);
  std::mutex mutex;
  std::optional<std::pair<std::size_t, Error>> error;  // the first by place, whoever found one first
  std::atomic<std::size_t> next = 0;
  side_by_side(std::clamp<std::size_t>(threads, 1, cells.size()), [&](std::size_t) {
    StageTimes mine;
    mine.first_region = times.first_region;
    for (std::size_t i = next++; i < cells.size(); i = next++) {
      const Status read =
          metadata_.sharding ? read_shard(box, cells[i], out, mine) : read_chunk(box, cells[i], out, mine);
      const std::lock_guard lock(mutex);
      if (!read.ok() && (!error || i < error->first)) error = {i, read.error()};
      if (error) break;
    }
    const std::lock_guard lock(mutex);
    times += mine;
  });
  if (error) return error->second;
  return made;
}

}  // namespace hone::data

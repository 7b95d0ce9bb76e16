// libFuzzer target: no text may crash the readers of Zarr's metadata, and what they accept has chunks of a size that
// can be read.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "data/zarr/metadata.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, std::size_t size) {
  using namespace hone;
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  for (const auto& array : {data::parse_zarr_v2(text), data::parse_zarr_v3(text)}) {
    if (!array.ok()) continue;
    const Shape& chunk = array->sharding ? array->sharding->chunk : array->chunk;
    if (!checked_element_count(array->shape).ok() || element_count(chunk) > data::kMostChunkBytes)
      std::abort();
    if (data::zarr_chunk_name(*array, std::vector<int64_t>(array->shape.size())).empty()) std::abort();
  }
  (void)data::parse_zarr_group(text);
  return 0;
}

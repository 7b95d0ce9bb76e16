// libFuzzer target: no bytes may crash the reader of orientations, and what it says is one of eight.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "data/image/exif.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const int orientation = hone::data::exif_orientation({reinterpret_cast<const std::byte*>(data), size});
  if (orientation < 1 || orientation > 8) std::abort();
  return 0;
}

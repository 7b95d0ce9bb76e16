// libFuzzer target: no input may crash the .npy reader, and whatever it accepts survives a write and a read.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "core/npy/npy.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace hone;
  const auto tensor = parse_npy({reinterpret_cast<const std::byte*>(data), size});
  if (!tensor.ok()) return 0;
  const auto header = npy_header(*tensor);
  if (!header.ok()) std::abort();
  const std::string file = *header + std::string(static_cast<const char*>(tensor->data()), tensor->bytes());
  const auto again = parse_npy({reinterpret_cast<const std::byte*>(file.data()), file.size()});
  if (!again.ok() || !same_tensor(*tensor, *again)) std::abort();
  return 0;
}

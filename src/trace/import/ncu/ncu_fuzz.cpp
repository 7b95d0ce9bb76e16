// libFuzzer: whatever the bytes are, reading them as a table of Nsight Compute ends with a valid trace or an
// error.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "trace/import/ncu/reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const auto source = hone::trace::bytes_in_memory({reinterpret_cast<const char*>(data), size});
  const auto file = hone::trace::ncu::read_ncu(*source);
  if (!file.ok()) {
    if (file.error().message.empty()) std::abort();
    return 0;
  }
  if (const hone::Status valid = file->trace.validate(); !valid.ok()) {
    std::fprintf(stderr, "the reader made an invalid trace: %s\n", valid.error().message.c_str());
    std::abort();
  }
  return 0;
}

// libFuzzer: whatever the bytes are, reading them as a trace ends with a valid trace or an error, and the
// result does not depend on where the text is cut into chunks.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "trace/import/kineto/reader.h"

namespace {

hone::Result<hone::trace::ImportedFile> read(std::string_view bytes, std::size_t chunk_bytes) {
  const auto source = hone::trace::bytes_in_memory(bytes);
  hone::trace::kineto::ReadOptions options;
  options.chunk_bytes = chunk_bytes;
  return hone::trace::kineto::read_kineto(*source, options);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const std::size_t chunk_bytes : {std::size_t{1} << 20, std::size_t{64}}) {
    const auto file = read(bytes, chunk_bytes);
    if (!file.ok()) {
      if (file.error().message.empty()) std::abort();
      continue;
    }
    if (const hone::Status valid = file->trace.validate(); !valid.ok()) {
      std::fprintf(stderr, "the reader made an invalid trace: %s\n", valid.error().message.c_str());
      std::abort();
    }
  }
  return 0;
}

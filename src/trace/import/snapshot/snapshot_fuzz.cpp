// libFuzzer: whatever the bytes are, reading them as a snapshot of memory ends with a valid trace that links, or an error.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "trace/import/snapshot/reader.h"
#include "trace/link/link.h"

namespace {

void must_hold(const hone::Status& status, const char* what) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s: %s\n", what, status.error().message.c_str());
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  auto file = hone::trace::snapshot::read_snapshot(bytes);
  if (!file.ok()) {
    if (file.error().message.empty()) std::abort();
    return 0;
  }
  must_hold(file->trace.validate(), "the reader made an invalid trace");
  must_hold(link_trace(file->trace), "a valid trace did not link");
  return 0;
}

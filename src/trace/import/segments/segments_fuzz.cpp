// libFuzzer: whatever the bytes are, reading them as a segment of hone's recorder ends with a valid trace, which links, or
// with an error.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "trace/import/segments/reader.h"
#include "trace/link/link.h"

namespace {

void must_hold(const hone::Status& status, const char* what) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s: %s\n", what, status.error().message.c_str());
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  auto segment = hone::trace::segments::read_segment({reinterpret_cast<const char*>(data), size});
  if (!segment.ok()) {
    if (segment.error().message.empty()) std::abort();
    return 0;
  }
  hone::trace::Trace& trace = segment->file.trace;
  must_hold(trace.validate(), "the reader made an invalid trace");
  must_hold(hone::trace::link_trace(trace), "a valid trace did not link");
  must_hold(trace.validate(), "linking made an invalid trace");
  return 0;
}

// libFuzzer: whatever a database holds, reading it as one of Nsight Systems ends with valid traces, which
// link, or an error. An input is a database's file, or its rows as text (testing/nsys_rows.h).
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "trace/import/merge.h"
#include "trace/import/nsys/reader.h"
#include "trace/link/link.h"
#include "trace/testing/mutate_rows.h"

extern "C" std::size_t LLVMFuzzerMutate(uint8_t* data, std::size_t size, std::size_t most);

namespace {

using namespace hone::trace;

bool is_database(std::string_view bytes) { return bytes.starts_with("SQLite format 3"); }

void must_hold(const hone::Status& status, const char* what) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s: %s\n", what, status.error().message.c_str());
  std::abort();
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(uint8_t* data, std::size_t size, std::size_t most,
                                               unsigned seed) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (is_database(bytes) || seed % 16 == 0) return LLVMFuzzerMutate(data, size, most);
  const std::string text = nsys::text_of(nsys::RowsMutator(nsys::rows_of(bytes), seed).mutate());
  if (text.size() > most) return LLVMFuzzerMutate(data, size, most);
  std::memcpy(data, text.data(), text.size());
  return text.size();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  auto files = nsys::read_nsys_bytes(is_database(bytes) ? std::string(bytes)
                                                        : nsys::DatabaseOfRows(nsys::rows_of(bytes)).bytes());
  if (!files.ok()) {
    if (files.error().message.empty()) std::abort();
    return 0;
  }
  for (const ImportedFile& file : *files)
    must_hold(file.trace.validate(), "the reader made an invalid trace");
  const std::vector<std::string> sources(files->size(), "report.sqlite");
  if (!check_one_program(*files, sources).ok()) return 0;
  Trace trace = merge_files(std::move(*files), sources);
  must_hold(trace.validate(), "merging made an invalid trace");
  must_hold(link_trace(trace), "a valid trace did not link");
  must_hold(trace.validate(), "linking made an invalid trace");
  return 0;
}

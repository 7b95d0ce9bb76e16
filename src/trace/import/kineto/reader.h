// Reads PyTorch's profiler traces (Kineto JSON; Chrome's format with PyTorch's categories): in parallel, in
// one pass over the bytes, and tolerant of what writers leave broken.
#pragma once

#include "trace/import/byte_source.h"
#include "trace/import/imported_file.h"
#include "trace/import/kineto/chunks.h"

namespace hone::trace::kineto {

struct ReadOptions {
  int threads = 1;
  std::size_t chunk_bytes = kChunkBytes;  // smaller ones for tests
  FileProgress progress;
};

// Meta::warnings says what was mended, left out or lost. Errors: nothing in `source` that is an event of
// PyTorch; what the operating system says. Neither names the file.
Result<ImportedFile> read_kineto(ByteSource& source, const ReadOptions& options);

}  // namespace hone::trace::kineto

// Any trace that hone reads, as one Trace: the door to the importers of src/trace/import/, a folder a format.
// Formats are found by content. What a trace means (steps, operators' costs) is the work of trace/link.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string_view>

#include "core/result.h"
#include "trace/trace.h"

namespace hone::trace {

struct ImportOptions {
  int threads = 0;  // 0: as many as the machine has
  // Called now and then, by one thread at a time: which file, and the share of it that was read, 0 to 1.
  // Where it returns false the import ends with kCancelled.
  std::function<bool(std::string_view file, double share)> progress;
};

// Reads files and folders (a run folder, or a folder of traces) as the ranks of one program. What was mended
// or left out is in Meta::warnings. Errors, also for files that are no ranks of one program, name the file:
// what it looks like, and what hone reads.
Result<Trace> import_trace(std::span<const std::filesystem::path> paths, const ImportOptions& options = {});

}  // namespace hone::trace

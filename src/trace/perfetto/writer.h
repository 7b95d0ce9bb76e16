// Writes a trace as a Perfetto protobuf file: opens in ui.perfetto.dev, and comes back whole through
// reader.h. A slice shows its operator's kind, FLOPs, bytes and kernel when clicked; an instant event named
// "about this trace" carries the tables.
#pragma once

#include <filesystem>

#include "core/result.h"
#include "trace/trace.h"

namespace hone::trace {

// The file appears whole or not at all. Errors: an invalid trace, or the operating system's.
Status write_perfetto(const Trace& trace, const std::filesystem::path& path);

}  // namespace hone::trace

// Reads a Perfetto file that hone wrote (writer.h). Files of other programs are another importer's work.
#pragma once

#include <filesystem>
#include <string_view>

#include "core/result.h"
#include "trace/trace.h"

namespace hone::trace {

// Spans come back ordered by their start. Errors name the file: kCorrupt for malformed bytes, kUnsupported
// for a Perfetto trace of another program.
Result<Trace> read_perfetto(const std::filesystem::path& path);
// The same from memory; errors do not name a file.
Result<Trace> parse_perfetto(std::string_view bytes);

}  // namespace hone::trace

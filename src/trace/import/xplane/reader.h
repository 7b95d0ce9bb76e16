// Reads profiles of XLA's tracer, as jax.profiler, tf.profiler and torch_xla write them: XPlane files
// (`.xplane.pb`, protobuf), and
// what TensorBoard's trace viewer shows of them (`.trace.json.gz`).
#pragma once

#include <string_view>

#include "core/result.h"
#include "trace/import/byte_source.h"
#include "trace/import/imported_file.h"

namespace hone::trace::xplane {

// `bytes` are the whole file. Meta::warnings says what was left out or lost, and what the profiler warned of. Errors:
// nothing in it that took time; neither names the file.
Result<ImportedFile> read_xplane(std::string_view bytes, const FileProgress& progress = {});

// Likewise of the trace viewer's JSON, of which nothing is held whole but the events.
Result<ImportedFile> read_viewer_json(ByteSource& source, const FileProgress& progress = {});

}  // namespace hone::trace::xplane

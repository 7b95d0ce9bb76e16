// A trace's tables other than its spans (meta, tracks, operators) as an annotation tree, and back.
#pragma once

#include "core/result.h"
#include "trace/perfetto/annotation.h"
#include "trace/trace.h"

namespace hone::trace::perfetto {

inline constexpr std::string_view kAboutName = "about this trace";
inline constexpr int64_t kTablesVersion = 1;

Annotation tables_to_annotation(const Trace& trace);
// Fills meta, tracks and operators of `trace`. Errors for a newer version and for values out of range.
Status tables_from_annotation(const Annotation& tables, Trace& trace);

}  // namespace hone::trace::perfetto

// Decodes what TensorBoard's trace viewer shows of a profile (`.trace.json.gz`, as jax.profiler writes it beside the
// XPlane file): Chrome's format with XLA's names. It has the events and stats of the profile, but neither the
// modules that tell what instructions cost nor, of long profiles, all events.
#pragma once

#include <cstdint>

#include "core/result.h"
#include "trace/import/byte_source.h"
#include "trace/import/imported_file.h"
#include "trace/import/interner.h"
#include "trace/import/xplane/profile.h"

namespace hone::trace::xplane {

struct ViewerNotes {
  bool has_list = true;     // it is JSON with a list of events
  bool cut_off = false;     // the text ends before its list does
  uint64_t lost = 0;        // pieces of the text that are not JSON
  uint64_t impossible = 0;  // events that were left out: no time that a clock shows
  uint64_t bytes = 0;       // of the text
};

// Hands what the text holds, whole or up to where it is cut off, to `sink`. `texts` keeps what the sink refers
// to, and must outlive it. Errors: what the operating system says; the progress callback asks to stop.
Result<ViewerNotes> read_viewer(ByteSource& source, Interner& texts, ProfileSink& sink,
                                const FileProgress& progress);

}  // namespace hone::trace::xplane

// Decodes the protobuf of XPlane files (tsl/profiler/protobuf/xplane.proto: XSpace) without a copy: texts are
// views into the bytes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "trace/import/imported_file.h"
#include "trace/import/xplane/profile.h"

namespace hone::trace::xplane {

struct SpaceNotes {
  std::vector<std::string> messages;  // errors and warnings that the profiler wrote into the file
  bool cut_off = false;               // the bytes end inside a message, or stop being protobuf there
  uint64_t impossible = 0;            // events that were left out: no time that a clock shows
  uint64_t counted = 0;               // events that only say how often something happened
};

// Hands all planes in `bytes`, which must outlive the sink, to `sink`: those that describe others first. What stands before
// damage is handed over. Errors: the progress callback asks to stop; nothing else.
Result<SpaceNotes> read_space(std::string_view bytes, ProfileSink& sink, const FileProgress& progress);

}  // namespace hone::trace::xplane

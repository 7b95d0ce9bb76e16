// Several files of one program, one a rank, become one Trace.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "trace/import/imported_file.h"

namespace hone::trace {

// Bits of correlation ids, external ids and sequence numbers that a file itself may use; the merge puts the
// file's number above them, so that ids of different ranks never meet.
inline constexpr int kIdBits = 48;

// `sources` are the files' names, for RankInfo::source and messages. Times stay comparable where all files
// say what their clock counts from; else every file begins at 0, with a warning.
Trace merge_files(std::vector<ImportedFile> files, std::span<const std::string> sources);

}  // namespace hone::trace

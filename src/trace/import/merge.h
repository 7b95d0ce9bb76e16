// Several files of one program, one a rank, become one Trace.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "trace/import/imported_file.h"

namespace hone::trace {

// Bits of correlation ids, external ids and sequence numbers that a file itself may use; the merge puts the
// file's number above them, so that ids of different ranks never meet.
inline constexpr int kIdBits = 48;

// Whether files can be the ranks of one program. Errors, with what to do: two say that they are the same
// rank, hold the same events, or differ in what all ranks have in common (their number, backend, group of
// all); a file was recorded when the others had ended, and no collectives show that only its clock is
// another. What only looks unlike one run is left to the analysis, which sees all collectives.
Status check_one_program(std::span<const ImportedFile> files, std::span<const std::string> sources);

// `sources` are the files' names, for RankInfo::source and messages. Times stay comparable where all files
// say what their clock counts from; else every file begins at 0, with a warning.
Trace merge_files(std::vector<ImportedFile> files, std::span<const std::string> sources);

}  // namespace hone::trace

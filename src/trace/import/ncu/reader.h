// Reads what Nsight Compute prints: `ncu --csv`, its details page or `--page raw`. Columns are found by name.
// Such a file has no timeline: the kernels, which were measured one by one, are laid end to end on one track
// a stream, each with an operator row that says what its counters counted. Tested on both
// pages of one real report (tests/traces/ncu) and on tables made up from the documentation.
#pragma once

#include "trace/import/byte_source.h"
#include "trace/import/imported_file.h"

namespace hone::trace::ncu {

// Errors do not name the file.
Result<ImportedFile> read_ncu(ByteSource& source);

}  // namespace hone::trace::ncu

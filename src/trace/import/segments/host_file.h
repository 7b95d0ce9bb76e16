// What the session saw of the program's processes from outside (segments::kHostFile): stacks, and what they took of the
// machine. Each process's goes to the rank that it is, or that started it.
#pragma once

#include <span>
#include <string_view>

#include "trace/import/segments/reader.h"

namespace hone::trace::segments {

// Adds it to the files. Bytes that are no such file, and processes of no rank, are left out.
void add_host_file(std::string_view bytes, std::span<SegmentFile> files);

}  // namespace hone::trace::segments

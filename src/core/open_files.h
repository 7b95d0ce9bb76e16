// The files that this process maps and writes right now, as a signal handler and a last look before results
// are written need to know them. Files register themselves (core/file.h); nobody else does.
#pragma once

#include <filesystem>

#include "core/result.h"

namespace hone {

class MappedFile;

// An error that names the first mapped file which another program has changed in place since it was opened:
// what was read of it may be half old and half new. One that was replaced by another file of its name has not
// changed.
Status check_mapped_files();

// Async-signal-safe. The name of the mapped file that holds `address`; null: none does.
const char* mapped_file_at(const void* address) noexcept;
// Async-signal-safe. Removes what unfinished AtomicFiles have written so far: the process is about to end.
void remove_unfinished_files() noexcept;

namespace internal {

void register_mapped(const MappedFile& file) noexcept;
void unregister_mapped(const MappedFile& file) noexcept;
// Returns a place to hand to unregister_unfinished(), below 0 where there was none left.
int register_unfinished(const std::filesystem::path& path) noexcept;
void unregister_unfinished(int place) noexcept;

}  // namespace internal
}  // namespace hone

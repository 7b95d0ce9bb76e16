// Reads what Nsight Systems exports: `nsys export --type sqlite` (schema 2.x and 3.x: columns are found by
// name, tables exist only if they have rows).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "trace/import/imported_file.h"

namespace hone::trace::nsys {

// One file of Nsight Systems may hold several processes: each that used a device is a rank, in order of pid;
// which rank of the program is not in the file. Errors do not name the file.
Result<std::vector<ImportedFile>> read_nsys(const std::filesystem::path& path);
// The bytes of a file that is packed or piped.
Result<std::vector<ImportedFile>> read_nsys_bytes(std::string bytes);

}  // namespace hone::trace::nsys

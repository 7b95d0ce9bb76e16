// A folder that one process at a time works in.
#pragma once

#include <filesystem>
#include <memory>

#include "core/descriptor.h"
#include "core/result.h"

namespace hone {

// Held as long as what it returns lives, and no longer than the process. An error where another holds it. File systems
// that know no locks (some of the network's) hold nobody back.
Result<std::unique_ptr<const Descriptor>> lock_folder(const std::filesystem::path& folder);

}  // namespace hone

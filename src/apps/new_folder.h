// Folders that a recording or a loop on a program has for itself: what was there before would be read as its own.
#pragma once

#include <filesystem>
#include <string_view>

#include "core/result.h"

namespace hone::apps {

// "hone-profile-20261123-083015" of the stem "hone-profile": in the folder where the user is, and not there yet.
std::filesystem::path new_folder_name(std::string_view stem);

// Errors: --out names a folder that holds something.
Status check_holds_nothing(const std::filesystem::path& folder);

}  // namespace hone::apps

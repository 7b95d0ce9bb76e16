// For tests: a path of this process's own below the system's folder for temporary files. Tests of one fixture
// run as processes side by side, so a fixed name would be shared.
#pragma once

#include <filesystem>
#include <string>

#include <unistd.h>

namespace hone {

inline std::filesystem::path scratch_path(const std::string& name) {
  return std::filesystem::temp_directory_path() / (name + "-" + std::to_string(getpid()));
}

}  // namespace hone

// What the environment of a program says to the recorders in it.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "observe/session/recorder_files.h"

namespace hone::observe {

// Variables to set: where the run folder is, and where CUDA, NVTX and Python find what they load.
std::vector<std::pair<std::string, std::string>> recorder_environment(const std::filesystem::path& folder,
                                                                      const RecorderFiles& files);

}  // namespace hone::observe

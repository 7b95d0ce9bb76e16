// Where the files lie that hone gives to observed programs.
#pragma once

#include <filesystem>

#include "core/result.h"

namespace hone::observe {

// What the program's processes load.
struct RecorderFiles {
  std::filesystem::path library;        // libhone_inject.so
  std::filesystem::path python_folder;  // holds sitecustomize.py
};

// Of the hone that runs, by where its program lies: in the build folder, or as installed (bin, lib/hone, share/hone).
// Errors: they are not there.
Result<RecorderFiles> find_recorder_files();

}  // namespace hone::observe

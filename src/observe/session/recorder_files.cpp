#include "observe/session/recorder_files.h"

#include <array>
#include <system_error>

#include <fmt/format.h>

namespace hone::observe {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLibrary = "libhone_inject.so";
constexpr const char* kPythonEntry = "sitecustomize.py";

// The first of the places, relative to the program, that has the file; empty: none.
template <std::size_t N>
fs::path folder_with(const fs::path& program_folder, const std::array<const char*, N>& places,
                     const char* file) {
  std::error_code failed;
  for (const char* place : places) {
    const fs::path folder = (program_folder / place).lexically_normal();
    if (fs::is_regular_file(folder / file, failed)) return folder;
  }
  return {};
}

}  // namespace

Result<RecorderFiles> find_recorder_files() {
  std::error_code failed;
  const fs::path here = fs::read_symlink("/proc/self/exe", failed).parent_path();
  const fs::path library = folder_with(here, std::array{".", "../lib/hone", "../lib64/hone"}, kLibrary);
  const fs::path python = folder_with(
      here, std::array{"python/hone_observe/start", "../share/hone/python/hone_observe/start"}, kPythonEntry);
  const auto missing = [&](const char* file) {
    return not_found(fmt::format(
        "cannot find {}, which observed programs load, near '{}'; install hone again", file, here.string()));
  };
  if (library.empty()) return missing(kLibrary);
  if (python.empty()) return missing(kPythonEntry);
  return RecorderFiles{library / kLibrary, python};
}

}  // namespace hone::observe

#include "observe/session/program_environment.h"

#include <cstdlib>

#include "observe/control.h"

namespace hone::observe {
namespace {

std::string with_prepended(const char* variable, const std::filesystem::path& folder) {
  const char* there = std::getenv(variable);
  return there == nullptr || *there == '\0' ? folder.string() : folder.string() + ":" + there;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> recorder_environment(const std::filesystem::path& folder,
                                                                      const RecorderFiles& files) {
  std::vector<std::pair<std::string, std::string>> set = {
      {kFolderVariable, std::filesystem::absolute(folder).string()}};
  const std::string library = files.library.string();
  if (!library.empty()) {
    set.emplace_back("CUDA_INJECTION64_PATH", library);
    set.emplace_back("NVTX_INJECTION64_PATH", library);
  }
  if (!files.python_folder.empty())
    set.emplace_back("PYTHONPATH", with_prepended("PYTHONPATH", files.python_folder));
  return set;
}

}  // namespace hone::observe

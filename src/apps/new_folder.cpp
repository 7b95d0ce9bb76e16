#include "apps/new_folder.h"

#include <ctime>
#include <string>

#include <fmt/format.h>

namespace hone::apps {

namespace fs = std::filesystem;

fs::path new_folder_name(std::string_view stem) {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char time[32];
  const std::string name = fmt::format(
      "{}-{}", stem, std::string(time, std::strftime(time, sizeof time, "%Y%m%d-%H%M%S", &local)));
  fs::path folder = name;
  std::error_code failed;
  for (int i = 2; fs::exists(folder, failed); ++i) folder = fmt::format("{}-{}", name, i);
  return folder;
}

Status check_holds_nothing(const fs::path& folder) {
  std::error_code failed;
  if (fs::is_directory(folder, failed) && !fs::is_empty(folder, failed))
    return invalid(fmt::format("--out {}: is not empty; name a new folder", folder.string()));
  return {};
}

}  // namespace hone::apps

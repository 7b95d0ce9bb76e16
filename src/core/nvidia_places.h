// Where NVIDIA's libraries lie on a machine: toolkits, and the packages of Python that everybody with PyTorch has.
// The one search of it: src/cuda loads by it, and so does libhone_inject, which links nothing of hone. Hence a
// header with nothing but the C and C++ libraries in it.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <dirent.h>
#include <link.h>

namespace hone {

// Shared objects that this process has loaded, by their whole paths.
inline std::vector<std::string> loaded_objects() {
  std::vector<std::string> paths;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* into) {
        if (info->dlpi_name != nullptr && info->dlpi_name[0] == '/')
          static_cast<std::vector<std::string>*>(into)->emplace_back(info->dlpi_name);
        return 0;
      },
      &paths);
  return paths;
}

// The entries of `folder` that begin with `prefix`, with the folder in front; none where there is no such folder.
inline std::vector<std::string> entries_beginning(const std::string& folder, std::string_view prefix) {
  std::vector<std::string> found;
  DIR* const opened = opendir(folder.c_str());
  if (opened == nullptr) return found;
  while (const dirent* const entry = readdir(opened)) {
    const std::string_view name = entry->d_name;
    if (name.starts_with(prefix)) found.push_back(folder + "/" + entry->d_name);
  }
  closedir(opened);
  return found;
}

// Toolkits, best guess first: `homes` (what CUDA_HOME and CUDA_PATH say; null or empty: nothing), then the usual places.
inline std::vector<std::string> nvidia_toolkits(std::initializer_list<const char*> homes) {
  std::vector<std::string> found;
  for (const char* home : homes) {
    if (home != nullptr && *home != '\0') found.emplace_back(home);
  }
  found.emplace_back("/usr/local/cuda");
  for (std::string& versioned : entries_beginning("/usr/local", "cuda-"))
    found.push_back(std::move(versioned));
  return found;
}

// The site-packages or dist-packages that `path` lies in; empty: in none.
inline std::string python_packages_of(std::string_view path) {
  for (const std::string_view packages : {"/site-packages/", "/dist-packages/"}) {
    const size_t at = path.find(packages);
    if (at != std::string_view::npos) return std::string(path.substr(0, at + packages.size() - 1));
  }
  return {};
}

// Where NVIDIA's package has its libraries: one folder for all since CUDA 13, one a package before. cuDNN, whose
// versions are not CUDA's, has kept its own.
inline std::vector<std::string> nvidia_package_folders(const std::string& site_packages,
                                                       std::string_view package) {
  const std::string root = site_packages + "/nvidia/";
  return {root + "cu13/lib", root + std::string(package) + "/lib"};
}

}  // namespace hone

#include "cuda/library.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <set>

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <link.h>

#include "core/nvidia_places.h"

namespace hone::cuda {
namespace {

namespace fs = std::filesystem;

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// The folders of packages below a Python's prefix.
void add_packages_below(const fs::path& prefix, std::vector<std::string>& found) {
  for (const std::string& version : entries_beginning(prefix / "lib", "python3")) {
    for (const char* const packages : {"site-packages", "dist-packages"}) {
      const std::string folder = version + "/" + packages;
      std::error_code ignored;
      if (fs::is_directory(folder + "/nvidia", ignored)) found.push_back(folder);
    }
  }
}

// The prefix of the first python3 of PATH: a virtual environment's is where its link lies, not what that points to.
std::vector<fs::path> python_prefixes() {
  std::vector<fs::path> prefixes;
  for (const char* const name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    if (const std::string prefix = variable(name); !prefix.empty()) prefixes.emplace_back(prefix);
  }
  const std::string path = variable("PATH");
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t end = std::min(path.find(':', at), path.size());
    const fs::path program = fs::path(path.substr(at, end - at)) / "python3";
    at = end + 1;
    std::error_code ignored;
    if (!fs::exists(program, ignored)) continue;
    prefixes.push_back(program.parent_path().parent_path());
    if (const fs::path real = fs::canonical(program, ignored); !real.empty())
      prefixes.push_back(real.parent_path().parent_path());
    break;
  }
  if (const std::string home = variable("HOME"); !home.empty()) prefixes.push_back(fs::path(home) / ".local");
  return prefixes;
}

std::vector<std::string> without_repeats(std::vector<std::string> texts) {
  std::set<std::string> seen;
  std::erase_if(texts, [&](const std::string& text) { return !seen.insert(text).second; });
  return texts;
}

struct LibraryFile {
  std::string path;
  int major = 0;
};

// A toolkit's folders that may hold it.
std::vector<std::string> folders_of_toolkit(const LibraryName& name, const std::string& home,
                                            std::initializer_list<const char*> usual) {
  std::vector<std::string> folders;
  for (const char* const folder : usual) folders.push_back(home + "/" + folder);
  if (!name.extra_folder.empty()) folders.push_back(fmt::format("{}/{}", home, name.extra_folder));
  return folders;
}

// All files that could be the library, best first: each major version wherever it may be, then the next.
std::vector<LibraryFile> candidate_files(const LibraryName& name, const LibraryPlaces& places,
                                         const std::vector<int>& majors) {
  std::vector<LibraryFile> files;
  const std::vector<std::string> loaded = places.loaded ? loaded_objects() : std::vector<std::string>();
  for (const int major : majors) {
    const std::string file = fmt::format("{}.{}", name.file, major);
    for (const std::string& object : loaded) {
      if (fs::path(object).filename().string().starts_with(file)) files.push_back({object, major});
    }
    for (const std::string& home : places.homes) {
      for (const std::string& folder : folders_of_toolkit(name, home, {"lib64", "lib"}))
        files.push_back({folder + "/" + file, major});
    }
    if (places.linker) files.push_back({file, major});
    for (const std::string& toolkit : places.toolkits) {
      for (const std::string& folder : folders_of_toolkit(name, toolkit, {"lib64"}))
        files.push_back({folder + "/" + file, major});
    }
    for (const std::string& packages : places.site_packages) {
      for (const std::string& folder : nvidia_package_folders(packages, name.package))
        files.push_back({folder + "/" + file, major});
    }
  }
  return files;
}

// Whether the file that was loaded is of such a version, as the name tells that its links lead to: system packages have
// the whole version there.
bool is_last_resort(const LibraryName& name, void* handle) {
  link_map* object = nullptr;
  if (::dlinfo(handle, RTLD_DI_LINKMAP, &object) != 0 || object == nullptr) return false;
  std::error_code ignored;
  const std::string file = fs::canonical(object->l_name, ignored).filename().string();
  return std::any_of(name.last_resort.begin(), name.last_resort.end(), [&](std::string_view version) {
    return file.ends_with(fmt::format("{}.{}", name.file, version));
  });
}

std::string file_names(const LibraryName& name, const std::vector<int>& majors) {
  std::vector<std::string> names;
  for (const int major : majors) names.push_back(fmt::format("{}.{}", name.file, major));
  return fmt::format("{}", fmt::join(names, " or "));
}

}  // namespace

LibraryName nvrtc_name() {
  return {.title = "NVRTC",
          .file = "libnvrtc.so",
          .majors = {13, 12},
          .package = "cuda_nvrtc",
          .pip = "nvidia-cuda-nvrtc",
          .follows_driver = true};
}

LibraryName blas_lt_name() {
  return {.title = "cuBLASLt",
          .file = "libcublasLt.so",
          .majors = {13, 12},
          .package = "cublas",
          .pip = "nvidia-cublas",
          .follows_driver = true};
}

// Its versions are its own: 9 is for CUDA 12 and for CUDA 13, by packages of different names.
LibraryName cudnn_name() {
  return {.title = "cuDNN",
          .file = "libcudnn.so",
          .majors = {9},
          .package = "cudnn",
          .pip = "nvidia-cudnn-cu13 (nvidia-cudnn-cu12 with a driver of CUDA 12)",
          .last_resort = {"9.14.0"}};  // computes attention wrongly (cudnn_attention.cpp)
}

LibraryName cupti_name() {
  return {.title = "CUPTI",
          .file = "libcupti.so",
          .majors = {13, 12},
          .package = "cuda_cupti",
          .pip = "nvidia-cuda-cupti",
          .extra_folder = "extras/CUPTI/lib64",
          .follows_driver = true};
}

LibraryPlaces LibraryPlaces::of_this_process() {
  LibraryPlaces places;
  for (const char* const name : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const std::string home = variable(name); !home.empty()) places.homes.push_back(home);
  }
  places.toolkits = nvidia_toolkits({});
  for (const std::string& object : loaded_objects()) {
    if (const std::string packages = python_packages_of(object); !packages.empty())
      places.site_packages.push_back(packages);
  }
  for (const fs::path& prefix : python_prefixes()) add_packages_below(prefix, places.site_packages);
  places.site_packages = without_repeats(std::move(places.site_packages));
  return places;
}

std::string LibraryPlaces::text() const {
  std::vector<std::string> parts;
  if (homes.empty())
    parts.emplace_back("CUDA_HOME (not set)");
  else
    parts.push_back(fmt::format("CUDA_HOME and CUDA_PATH ({})", fmt::join(homes, ", ")));
  if (linker) parts.emplace_back("the dynamic linker's folders");
  for (const std::string& toolkit : toolkits) parts.push_back(toolkit);
  if (site_packages.empty())
    parts.emplace_back("Python's packages (the active Python has no nvidia/*)");
  else
    for (const std::string& packages : site_packages) parts.push_back(packages + "/nvidia");
  return fmt::format("{}", fmt::join(parts, ", "));
}

Result<FoundLibrary> find_library(const LibraryName& name, const LibraryPlaces& places, int driver_version) {
  std::vector<int> majors = name.majors;
  if (name.follows_driver && driver_version > 0)
    std::erase_if(majors, [&](int major) { return major > driver_version / 1000; });
  if (majors.empty())
    return unsupported(fmt::format(
        "the NVIDIA driver speaks CUDA {}, and {} is used from CUDA {} on: install a newer driver",
        driver_version / 1000, name.title, name.majors.back()));
  std::string broken;                  // why a file that is there does not load
  std::optional<LibraryFile> doubted;  // of a version that is taken where there is no other
  for (const LibraryFile& file : candidate_files(name, places, majors)) {
    std::error_code ignored;
    if (file.path[0] == '/' && !fs::exists(file.path, ignored)) continue;
    if (void* const handle = ::dlopen(file.path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      if (!is_last_resort(name, handle)) return FoundLibrary{handle, file.path, file.major};
      ::dlclose(handle);  // nothing of it has run
      if (!doubted) doubted = file;
      continue;
    }
    const char* const why = ::dlerror();
    if (file.path[0] == '/' && broken.empty()) broken = why == nullptr ? file.path : why;
  }
  if (doubted) {
    if (void* const handle = ::dlopen(doubted->path.c_str(), RTLD_NOW | RTLD_LOCAL))
      return FoundLibrary{handle, doubted->path, doubted->major};
  }
  return not_found(fmt::format("{} ({}) {}; looked in {}; pip install {}, or set CUDA_HOME to a toolkit",
                               name.title, file_names(name, majors),
                               broken.empty() ? "is not here" : "does not load: " + broken, places.text(),
                               name.pip));
}

void* symbol(const FoundLibrary& library, const char* name) { return ::dlsym(library.handle, name); }

Error missing_function(const FoundLibrary& library, const char* name) {
  return unsupported(fmt::format("{} lacks {}: it is too old, or not what its name says; install a newer one",
                                 library.path, name));
}

}  // namespace hone::cuda

#include "observe/inject/cupti/cupti.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <dlfcn.h>
#include <unistd.h>

#include "core/nvidia_places.h"

namespace hone::observe::inject {
namespace {

constexpr uint32_t kOldest = 18;  // CUDA 12.0: the oldest whose records begin as cupti_abi.h says
constexpr const char* kMajors[] = {"13", "12"};

std::string_view file_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }
std::string_view folder_of(std::string_view path) { return path.substr(0, path.rfind('/')); }

// A CUPTI newer than the driver does not work with it: the driver's major version comes first.
std::vector<std::string> majors() {
  int version = 0;
  if (void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD)) {
    if (auto* ask = reinterpret_cast<int (*)(int*)>(dlsym(driver, "cuDriverGetVersion"))) ask(&version);
  }
  if (version != 0 && version < 13000) return {"12"};
  return {std::begin(kMajors), std::end(kMajors)};
}

class CuptiPlaces {
 public:
  void folder(const std::string& path) {
    for (const auto& major : majors_) file(path + "/libcupti.so." + major);
  }
  void file(std::string path) { files_.push_back(std::move(path)); }

  // NVIDIA's packages beside whatever lies in site-packages.
  void python_packages(const std::string& loaded) {
    const std::string packages = python_packages_of(loaded);
    if (packages.empty()) return;
    for (const std::string& library : nvidia_package_folders(packages, "cuda_cupti")) folder(library);
  }

  void beside_cuda(const std::string& loaded) {
    const std::string_view name = file_of(loaded);
    if (!name.starts_with("libcudart.") && !name.starts_with("libcublas") && !name.starts_with("libnvrtc"))
      return;
    const std::string at(folder_of(loaded));
    folder(at);
    folder(at + "/../extras/CUPTI/lib64");
    folder(at + "/../../extras/CUPTI/lib64");
  }

  void toolkits(const Environment& environment) {
    for (const std::string& home : nvidia_toolkits({environment.cuda_home, environment.cuda_path}))
      toolkit(home);
  }

  const std::vector<std::string>& files() const { return files_; }
  void by_linker() {
    for (const auto& major : majors_) file("libcupti.so." + major);
  }

 private:
  void toolkit(const std::string& home) {
    folder(home + "/lib64");
    folder(home + "/extras/CUPTI/lib64");
  }

  std::vector<std::string> majors_ = majors();
  std::vector<std::string> files_;
};

bool is_cupti(const std::string& object) { return file_of(object).starts_with("libcupti.so"); }

void* open_cupti(const Environment& environment, std::string& path) {
  const auto loaded = loaded_objects();
  for (const auto& object : loaded) {
    if (!is_cupti(object)) continue;
    path = object;
    if (void* handle = dlopen(object.c_str(), RTLD_NOW | RTLD_NOLOAD)) return handle;
  }
  CuptiPlaces places;
  if (environment.cupti[0]) places.file(environment.cupti);
  for (const auto& object : loaded) places.beside_cuda(object);
  for (const auto& object : loaded) places.python_packages(object);
  places.by_linker();
  places.toolkits(environment);
  for (const auto& file : places.files()) {
    if (file[0] == '/' && access(file.c_str(), R_OK) != 0) continue;
    path = file;
    if (void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
  }
  return nullptr;
}

struct CuptiFunctions {
  void* library;
  const char* missing = nullptr;

  template <typename Function>
  void optional(Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(library, name));
  }
  template <typename Function>
  void required(Function& function, const char* name) {
    optional(function, name);
    if (!function && !missing) missing = name;
  }
};

const char* find_functions(void* library, Cupti& cupti) {
  CuptiFunctions find{library};
  find.required(cupti.GetVersion, "cuptiGetVersion");
  find.required(cupti.GetResultString, "cuptiGetResultString");
  find.required(cupti.Subscribe, "cuptiSubscribe");
  find.optional(cupti.Subscribe_v2, "cuptiSubscribe_v2");
  find.required(cupti.Unsubscribe, "cuptiUnsubscribe");
  find.required(cupti.EnableCallback, "cuptiEnableCallback");
  find.required(cupti.GetCallbackName, "cuptiGetCallbackName");
  find.required(cupti.GetTimestamp, "cuptiGetTimestamp");
  find.optional(cupti.SetThreadIdType, "cuptiSetThreadIdType");
  find.optional(cupti.GetGraphNodeId, "cuptiGetGraphNodeId");
  find.optional(cupti.GetGraphId, "cuptiGetGraphId");
  find.required(cupti.ActivityRegisterCallbacks, "cuptiActivityRegisterCallbacks");
  find.optional(cupti.ActivityRegisterTimestampCallback, "cuptiActivityRegisterTimestampCallback");
  find.required(cupti.ActivityEnable, "cuptiActivityEnable");
  find.required(cupti.ActivityDisable, "cuptiActivityDisable");
  find.optional(cupti.ActivityEnableAllSyncRecords, "cuptiActivityEnableAllSyncRecords");
  find.required(cupti.ActivityFlushAll, "cuptiActivityFlushAll");
  find.required(cupti.ActivityGetNextRecord, "cuptiActivityGetNextRecord");
  find.required(cupti.ActivityGetNumDroppedRecords, "cuptiActivityGetNumDroppedRecords");
  return find.missing;
}

}  // namespace

const char* Cupti::text(Result result) const {
  const char* words = nullptr;
  if (GetResultString && GetResultString(result, &words) == Result::kSuccess && words) return words;
  return "unknown error";
}

std::string Cupti::reason(Result result) const {
  if (result == Result::kNotPrivileged)
    return "this user may not read hardware counters: run as root, or have the driver loaded with "
           "NVreg_RestrictProfilingToAdminUsers=0 (https://developer.nvidia.com/ERR_NVGPUCTRPERM)";
  return std::string("CUPTI says ") + text(result);
}

void* Cupti::symbol(const char* name) const { return library ? dlsym(library, name) : nullptr; }

bool cupti_is_loaded() {
  const auto loaded = loaded_objects();
  return std::any_of(loaded.begin(), loaded.end(), is_cupti);
}

bool load_cupti(const Environment& environment, Cupti& cupti, char* why, size_t why_bytes) {
  std::string path;
  void* library = open_cupti(environment, path);
  if (!library) {
    std::snprintf(
        why, why_bytes,
        "no device work recorded: libcupti.so (12 or 13) was not found; install CUDA's CUPTI, or pip "
        "install nvidia-cuda-cupti, or name the file in HONE_OBSERVE_CUPTI");
    return false;
  }
  cupti.library = library;
  std::snprintf(cupti.path, sizeof(cupti.path), "%s", path.c_str());
  if (const char* missing = find_functions(library, cupti)) {
    std::snprintf(why, why_bytes,
                  "no device work recorded: %s lacks %s; it needs CUPTI of CUDA 12.0 or later", cupti.path,
                  missing);
    return false;
  }
  cupti.GetVersion(&cupti.version);
  if (cupti.version < kOldest) {
    std::snprintf(
        why, why_bytes,
        "no device work recorded: %s is of API version %u; it needs CUPTI of CUDA 12.0 (18) or later",
        cupti.path, cupti.version);
    return false;
  }
  return true;
}

}  // namespace hone::observe::inject

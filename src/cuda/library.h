// NVIDIA's libraries, loaded when something first needs them: found in the system, in a toolkit or in Python's
// packages (core/nvidia_places.h). What is missing is said in one line, with where it was looked for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace hone::cuda {

// A library of NVIDIA's, whose files carry a major version: "libnvrtc.so.13".
struct LibraryName {
  std::string_view title;              // for people: "NVRTC"
  std::string_view file;               // without the version: "libnvrtc.so"
  std::vector<int> majors;             // that hone can use, best first
  std::string_view package;            // its folder in site-packages/nvidia before CUDA 13: "cuda_nvrtc"
  std::string_view pip;                // what pip installs
  std::string_view extra_folder = {};  // of a toolkit, beside its lib64: "extras/CUPTI/lib64"
  bool follows_driver = false;         // majors are CUDA's: one above the driver's does not work with it
  std::vector<std::string_view> last_resort =
      {};  // versions ("9.14.0") that are taken where there is no other
};

LibraryName nvrtc_name();
LibraryName blas_lt_name();
LibraryName cudnn_name();
LibraryName cupti_name();

// Where to look, in this order.
struct LibraryPlaces {
  bool loaded = true;                      // what the process has loaded already
  std::vector<std::string> homes;          // toolkits that the user names: CUDA_HOME, CUDA_PATH
  bool linker = true;                      // by the dynamic linker: LD_LIBRARY_PATH, ld.so's cache
  std::vector<std::string> toolkits;       // in the usual places
  std::vector<std::string> site_packages;  // of Python

  // The environment's: the active Python is VIRTUAL_ENV's, CONDA_PREFIX's, or the first python3 of PATH; packages of
  // the user (~/.local) count too.
  static LibraryPlaces of_this_process();
  // For errors: "the dynamic linker's folders, CUDA_HOME (not set), /usr/local/cuda, …".
  std::string text() const;
};

struct FoundLibrary {
  void* handle = nullptr;  // never closed: libraries of CUDA have threads of their own
  std::string path;        // as it was asked for
  int major = 0;
};

// `driver_version` as cuDriverGetVersion has it (13000); 0: not known.
Result<FoundLibrary> find_library(const LibraryName& name, const LibraryPlaces& places,
                                  int driver_version = 0);

// The address of a function; null where the library lacks it.
void* symbol(const FoundLibrary& library, const char* name);

// Fills `functions` by its for_each_function(). An error names the first that is missing.
template <typename Functions>
Status take_functions(const FoundLibrary& library, Functions& functions);

Error missing_function(const FoundLibrary& library, const char* name);

template <typename Functions>
Status take_functions(const FoundLibrary& library, Functions& functions) {
  const char* missing = nullptr;
  for_each_function(functions, [&]<typename Function>(const char* name, Function& function) {
    function = reinterpret_cast<Function>(symbol(library, name));
    if (function == nullptr && missing == nullptr) missing = name;
  });
  if (missing != nullptr) return missing_function(library, missing);
  return {};
}

}  // namespace hone::cuda

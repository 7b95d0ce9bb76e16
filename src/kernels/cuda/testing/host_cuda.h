// Generated CUDA C++ as C++ of the host: what kernels have of CUDA, and a compiler for them. Proves what they compute where
// there is no GPU.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "cuda/testing/host_cuda.h"
#include <dlfcn.h>
#include <fmt/format.h>

#include "core/file.h"

namespace hone::kernels::gpu::testing {

using cuda::testing::kHostCuda;  // comes before the prelude (kernels/cuda/prelude.h)

// A pointer that becomes whatever the kernel wants.
inline constexpr const char* kHostAnyPointer = R"(
struct HoneAny {
  const void* address;
  template <typename T> operator T*() const { return (T*)address; }
};
)";

// A library of `source`, made in `folder`, which the caller removes. Throws: tests have no use for an error.
inline void* compiled_on_host(const std::string& source, const std::filesystem::path& folder,
                              std::string_view options) {
  std::filesystem::create_directories(folder);
  if (const Status written = write_file(folder / "kernels.cpp", source); !written.ok())
    throw std::logic_error(written.error().message);
  const std::string command = fmt::format(
      "c++ -std=c++20 -w -ffp-contract=off -shared -fPIC {1} -o {0}/kernels.so {0}/kernels.cpp 2>&1",
      folder.string(), options);
  if (std::system(command.c_str()) != 0) throw std::logic_error(command);
  void* const library = ::dlopen((folder / "kernels.so").c_str(), RTLD_NOW);
  if (library == nullptr) throw std::logic_error(::dlerror());
  return library;
}

}  // namespace hone::kernels::gpu::testing

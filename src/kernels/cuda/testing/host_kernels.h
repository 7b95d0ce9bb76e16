// Many generated kernels as one library of the host (host_cuda.h): each source in a namespace of its own, so that the
// compiler runs once.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "cuda/kernel_cache.h"

#include "core/testing/scratch_path.h"
#include "kernels/cuda/prelude.h"
#include "kernels/cuda/testing/host_cuda.h"

namespace hone::kernels::gpu::testing {

// `source` without what it shares with all others, and with names of its own in machine code.
inline std::string in_namespace(std::string source, const std::string& name) {
  if (!source.starts_with(kBasePrelude))
    throw std::logic_error("a source that does not begin with the prelude");
  source = source.substr(kBasePrelude.size());
  for (std::size_t at; (at = source.find("extern \"C\" ")) != std::string::npos;) source.erase(at, 11);
  return fmt::format("namespace {} {{\n{}\n}}\n", name, source);
}

// The same for NVRTC: kernels keep C names, with the number at their end.
inline std::string with_number(std::string source, std::size_t number,
                               const std::vector<std::string>& entries) {
  source = source.substr(kBasePrelude.size());
  for (const std::string& entry : entries) {
    const std::size_t at = source.find(" " + entry + "(");
    if (at != std::string::npos) source.insert(at + 1 + entry.size(), fmt::format("_{}", number));
  }
  return fmt::format("namespace kernel_{} {{\n{}\n}}\n", number, source);
}

class HostKernels {
 public:
  explicit HostKernels(const char* folder) : folder_(scratch_path(folder)) {}
  ~HostKernels() {
    if (library_ != nullptr) ::dlclose(library_);
    std::filesystem::remove_all(folder_);
  }
  HostKernels(const HostKernels&) = delete;
  HostKernels& operator=(const HostKernels&) = delete;

  // The number of the kernel `entry` of `source`.
  std::size_t add(const cuda::KernelSource& source, const std::string& entry) {
    const std::size_t number = count_++;
    text_ += in_namespace(source.text, fmt::format("kernel_{}", number)) +
             fmt::format(
                 "extern \"C\" void run_{0}(const unsigned* shape, void** parameters) {{\n"
                 "  hone_launch(kernel_{0}::{1}, shape, true, parameters);\n}}\n",
                 number, entry);
    return number;
  }
  void compile() {
    library_ = compiled_on_host(std::string(kHostCuda) + std::string(kBasePrelude) + text_, folder_, "-O1");
  }
  // `shape`: the grid's three extents, the block's. `parameters`: eight bytes each.
  void run(std::size_t kernel, const std::array<unsigned, 6>& shape, std::vector<const void*> parameters) {
    std::vector<void*> addresses;
    for (const void*& parameter : parameters) addresses.push_back(&parameter);
    using Run = void (*)(const unsigned*, void**);
    reinterpret_cast<Run>(::dlsym(library_, fmt::format("run_{}", kernel).c_str()))(shape.data(),
                                                                                    addresses.data());
  }

 private:
  std::filesystem::path folder_;
  std::string text_;
  std::size_t count_ = 0;
  void* library_ = nullptr;
};

}  // namespace hone::kernels::gpu::testing

// NVRTC: CUDA C++ to machine code, without a GPU and for any architecture. One object may compile on several threads
// at once.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cuda/library.h"
#include "cuda/nvrtc_abi.h"

#include "core/result.h"

namespace hone::cuda {

// Compute capability 9.0 is 90.
struct Architecture {
  int number = 0;
  friend bool operator==(const Architecture&, const Architecture&) = default;
};

// What ptxas says of a kernel.
struct KernelUse {
  std::string name;
  int registers = 0;
  int stack_bytes = 0;  // of local memory a thread: arrays that registers cannot hold, calls
  int spill_stores = 0, spill_loads = 0;  // bytes
};

struct CompiledKernels {
  std::vector<char> image;  // a cubin; or PTX, with its closing zero, for a GPU that is newer than NVRTC
  bool is_ptx = false;
  std::vector<KernelUse> uses;  // none of PTX
};

// The lines of ptxas -v. What is not understood is left out.
std::vector<KernelUse> kernel_uses(std::string_view log);

class Nvrtc {
 public:
  // `driver_version`: 0 where there is no driver.
  static Result<std::shared_ptr<const Nvrtc>> load(const LibraryPlaces& places, int driver_version = 0);

  int version() const { return version_; }  // 13000
  const std::string& path() const { return path_; }
  // What it makes machine code for, ascending.
  std::span<const int> architectures() const { return architectures_; }

  // `name` is the source's in messages. An error holds what the compiler said.
  Result<CompiledKernels> compile(const std::string& source, const std::string& name,
                                  Architecture architecture, std::span<const std::string> options) const;

 private:
  Nvrtc() = default;
  Status check(NvrtcCode code, std::string_view call) const;

  NvrtcFunctions functions_;
  std::string path_;
  int version_ = 0;
  std::vector<int> architectures_;
};

}  // namespace hone::cuda

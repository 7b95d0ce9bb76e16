// A kernel of the provider that is nothing but launches of generated CUDA kernels: what each is compiled from, its grid, and
// where its parameters come from, as data. Lowerings fill it; one class runs it.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/cuda/gpu_kernels.h"

namespace hone::runtime::cuda_kernels {

struct GpuParameter {
  enum class Kind : uint8_t {
    kInput,      // the address of the node's input `number`
    kOutput,     // of its output `number`
    kScratch,    // of the kernel's scratch, `number` bytes on
    kPacked,     // of number `number` of what was packed
    kInteger,    // int64_t `number`
    kFault,      // of the plan's fault word, or null where there is none
    kFaultWord,  // uint64_t: what to write there, for code `number`
  };
  Kind kind = Kind::kInteger;
  int64_t number = 0;
};
inline GpuParameter input_parameter(std::size_t i) {
  return {GpuParameter::Kind::kInput, static_cast<int64_t>(i)};
}
inline GpuParameter output_parameter(std::size_t i) {
  return {GpuParameter::Kind::kOutput, static_cast<int64_t>(i)};
}

struct GpuLaunch {
  cuda::KernelSource source = {};
  const char* entry = nullptr;  // a literal
  cuda::LaunchShape shape = {};
  std::vector<GpuParameter> parameters = {};
};

struct GpuLaunches {
  std::string implementation = {};
  std::vector<GpuLaunch> launches = {};  // in this order
  std::vector<std::size_t> unread = {};  // inputs that are known
  std::optional<std::size_t> in_place = {};
  std::vector<std::pair<std::size_t, std::size_t>> more_in_place =
      {};  // outputs but the first, and their inputs
  std::size_t scratch_bytes = 0;
  bool foreign = false;             // kernels of a plugin's
  std::vector<Tensor> packed = {};  // brought to the device once
  std::string fault = {};           // what is wrong with the data where the fault word says so
};

// Adds the candidate `name`, which compiles what it launches when it is made. A grid that CUDA does not have is no
// candidate.
void offer_launches(const GpuKernels& kernels, std::string name, GpuLaunches launches,
                    std::vector<Candidate>& found);

// `blocks` of `threads` along x; nothing where a grid does not have as many.
std::optional<cuda::LaunchShape> line_of_blocks(int64_t blocks, int threads);

}  // namespace hone::runtime::cuda_kernels

#include "runtime/cuda/gpu_launches.h"

#include <algorithm>

#include <fmt/format.h>

namespace hone::runtime::cuda_kernels {
namespace {

// What addresses of tensors must be aligned to: generated kernels load 16 bytes at once.
constexpr uint64_t kLaunchAlignment = 16;

// The functions of launches, in their order; launches of one source that follow each other share its module.
struct LoadedLaunches {
  std::vector<cuda::Module> modules;
  std::vector<cuda::FunctionHandle> functions;
};

Result<LoadedLaunches> load_launches(const GpuKernels& kernels, std::span<const GpuLaunch> launches,
                                     bool foreign) {
  LoadedLaunches loaded;
  const cuda::KernelSource* before = nullptr;
  for (const GpuLaunch& launch : launches) {
    if (before != nullptr && before->text == launch.source.text) {
      HONE_ASSIGN(const cuda::FunctionHandle function,
                  cuda::find_function(loaded.modules.back(), launch.entry));
      loaded.functions.push_back(function);
      continue;
    }
    HONE_ASSIGN(LoadedKernel kernel,
                (foreign ? load_foreign_kernel : load_kernel)(kernels, launch.source, launch.entry));
    loaded.modules.push_back(std::move(kernel.module));
    loaded.functions.push_back(kernel.function);
    before = &launch.source;
  }
  return loaded;
}

Result<std::vector<Memory>> bring_packed(CudaDevice& device, std::span<const Tensor> tensors) {
  std::vector<Memory> brought;
  if (tensors.empty()) return brought;
  HONE_ASSIGN(const std::unique_ptr<Queue> queue, device.make_queue());
  for (const Tensor& tensor : tensors) {
    HONE_ASSIGN(Memory memory, device.allocate(tensor.bytes()));
    HONE_CHECK(queue->copy_in(memory.address(), tensor.data(), tensor.bytes()));
    brought.push_back(std::move(memory));
  }
  HONE_CHECK(queue->wait());
  return brought;
}

class GpuLaunchKernel : public Kernel {
 public:
  GpuLaunchKernel(GpuLaunches launches, LoadedLaunches loaded, std::vector<Memory> packed)
      : launches_(std::move(launches)), loaded_(std::move(loaded)), packed_(std::move(packed)) {
    std::size_t most = 0;
    for (const GpuLaunch& launch : launches_.launches) most = std::max(most, launch.parameters.size());
    values_.resize(most);
    for (uint64_t& value : values_) addresses_.push_back(&value);
  }

  std::string implementation() const override { return launches_.implementation; }
  std::size_t scratch_bytes() const override { return launches_.scratch_bytes; }
  std::size_t packed_bytes() const override {
    std::size_t bytes = 0;
    for (const Memory& memory : packed_) bytes += memory.bytes();
    return bytes;
  }
  std::optional<std::size_t> in_place_input() const override { return launches_.in_place; }
  std::optional<std::size_t> in_place_input_of(std::size_t output) const override {
    if (output == 0) return launches_.in_place;
    for (const auto& [result, input] : launches_.more_in_place)
      if (result == output) return input;
    return std::nullopt;
  }
  bool reads(std::size_t input) const override {
    return std::find(launches_.unread.begin(), launches_.unread.end(), input) == launches_.unread.end();
  }
  Error fault(uint32_t) const override { return invalid(launches_.fault); }

  Status enqueue(const KernelArguments& arguments, Queue& queue) override {
    for (std::size_t i = 0; i < launches_.launches.size(); ++i) {
      const GpuLaunch& launch = launches_.launches[i];
      for (std::size_t k = 0; k < launch.parameters.size(); ++k) {
        values_[k] = value_of(launch.parameters[k], arguments);
        if (is_tensor(launch.parameters[k]) && values_[k] % kLaunchAlignment != 0) [[unlikely]]
          return invalid(fmt::format("a tensor lies at {:#x}, which is not aligned to {} bytes", values_[k],
                                     kLaunchAlignment));
      }
      HONE_CHECK(static_cast<CudaQueue&>(queue).launch(
          loaded_.functions[i], launch.shape, std::span(addresses_).first(launch.parameters.size()),
          launch.entry, launches_.foreign ? cuda::Launch::kBehind : cuda::Launch::kEarly));
    }
    return {};
  }

 private:
  using Kind = GpuParameter::Kind;

  static bool is_tensor(const GpuParameter& parameter) {
    return parameter.kind == Kind::kInput || parameter.kind == Kind::kOutput ||
           parameter.kind == Kind::kScratch;
  }

  // Every parameter is eight bytes.
  uint64_t value_of(const GpuParameter& parameter, const KernelArguments& arguments) const {
    const auto number = static_cast<std::size_t>(parameter.number);
    const auto address = [](const void* at) {
      return static_cast<uint64_t>(reinterpret_cast<uintptr_t>(at));
    };
    switch (parameter.kind) {
      case Kind::kInput:
        return address(arguments.inputs[number]);
      case Kind::kOutput:
        return address(arguments.outputs[number]);
      case Kind::kScratch:
        return address(arguments.scratch) + number;
      case Kind::kPacked:
        return address(packed_[number].address());
      case Kind::kInteger:
        return static_cast<uint64_t>(parameter.number);
      case Kind::kFault:
        return address(arguments.fault);
      case Kind::kFaultWord:
        return fault_word(arguments.step, static_cast<uint32_t>(parameter.number));
    }
    return 0;
  }

  GpuLaunches launches_;
  LoadedLaunches loaded_;
  std::vector<Memory> packed_;
  std::vector<uint64_t> values_;
  std::vector<void*> addresses_;  // of values_
};

}  // namespace

std::optional<cuda::LaunchShape> line_of_blocks(int64_t blocks, int threads) {
  constexpr int64_t kMostBlocksOfLine = 0x7fffffff;
  if (blocks < 1 || blocks > kMostBlocksOfLine) return std::nullopt;
  cuda::LaunchShape shape;
  shape.grid[0] = static_cast<unsigned>(blocks);
  shape.block[0] = static_cast<unsigned>(threads);
  return shape;
}

void offer_launches(const GpuKernels& kernels, std::string name, GpuLaunches launches,
                    std::vector<Candidate>& found) {
  found.push_back({.name = std::move(name),
                   .make = [kernels, launches = std::move(launches)]() -> Result<std::unique_ptr<Kernel>> {
                     HONE_ASSIGN(LoadedLaunches loaded,
                                 load_launches(kernels, launches.launches, launches.foreign));
                     HONE_ASSIGN(std::vector<Memory> packed, bring_packed(*kernels.device, launches.packed));
                     return std::unique_ptr<Kernel>(
                         std::make_unique<GpuLaunchKernel>(launches, std::move(loaded), std::move(packed)));
                   }});
}

}  // namespace hone::runtime::cuda_kernels

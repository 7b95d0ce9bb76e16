#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "graph/op_table.h"
#include "kernels/cuda/pointwise.h"
#include "runtime/cuda/gpu_kernels.h"
#include "runtime/lower/program_of_node.h"

namespace hone::runtime::cuda_kernels {
namespace {

constexpr std::size_t kMostGpuTensors = 48;  // inputs and outputs of one kernel

class GpuPointwise : public Kernel {
 public:
  struct Traits {
    std::string implementation;
    std::vector<std::size_t> reads;   // inputs of the node, one for each of the kernel's
    std::vector<std::size_t> unread;  // inputs of the node that are numbers of the program
    std::size_t outputs = 0;
    std::optional<std::size_t> in_place;
    int64_t elements = 0, elements_a_block = 1;
  };

  GpuPointwise(Traits traits, LoadedKernel loaded) : traits_(std::move(traits)), loaded_(std::move(loaded)) {
    shape_.grid[0] =
        static_cast<unsigned>((traits_.elements + traits_.elements_a_block - 1) / traits_.elements_a_block);
    shape_.block[0] = kernels::gpu::kPointwiseBlock;
  }

  std::string implementation() const override { return traits_.implementation; }
  std::optional<std::size_t> in_place_input() const override { return traits_.in_place; }
  bool reads(std::size_t input) const override {
    return std::find(traits_.unread.begin(), traits_.unread.end(), input) == traits_.unread.end();
  }

  Status enqueue(const KernelArguments& arguments, Queue& queue) override {
    std::array<const void*, kMostGpuTensors> tensors{};
    std::array<void*, kMostGpuTensors + 1> parameters{};
    std::size_t count = 0;
    for (const std::size_t input : traits_.reads) tensors[count++] = arguments.inputs[input];
    for (std::size_t i = 0; i < traits_.outputs; ++i) tensors[count++] = arguments.outputs[i];
    for (std::size_t i = 0; i < count; ++i) {
      if (reinterpret_cast<uintptr_t>(tensors[i]) % kernels::gpu::kPointwiseAlignment != 0) [[unlikely]]
        return invalid(fmt::format("a tensor lies at {}, which is not aligned to {} bytes", tensors[i],
                                   kernels::gpu::kPointwiseAlignment));
      parameters[i] = &tensors[i];
    }
    int64_t elements = traits_.elements;
    parameters[count++] = &elements;
    return static_cast<CudaQueue&>(queue).launch(loaded_.function, shape_, std::span(parameters).first(count),
                                                 kernels::gpu::kPointwiseEntry, cuda::Launch::kEarly);
  }

 private:
  Traits traits_;
  LoadedKernel loaded_;
  cuda::LaunchShape shape_;
};

}  // namespace

void lower_pointwise(const LowerContext& context, const GpuKernels& kernels, std::vector<Candidate>& found) {
  const GroupView group(context);
  const graph::OpEntry* entry = graph::op_table().find(context.node.op);
  const bool of_elements =
      entry != nullptr && (entry->op_class == graph::OpClass::kPointwise ||
                           context.node.op == "BatchNormalization");  // by given statistics
  const bool single = !group.is_group() && of_elements;
  if (!single && group.kind() != graph::GroupKind::kPointwise) return;
  ProgramOfNode lowering(context, group);
  if (!lowering.build() || lowering.inputs().size() + context.node.outputs.size() > kMostGpuTensors) return;
  GpuPointwise::Traits traits;
  for (const ProgramInput& input : lowering.inputs()) {
    if (input.is_packed()) return;  // blocks of channels are a layout of CPUs
    traits.reads.push_back(input.input);
  }
  auto generated = kernels::gpu::generate_pointwise(lowering.program());
  if (!generated.ok()) return;
  constexpr int64_t kMostBlocks = 0x7fffffff;  // of a grid's x
  if (generated->elements / generated->elements_a_block >= kMostBlocks) return;
  traits.implementation = single ? "hone pointwise (CUDA)"
                                 : fmt::format("hone pointwise (CUDA, {} operators)", group.nodes().size());
  traits.unread = lowering.unread();
  traits.outputs = context.node.outputs.size();
  traits.in_place = lowering.overwritable();
  traits.elements = generated->elements;
  traits.elements_a_block = generated->elements_a_block;
  found.push_back(
      {.name = "hone pointwise",
       .make = [kernels, traits, source = std::move(generated->source)]() -> Result<std::unique_ptr<Kernel>> {
         HONE_ASSIGN(LoadedKernel loaded, load_kernel(kernels, source, kernels::gpu::kPointwiseEntry));
         return std::unique_ptr<Kernel>(std::make_unique<GpuPointwise>(traits, std::move(loaded)));
       }});
}

}  // namespace hone::runtime::cuda_kernels

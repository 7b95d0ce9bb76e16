// hone.AdamW and hone.Sgd: one generated kernel (kernels/cuda/optimizer.h) for so many tensors at a time, in place where the
// plan lets it.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "kernels/cuda/optimizer.h"
#include "runtime/cuda/gpu_kernels.h"

namespace hone::runtime::cuda_kernels {
namespace {

namespace gpu = hone::kernels::gpu;

// Where the groups of tensors begin among a node's inputs.
struct OptimizerNode {
  gpu::OptimizerProgram program;
  std::size_t scalars = 0;
  std::vector<int64_t> sizes;          // of each parameter
  std::vector<bool> wide;              // whether its gradient is f32
  std::optional<std::size_t> updates;  // which scalar counts those made before
  uint64_t seed = 0;                   // of parameters that are rounded, and their numbers
  std::vector<int64_t> numbers;

  std::size_t tensors() const { return sizes.size(); }
  std::size_t moment(std::size_t which) const { return scalars + (2 + which) * tensors(); }
};

bool is_plain_tensor(const graph::TensorType& type, DType dtype) {
  return type.dtype == dtype && type.layout == Layout::kPlain && type.is_static();
}

gpu::OptimizerProgram optimizer_program(const graph::Node& node) {
  gpu::OptimizerProgram program;
  program.kind =
      node.op == "hone.AdamW" ? gpu::OptimizerProgram::Kind::kAdamW : gpu::OptimizerProgram::Kind::kSgd;
  const bool adamw = program.kind == gpu::OptimizerProgram::Kind::kAdamW;
  program.weight_decay = node.attributes.real("weight_decay", adamw ? 0.01F : 0);
  program.momentum = node.attributes.real("momentum", 0);
  program.nesterov = node.attributes.integer("nesterov", 0) != 0;
  program.beta1 = node.attributes.real("beta1", 0.9F);
  program.beta2 = node.attributes.real("beta2", 0.999F);
  program.epsilon = node.attributes.real("epsilon", 1e-8F);
  return program;
}

// Each f32, or of one narrower type. false: they are of others.
bool read_gradients(const LowerContext& context, std::size_t count, OptimizerNode& found) {
  for (std::size_t i = found.scalars + count; i < found.scalars + 2 * count; ++i) {
    const graph::TensorType& type = context.in(i);
    const bool wide = type.dtype == DType::kF32;
    found.wide.push_back(wide);
    DType& gradient = found.program.gradient;
    if (!wide && gradient == DType::kF32) gradient = type.dtype;
    if (!is_plain_tensor(type, wide ? DType::kF32 : gradient)) return false;
  }
  found.program.mixed = found.program.gradient != DType::kF32 &&
                        std::find(found.wide.begin(), found.wide.end(), true) != found.wide.end();
  return true;
}

std::optional<OptimizerNode> read_optimizer(const LowerContext& context) {
  const graph::Node& node = context.node;
  const bool adamw = node.op == "hone.AdamW";
  if (!adamw && node.op != "hone.Sgd") return std::nullopt;
  OptimizerNode found;
  found.program = optimizer_program(node);
  found.numbers = node.attributes.ints("numbers");
  const bool rounds = !found.numbers.empty();
  found.scalars = adamw || rounds ? 3 : 2;
  if (rounds) found.program.parameter = DType::kBF16;
  found.seed = static_cast<uint64_t>(node.attributes.integer("seed", 0));
  if (found.scalars == 3) found.updates = adamw ? 1 : 2;
  const std::size_t scale = adamw ? 2 : 1;
  const std::size_t groups = 2 + found.program.moments();
  const std::size_t count = (node.inputs.size() - found.scalars) / groups;
  found.program.scaled = context.has(scale);
  if (!is_plain_tensor(context.in(0), DType::kF32) ||
      (found.updates && !is_plain_tensor(context.in(*found.updates), DType::kI64)) ||
      (found.program.scaled && !is_plain_tensor(context.in(scale), DType::kF32)))
    return std::nullopt;
  if (!read_gradients(context, count, found)) return std::nullopt;
  for (std::size_t i = 0; i < groups * count; ++i) {
    const DType wanted = i / count == 0 ? found.program.parameter : DType::kF32;
    if (i / count != 1 && !is_plain_tensor(context.in(found.scalars + i), wanted)) return std::nullopt;
    if (i < count) found.sizes.push_back(element_count(context.in_shape(found.scalars + i)));
  }
  const bool whole = std::all_of(node.outputs.begin(), node.outputs.end(),
                                 [](graph::ValueId output) { return output.valid(); });
  return whole ? std::optional(std::move(found)) : std::nullopt;
}

class GpuOptimizer : public Kernel {
 public:
  GpuOptimizer(OptimizerNode node, LoadedKernel loaded)
      : node_(std::move(node)), loaded_(std::move(loaded)) {}

  std::string implementation() const override { return "hone optimizer (CUDA)"; }
  // Gradients have no next value; each element is read before it is written, by who writes it.
  std::optional<std::size_t> in_place_input_of(std::size_t output) const override {
    return node_.scalars + output + (output < node_.tensors() ? 0 : node_.tensors());
  }

  Status enqueue(const KernelArguments& arguments, Queue& queue) override {
    for (std::size_t i = node_.scalars; i < arguments.inputs.size(); ++i)
      if (reinterpret_cast<uintptr_t>(arguments.inputs[i]) % kOptimizerAlignment != 0) [[unlikely]]
        return invalid(fmt::format("a tensor lies at {}, which is not aligned to {} bytes",
                                   arguments.inputs[i], kOptimizerAlignment));
    gpu::OptimizerTensors tensors;
    for (std::size_t i = 0; i < node_.tensors(); ++i) {
      const int64_t blocks = (node_.sizes[i] + gpu::kOptimizerChunk - 1) / gpu::kOptimizerChunk;
      if (blocks == 0) continue;
      const auto at = static_cast<std::size_t>(tensors.count);
      if (at == gpu::kOptimizerTensors || tensors.first[at] + blocks > kMostOptimizerBlocks) {
        HONE_CHECK(launch(tensors, arguments, queue));
        tensors = {};
      }
      add(tensors, i, blocks, arguments);
    }
    return tensors.count > 0 ? launch(tensors, arguments, queue) : Status();
  }

 private:
  static constexpr uintptr_t kOptimizerAlignment = 16;               // kernels load so much at once
  static constexpr int64_t kMostOptimizerBlocks = int64_t{1} << 30;  // of one launch

  void add(gpu::OptimizerTensors& tensors, std::size_t i, int64_t blocks, const KernelArguments& a) const {
    const auto at = static_cast<std::size_t>(tensors.count);
    const std::size_t moments = node_.program.moments(), count = node_.tensors();
    tensors.x[at] = a.inputs[node_.scalars + i];
    tensors.gradient[at] = a.inputs[node_.scalars + count + i];
    tensors.next_x[at] = a.outputs[i];
    if (moments > 0) {
      tensors.m[at] = a.inputs[node_.moment(0) + i];
      tensors.next_m[at] = a.outputs[count + i];
    }
    if (moments > 1) {
      tensors.v[at] = a.inputs[node_.moment(1) + i];
      tensors.next_v[at] = a.outputs[2 * count + i];
    }
    tensors.size[at] = node_.sizes[i];
    if (!node_.numbers.empty()) tensors.number[at] = static_cast<int32_t>(node_.numbers[i]);
    tensors.wide |= uint64_t{node_.wide[i]} << at;
    tensors.first[at + 1] = static_cast<int32_t>(tensors.first[at] + blocks);
    ++tensors.count;
  }

  Status launch(gpu::OptimizerTensors& tensors, const KernelArguments& a, Queue& queue) {
    const bool adamw = node_.program.kind == gpu::OptimizerProgram::Kind::kAdamW;
    const void* rate = a.inputs[0];
    const void* updates = node_.updates ? a.inputs[*node_.updates] : nullptr;
    const void* scale = node_.program.scaled ? a.inputs[adamw ? 2 : 1] : nullptr;
    uint64_t seed = node_.seed;
    cuda::LaunchShape shape;
    shape.grid[0] = static_cast<unsigned>(tensors.first[static_cast<std::size_t>(tensors.count)]);
    shape.block[0] = gpu::kOptimizerBlock;
    std::array<void*, 5> parameters = {&tensors, &rate, &updates, &scale, &seed};
    return static_cast<CudaQueue&>(queue).launch(loaded_.function, shape, parameters, gpu::kOptimizerEntry,
                                                 cuda::Launch::kEarly);
  }

  OptimizerNode node_;
  LoadedKernel loaded_;
};

}  // namespace

void lower_optimizer(const LowerContext& context, const GpuKernels& kernels, std::vector<Candidate>& found) {
  auto node = read_optimizer(context);
  if (!node) return;
  auto source = gpu::generate_optimizer(node->program);
  if (!source.ok()) return;
  found.push_back({.name = "hone optimizer",
                   .make = [kernels, node = *std::move(node),
                            source = *std::move(source)]() -> Result<std::unique_ptr<Kernel>> {
                     HONE_ASSIGN(LoadedKernel loaded, load_kernel(kernels, source, gpu::kOptimizerEntry));
                     return std::unique_ptr<Kernel>(std::make_unique<GpuOptimizer>(node, std::move(loaded)));
                   }});
}

}  // namespace hone::runtime::cuda_kernels

// Softmax, LogSoftmax, LayerNormalization and RMSNormalization over the last axes, GroupNormalization and
// InstanceNormalization: one generated kernel each (kernels/cuda/rows.h), which stores what a normalisation gives in a narrow type,
// too, where a group says so.
#include <array>

#include <fmt/format.h>

#include "kernels/cuda/rows.h"
#include "runtime/cuda/gpu_kernels.h"
#include "runtime/cuda/normalization_form.h"

namespace hone::runtime::cuda_kernels {
namespace {

struct GpuRowsTraits {
  std::string implementation;
  std::vector<std::size_t> inputs;   // that the kernel reads, in the operator's order
  std::vector<std::size_t> outputs;  // that it stores
  bool in_place = true;              // the first output lies as the first input does
  int64_t rows = 0;
  cuda::LaunchShape shape;
};

class GpuRows : public Kernel {
 public:
  GpuRows(const GpuRowsTraits& traits, LoadedKernel loaded) : traits_(traits), loaded_(std::move(loaded)) {}

  std::string implementation() const override { return traits_.implementation; }
  // A thread reads all that it writes before it writes, and nobody else's.
  std::optional<std::size_t> in_place_input() const override {
    return traits_.in_place ? std::optional(traits_.inputs[0]) : std::nullopt;
  }
  Status enqueue(const KernelArguments& arguments, Queue& queue) override {
    std::array<const void*, 5> tensors = {arguments.inputs[traits_.inputs[0]]};
    std::array<void*, 6> parameters = {&tensors[0]};
    std::size_t count = 1;
    const auto add = [&](const void* tensor) {
      tensors[count] = tensor;
      parameters[count] = &tensors[count];
      ++count;
    };
    for (const std::size_t output : traits_.outputs) add(arguments.outputs[output]);
    for (const std::size_t input : std::span(traits_.inputs).subspan(1)) add(arguments.inputs[input]);
    int64_t rows = traits_.rows;
    parameters[count++] = &rows;
    return static_cast<CudaQueue&>(queue).launch(loaded_.function, traits_.shape,
                                                 std::span(parameters).first(count), kernels::gpu::kRowEntry,
                                                 cuda::Launch::kEarly);
  }

 private:
  GpuRowsTraits traits_;
  LoadedKernel loaded_;
};

// Groups of channels of each image are rows; scale and bias are one number a channel.
std::optional<kernels::gpu::RowProgram> group_program(const LowerContext& context) {
  const graph::Node& node = context.node;
  const Shape shape = context.in_shape(0);
  const int64_t groups =
      node.op == "InstanceNormalization" ? shape.at(1) : node.attributes.integer("num_groups", 1);
  if (shape.size() < 3 || groups < 1 || shape[1] % groups != 0 || !context.has(1) || !context.has(2))
    return std::nullopt;
  if (context.in_shape(1) != Shape{shape[1]} || context.in_shape(2) != Shape{shape[1]}) return std::nullopt;
  const int64_t positions = element_count(std::span(shape).subspan(2));
  return kernels::gpu::RowProgram{.function = kernels::gpu::RowFunction::kGroupNorm,
                                  .dtype = context.out().dtype,
                                  .columns = shape[1] / groups * positions,
                                  .epsilon = node.attributes.real("epsilon", 1e-5F),
                                  .has_bias = true,
                                  .groups = groups,
                                  .positions = positions};
}

// What the node asks for; nullopt where it is no row function of the last axes.
std::optional<kernels::gpu::RowProgram> row_program(const LowerContext& context) {
  using kernels::gpu::RowFunction;
  const graph::Node& node = context.node;
  const Shape shape = context.in_shape(0);
  if (shape.size() > 2 && (node.op == "GroupNormalization" || node.op == "InstanceNormalization"))
    return group_program(context);
  const auto axis = normalize_axis(node.attributes.integer("axis", -1), static_cast<int64_t>(shape.size()));
  if (!axis.ok() || shape.empty()) return std::nullopt;
  const std::span<const int64_t> last = std::span(shape).subspan(static_cast<std::size_t>(*axis));
  kernels::gpu::RowProgram program{.dtype = context.out().dtype, .columns = element_count(last)};
  if (node.op == "LayerNormalization" || node.op == "RMSNormalization") {
    if (node.outputs.size() > 1 || !context.has(1) || context.in_shape(1) != Shape(last.begin(), last.end()))
      return std::nullopt;
    program.function = node.op == "RMSNormalization" ? RowFunction::kRmsNorm : RowFunction::kLayerNorm;
    program.epsilon = node.attributes.real("epsilon", 1e-5F);
    program.has_bias = context.has(2);
    if (program.has_bias && context.in_shape(2) != context.in_shape(1)) return std::nullopt;
    return program;
  }
  if (last.size() != 1) return std::nullopt;
  if (node.op != "Softmax" && node.op != "LogSoftmax") return std::nullopt;
  program.function = node.op == "Softmax" ? RowFunction::kSoftmax : RowFunction::kLogSoftmax;
  return program;
}

// What some hundred multiprocessors have at once, a block a row; beyond that a warp a row leaves none idle.
constexpr int64_t kFewRows = 2048;

void offer_rows(const GpuKernels& kernels, std::string name, const kernels::gpu::RowProgram& program,
                GpuRowsTraits traits, std::vector<Candidate>& found) {
  auto generated = kernels::gpu::generate_rows(program);
  if (!generated.ok()) return;
  const int64_t blocks = (traits.rows + generated->rows - 1) / generated->rows;
  if (blocks > 0x7fffffff) return;  // of a grid's x
  traits.implementation = name + " (CUDA)";
  traits.shape.grid[0] = static_cast<unsigned>(blocks);
  traits.shape.block[0] = static_cast<unsigned>(generated->threads);
  traits.shape.block[1] = static_cast<unsigned>(generated->rows);
  found.push_back(
      {.name = std::move(name),
       .make = [kernels, traits, source = std::move(generated->source)]() -> Result<std::unique_ptr<Kernel>> {
         HONE_ASSIGN(LoadedKernel loaded, load_kernel(kernels, source, kernels::gpu::kRowEntry));
         return std::unique_ptr<Kernel>(std::make_unique<GpuRows>(traits, std::move(loaded)));
       }});
}

}  // namespace

void lower_rows(const LowerContext& context, const GpuKernels& kernels, std::vector<Candidate>& found) {
  const GroupView group(context);
  if (group.is_group() && group.kind() != graph::GroupKind::kNormalization) return;
  const graph::Node& node = group.anchor();
  const LowerContext own{group.graph(), node};
  if (node.op == "hone.LayerNormalizationGradient" || !own.has(0) || !node.has_output(0) ||
      element_count(own.out_shape()) == 0)
    return;
  auto program = row_program(own);
  if (!program) return;
  GpuRowsTraits traits;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (!own.has(i)) continue;
    const auto input = group.input_index(node.inputs[i]);
    if (!input || own.in(i).layout != Layout::kPlain || own.in(i).dtype != own.out().dtype) return;
    traits.inputs.push_back(*input);
  }
  const auto form = normalization_form(group);
  if (!form || form->added) return;
  program->narrow = form->narrow_type;
  program->stores = form->stored.has_value();
  for (const auto& output : {form->stored, form->narrow})
    if (output) traits.outputs.push_back(*output);
  traits.in_place = form->stored == std::size_t{0};
  traits.rows = element_count(own.out_shape()) / program->columns;
  offer_rows(kernels, "hone rows", *program, traits, found);
  if (traits.rows > kFewRows) return;
  program->spread = true;
  offer_rows(kernels, "hone rows, spread", *program, std::move(traits), found);
}

}  // namespace hone::runtime::cuda_kernels

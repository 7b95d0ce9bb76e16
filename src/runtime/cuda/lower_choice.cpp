// Trilu, OneHot, TensorScatter and ReverseSequence (kernels/cuda/element_choice.h).
#include <fmt/format.h>

#include "kernels/cuda/element_choice.h"
#include "runtime/cuda/gpu_launches.h"

namespace hone::runtime::cuda_kernels {
namespace {

namespace gpu = hone::kernels::gpu;
using gpu::ChoiceProgram;

constexpr GpuParameter kAbsentOperand{GpuParameter::Kind::kInteger, 0};

// What a node's kernel is made from.
struct NodeChoice {
  ChoiceProgram program;
  std::vector<GpuParameter> parameters;
  std::string fault;  // empty: nothing can be wrong with the data
  std::vector<std::size_t> unread = {};
};

std::optional<NodeChoice> triangle_of_node(const LowerContext& context) {
  const Shape shape = context.in_shape(0);
  if (shape.size() < 2) return std::nullopt;
  const bool given = context.has(1) && element_count(context.in_shape(1)) == 1;
  if (given && context.in(1).dtype != DType::kI64) return std::nullopt;
  NodeChoice choice;
  choice.program.extent = shape[shape.size() - 2];
  choice.program.inner = shape.back();
  choice.program.upper = context.node.attributes.integer("upper", 1) != 0;
  choice.parameters = {input_parameter(0), given ? input_parameter(1) : kAbsentOperand, output_parameter(0)};
  return choice;
}

std::optional<NodeChoice> one_hot_of_node(const LowerContext& context) {
  const Shape shape = context.out_shape();
  const auto axis =
      normalize_axis(context.node.attributes.integer("axis", -1), static_cast<int64_t>(shape.size()));
  if (!axis.ok() || element_count(context.in_shape(2)) != 2 || context.constant(1) == nullptr)
    return std::nullopt;
  const auto at = static_cast<std::size_t>(*axis);
  NodeChoice choice{.program = {.kind = ChoiceProgram::Kind::kOneHot, .indices = context.in(0).dtype},
                    .parameters = {input_parameter(0), input_parameter(2), output_parameter(0)},
                    .fault = {},
                    .unread = {1}};
  choice.program.extent = shape[at];
  choice.program.inner = element_count(std::span(shape).subspan(at + 1));
  return choice;
}

std::optional<NodeChoice> cache_of_node(const LowerContext& context) {
  const Shape cache = context.in_shape(0), entries = context.in_shape(1);
  const auto axis =
      normalize_axis(context.node.attributes.integer("axis", -2), static_cast<int64_t>(cache.size()));
  if (!axis.ok() || *axis == 0 || entries.size() != cache.size()) return std::nullopt;
  const auto at = static_cast<std::size_t>(*axis);
  Shape wanted = cache;
  wanted[at] = entries[at];
  if (wanted != entries) return std::nullopt;
  if (context.has(2) &&
      (context.in(2).dtype != DType::kI64 || element_count(context.in_shape(2)) != cache[0]))
    return std::nullopt;
  NodeChoice choice{.program = {.kind = ChoiceProgram::Kind::kCache},
                    .parameters = {input_parameter(0), input_parameter(1),
                                   context.has(2) ? input_parameter(2) : kAbsentOperand, output_parameter(0)},
                    .fault = "the update does not fit behind its index"};
  choice.program.extent = cache[at];
  choice.program.inner = element_count(std::span(cache).subspan(at + 1));
  choice.program.written = entries[at];
  choice.program.circular = context.node.attributes.text("mode", "linear") == "circular";
  choice.program.of_batch = element_count(std::span(cache).subspan(1));
  return choice;
}

std::optional<NodeChoice> reverse_of_node(const LowerContext& context) {
  const Shape shape = context.in_shape(0);
  const int64_t batch = context.node.attributes.integer("batch_axis", 1),
                time = context.node.attributes.integer("time_axis", 0);
  if (shape.size() < 2 || batch < 0 || batch > 1 || time != 1 - batch || context.in(1).dtype != DType::kI64)
    return std::nullopt;
  const std::vector<int64_t> strides = row_major_strides(shape);
  const auto batch_axis = static_cast<std::size_t>(batch), time_axis = static_cast<std::size_t>(time);
  if (element_count(context.in_shape(1)) != shape[batch_axis]) return std::nullopt;
  NodeChoice choice{
      .program = {.kind = ChoiceProgram::Kind::kReverse},
      .parameters = {input_parameter(0), input_parameter(1), output_parameter(0)},
      .fault = fmt::format("a length is below 0 or above the {} of a sequence", shape[time_axis])};
  choice.program.extent = shape[time_axis];
  choice.program.inner = strides[time_axis];
  choice.program.of_batch = strides[batch_axis];
  choice.program.batch = shape[batch_axis];
  return choice;
}

std::optional<NodeChoice> choice_of_node(const LowerContext& context) {
  const std::string& op = context.node.op;
  if (op == "Trilu") return triangle_of_node(context);
  if (op == "OneHot") return one_hot_of_node(context);
  if (op == "TensorScatter") return cache_of_node(context);
  if (op == "ReverseSequence") return reverse_of_node(context);
  return std::nullopt;
}

}  // namespace

void lower_choice(const LowerContext& context, const GpuKernels& kernels, std::vector<Candidate>& found) {
  auto choice = choice_of_node(context);
  if (!choice || context.in(0).layout != Layout::kPlain || context.out().layout != Layout::kPlain) return;
  choice->program.element_size = dtype_size(context.out().dtype);
  choice->program.elements = element_count(context.out_shape());
  auto generated = gpu::generate_choice(choice->program);
  if (!generated.ok()) return;
  const auto blocks = line_of_blocks(generated->blocks, gpu::kChoiceBlock);
  if (!blocks) return;
  GpuLaunches launches{.implementation = "hone choice (CUDA)", .unread = std::move(choice->unread)};
  if (!choice->fault.empty()) {
    choice->parameters.push_back({GpuParameter::Kind::kFault, 0});
    choice->parameters.push_back({GpuParameter::Kind::kFaultWord, 1});
    launches.fault = choice->fault;
  }
  launches.launches.push_back(
      {std::move(generated->source), gpu::kChoiceEntry, *blocks, std::move(choice->parameters)});
  offer_launches(kernels, "hone choice", std::move(launches), found);
}

}  // namespace hone::runtime::cuda_kernels

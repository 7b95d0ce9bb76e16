// hone.Dropout, hone.Bernoulli, hone.RandomUniform, hone.RandomNormal and hone.Multinomial: generated kernels
// (kernels/cuda/random.h).
#include "kernels/cuda/random.h"
#include "runtime/cuda/gpu_launches.h"

namespace hone::runtime::cuda_kernels {
namespace {

namespace gpu = hone::kernels::gpu;

constexpr GpuParameter kNoRandomOperand{GpuParameter::Kind::kInteger, 0};

bool is_one_number(const LowerContext& context, std::size_t i, DType dtype) {
  return context.has(i) && context.in(i).dtype == dtype && element_count(context.in_shape(i)) == 1;
}

// A node, and which of its inputs the kernel reads.
struct RandomNode {
  gpu::RandomProgram program;
  std::vector<GpuParameter> parameters;
  std::vector<std::size_t> unread;
};

std::optional<RandomNode> dropout_node(const LowerContext& context) {
  RandomNode random;
  gpu::RandomProgram& program = random.program;
  program.in = context.in(0).dtype;
  program.mask = context.node.has_output(1);
  program.reads_ratio = context.has(3) && context.constant(3) == nullptr;
  if (program.reads_ratio && !is_one_number(context, 3, DType::kF32)) return std::nullopt;
  if (const Tensor* const ratio = context.constant(3)) {
    if (ratio->size() != 1 || !(ratio->at(0) >= 0 && ratio->at(0) <= 1)) return std::nullopt;
    program.ratio = ratio->at(0);
    random.unread.push_back(3);
  }
  program.may_rest = context.has(4);
  if (program.may_rest && !is_one_number(context, 4, DType::kBool)) return std::nullopt;
  random.parameters = {input_parameter(0),
                       input_parameter(1),
                       input_parameter(2),
                       program.reads_ratio ? input_parameter(3) : kNoRandomOperand,
                       program.may_rest ? input_parameter(4) : kNoRandomOperand,
                       output_parameter(0),
                       program.mask ? output_parameter(1) : kNoRandomOperand};
  return random;
}

std::optional<RandomNode> random_node(const LowerContext& context) {
  const graph::Node& node = context.node;
  RandomNode random;
  std::size_t stream = 1;  // the input that is the seed
  if (node.op == "hone.Dropout") {
    auto dropout = dropout_node(context);
    if (!dropout) return std::nullopt;
    random = *std::move(dropout);
  } else if (node.op == "hone.Bernoulli") {
    random.program.function = gpu::RandomFunction::kBernoulli;
    random.program.in = context.in(0).dtype;
    random.parameters = {input_parameter(0), input_parameter(1),  input_parameter(2), kNoRandomOperand,
                         kNoRandomOperand,   output_parameter(0), kNoRandomOperand};
  } else if (node.op == "hone.RandomUniform" || node.op == "hone.RandomNormal") {
    stream = 0;
    const bool normal = node.op == "hone.RandomNormal";
    random.program.function = normal ? gpu::RandomFunction::kNormal : gpu::RandomFunction::kUniform;
    random.program.low = static_cast<double>(node.attributes.real(normal ? "mean" : "low", 0));
    random.program.high = static_cast<double>(node.attributes.real(normal ? "scale" : "high", 1));
    if (context.has(2)) random.unread.push_back(2);
    random.parameters = {kNoRandomOperand, input_parameter(0),  input_parameter(1), kNoRandomOperand,
                         kNoRandomOperand, output_parameter(0), kNoRandomOperand};
  } else {
    return std::nullopt;
  }
  if (!is_one_number(context, stream, DType::kI64) || !is_one_number(context, stream + 1, DType::kI64))
    return std::nullopt;
  random.program.out = context.out().dtype;
  random.program.elements = element_count(context.out_shape());
  return random;
}

void offer_multinomial(const LowerContext& context, const GpuKernels& kernels,
                       std::vector<Candidate>& found) {
  const Shape weights = context.in_shape(0);
  if (weights.size() != 2 || context.in(0).layout != Layout::kPlain ||
      !is_one_number(context, 1, DType::kI64) || !is_one_number(context, 2, DType::kI64))
    return;
  auto source = gpu::generate_multinomial({.in = context.in(0).dtype,
                                           .out = context.out().dtype,
                                           .rows = weights[0],
                                           .classes = weights[1],
                                           .samples = context.out_shape()[1]});
  const auto shape = line_of_blocks(weights[0], gpu::kRandomBlock);
  if (!source.ok() || !shape) return;
  GpuLaunches launches{.implementation = "hone multinomial (CUDA)"};
  launches.launches.push_back(
      {*std::move(source),
       gpu::kMultinomialEntry,
       *shape,
       {input_parameter(0), input_parameter(1), input_parameter(2), output_parameter(0)}});
  offer_launches(kernels, "hone multinomial", std::move(launches), found);
}

}  // namespace

void lower_random(const LowerContext& context, const GpuKernels& kernels, std::vector<Candidate>& found) {
  if (context.out().layout != Layout::kPlain) return;
  if (context.node.op == "hone.Multinomial") return offer_multinomial(context, kernels, found);
  auto random = random_node(context);
  if (!random) return;
  auto generated = gpu::generate_random(random->program);
  if (!generated.ok()) return;
  const auto shape = line_of_blocks(generated->blocks, gpu::kRandomBlock);
  if (!shape) return;
  GpuLaunches launches{.implementation = "hone random (CUDA)", .unread = std::move(random->unread)};
  if (random->parameters[0].kind == GpuParameter::Kind::kInput && random->program.in == random->program.out)
    launches.in_place = 0;
  launches.launches.push_back(
      {std::move(generated->source), gpu::kRandomEntry, *shape, std::move(random->parameters)});
  offer_launches(kernels, "hone random", std::move(launches), found);
}

}  // namespace hone::runtime::cuda_kernels

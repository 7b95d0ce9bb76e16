// Optimizers on the CPU: f32 parameters (or bf16 that are rounded stochastically), gradients and moments, updated in place; and the sum of squares of many tensors.
#include <optional>

#include "kernels/cpu/optimizer/optimizer.h"
#include "kernels/cpu/reduction/reduce.h"
#include "runtime/cpu/families.h"
#include "runtime/cpu/make_kernel.h"

namespace hone::runtime::cpu {
namespace {

// The inputs of an optimizer: scalars, then groups of as many tensors.
struct OptimizerInputs {
  std::size_t scalars = 0;
  std::size_t tensors = 0;  // of each group
  std::vector<int64_t> sizes;
};

std::optional<kernels::StochasticRounding> rounding_of(const LowerContext& context) {
  const Ints numbers = context.node.attributes.ints("numbers");
  if (numbers.empty()) return std::nullopt;
  return kernels::StochasticRounding{static_cast<uint64_t>(context.node.attributes.integer("seed", 0)),
                                     numbers};
}

// None unless all tensors, and the scalars that are numbers of the step, are f32; parameters that are rounded are bf16.
// `updates`: which scalar counts them.
std::optional<OptimizerInputs> f32_inputs(const LowerContext& context, std::size_t scalars,
                                          std::size_t updates, std::size_t groups) {
  const bool rounds = !context.node.attributes.ints("numbers").empty();
  const std::size_t tensors = context.node.inputs.size() - scalars;
  if (context.node.outputs.size() != tensors / groups * (groups - 1)) return std::nullopt;
  OptimizerInputs found{scalars, tensors / groups, {}};
  for (std::size_t i = 0; i < context.node.inputs.size(); ++i) {
    if (!context.has(i)) continue;
    const bool is_parameter = i >= scalars && i < scalars + found.tensors;
    const DType wanted = i < scalars && i == updates ? DType::kI64
                         : is_parameter && rounds    ? DType::kBF16
                                                     : DType::kF32;
    if (context.in(i).dtype != wanted) return std::nullopt;
    if (context.in(i).layout != Layout::kPlain) return std::nullopt;
    if (is_parameter) found.sizes.push_back(element_count(context.in_shape(i)));
  }
  for (const graph::ValueId output : context.node.outputs)
    if (!output.valid()) return std::nullopt;
  return found;
}

// Output i takes the place of parameter or moment i; gradients have none.
std::vector<std::size_t> optimizer_places(const OptimizerInputs& inputs, std::size_t outputs) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < outputs; ++i)
    places.push_back(inputs.scalars + i + (i < inputs.tensors ? 0 : inputs.tensors));
  return places;
}

float scalar_f32(const void* pointer, float otherwise) {
  return pointer != nullptr ? *static_cast<const float*>(pointer) : otherwise;
}

void lower_sgd(const LowerContext& context, std::vector<Candidate>& found) {
  kernels::SgdDesc desc;
  desc.momentum = context.node.attributes.real("momentum", 0);
  desc.weight_decay = context.node.attributes.real("weight_decay", 0);
  desc.nesterov = context.node.attributes.integer("nesterov", 0) != 0;
  const std::size_t groups = desc.momentum != 0 ? 3 : 2;
  desc.rounding = rounding_of(context);
  const std::size_t scalars = desc.rounding ? 3 : 2;
  const auto inputs = f32_inputs(context, scalars, 2, groups);
  if (!inputs) return;
  desc.sizes = inputs->sizes;
  const std::size_t k = inputs->tensors;
  KernelTraits traits{.implementation = "hone sgd"};
  traits.in_place_of = optimizer_places(*inputs, context.node.outputs.size());
  found.push_back({"hone sgd", [desc, traits, k, scalars]() -> Result<std::unique_ptr<Kernel>> {
                     HONE_ASSIGN(kernels::Sgd sgd, kernels::Sgd::create(desc));
                     return make_kernel(traits, [sgd, k, scalars](const KernelArguments& a) -> Status {
                       const auto in = a.inputs.subspan(scalars);
                       const int64_t updates = scalars == 3 ? *static_cast<const int64_t*>(a.inputs[2]) : 0;
                       sgd.execute(scalar_f32(a.inputs[0], 0), scalar_f32(a.inputs[1], 1), updates,
                                   in.first(k), in.subspan(k, k), in.subspan(2 * k), a.outputs.first(k),
                                   a.outputs.subspan(k));
                       return {};
                     });
                   }});
}

void lower_adamw(const LowerContext& context, std::vector<Candidate>& found) {
  const auto inputs = f32_inputs(context, 3, 1, 4);
  if (!inputs) return;
  kernels::AdamWDesc desc;
  desc.sizes = inputs->sizes;
  desc.beta1 = context.node.attributes.real("beta1", 0.9F);
  desc.beta2 = context.node.attributes.real("beta2", 0.999F);
  desc.epsilon = context.node.attributes.real("epsilon", 1e-8F);
  desc.weight_decay = context.node.attributes.real("weight_decay", 0.01F);
  desc.rounding = rounding_of(context);
  const std::size_t k = inputs->tensors;
  KernelTraits traits{.implementation = "hone adamw"};
  traits.in_place_of = optimizer_places(*inputs, context.node.outputs.size());
  found.push_back({"hone adamw", [desc, traits, k]() -> Result<std::unique_ptr<Kernel>> {
                     HONE_ASSIGN(kernels::AdamW adamw, kernels::AdamW::create(desc));
                     return make_kernel(traits, [adamw, k](const KernelArguments& a) -> Status {
                       const auto in = a.inputs.subspan(3);
                       adamw.execute(scalar_f32(a.inputs[0], 0), *static_cast<const int64_t*>(a.inputs[1]),
                                     scalar_f32(a.inputs[2], 1), in.first(k), in.subspan(k, k),
                                     in.subspan(2 * k, k), in.subspan(3 * k), a.outputs.first(k),
                                     a.outputs.subspan(k, k), a.outputs.subspan(2 * k));
                       return {};
                     });
                   }});
}

// One reduction after another; their results are added in the tensors' order.
void lower_square_sum(const LowerContext& context, std::vector<Candidate>& found) {
  std::vector<kernels::ReduceDesc> descs;
  for (std::size_t i = 0; i < context.node.inputs.size(); ++i) {
    if (context.in(i).dtype != DType::kF32 || channel_block(context.in(i).layout) > 1) return;
    kernels::ReduceDesc desc{.shape = {element_count(context.in_shape(i))}, .axes = {0}};
    desc.op = kernels::Reduction::kSumSquare;
    descs.push_back(std::move(desc));
  }
  found.push_back({"hone square sum", [descs]() -> Result<std::unique_ptr<Kernel>> {
                     std::vector<kernels::Reduce> reductions;
                     for (const kernels::ReduceDesc& desc : descs) {
                       HONE_ASSIGN(kernels::Reduce reduce, kernels::Reduce::create(desc));
                       reductions.push_back(std::move(reduce));
                     }
                     return make_kernel({.implementation = "hone square sum"},
                                        [reductions](const KernelArguments& a) -> Status {
                                          double sum = 0;
                                          for (std::size_t i = 0; i < reductions.size(); ++i) {
                                            float of_tensor = 0;
                                            reductions[i].execute(static_cast<const float*>(a.inputs[i]),
                                                                  &of_tensor);
                                            sum += static_cast<double>(of_tensor);
                                          }
                                          *static_cast<float*>(a.outputs[0]) = static_cast<float>(sum);
                                          return {};
                                        });
                   }});
}

}  // namespace

void lower_optimizer(const LowerContext& context, std::vector<Candidate>& found) {
  if (context.node.op == "hone.Sgd") lower_sgd(context, found);
  if (context.node.op == "hone.AdamW") lower_adamw(context, found);
  if (context.node.op == "hone.SquareSum") lower_square_sum(context, found);
}

}  // namespace hone::runtime::cpu

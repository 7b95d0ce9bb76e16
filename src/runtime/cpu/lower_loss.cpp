// SoftmaxCrossEntropyLoss and NegativeLogLikelihoodLoss of plain f32 scores: hone's own kernel.
#include <fmt/core.h>

#include "kernels/cpu/softmax/cross_entropy.h"
#include "runtime/cpu/families.h"
#include "runtime/cpu/make_kernel.h"

namespace hone::runtime::cpu {

void lower_loss(const LowerContext& context, std::vector<Candidate>& found) {
  const graph::Node& node = context.node;
  const bool normalised = node.op == "NegativeLogLikelihoodLoss";
  if (!normalised && node.op != "SoftmaxCrossEntropyLoss") return;
  if (context.in(0).dtype != DType::kF32 || context.in(0).layout != Layout::kPlain ||
      context.in(1).dtype != DType::kI64 || (context.has(2) && context.in(2).dtype != DType::kF32))
    return;
  const Shape shape = context.in_shape(0);
  Shape targets = shape;
  targets.erase(targets.begin() + 1);
  const bool fits =
      context.in_shape(1) == targets && (!context.has(2) || context.in_shape(2) == Shape{shape[1]});
  if (!fits || element_count(shape) == 0) return;  // the reference says what is wrong
  kernels::CrossEntropyDesc desc;
  desc.outer = shape[0];
  desc.classes = shape[1];
  desc.inner = element_count(std::span(shape).subspan(2));
  desc.normalised = normalised;
  if (node.attributes.has("ignore_index")) desc.ignored = node.attributes.integer("ignore_index", 0);
  const std::string reduction = node.attributes.text("reduction", "mean");
  desc.reduction = reduction == "mean"  ? kernels::LossReductionKind::kMean
                   : reduction == "sum" ? kernels::LossReductionKind::kSum
                                        : kernels::LossReductionKind::kNone;
  const bool weighted = context.has(2);
  found.push_back(
      {"hone cross entropy", [desc, weighted]() -> Result<std::unique_ptr<Kernel>> {
         HONE_ASSIGN(kernels::CrossEntropy kernel, kernels::CrossEntropy::create(desc));
         KernelTraits traits{.implementation = "hone cross entropy"};
         traits.scratch_bytes = kernel.scratch_bytes();
         return make_kernel(std::move(traits), [kernel, weighted, desc](const KernelArguments& a) -> Status {
           const bool shows = a.outputs.size() > 1 && a.outputs[1] != nullptr;
           const auto bad = kernel.execute({f32(a.inputs[0]), static_cast<const int64_t*>(a.inputs[1]),
                                            weighted ? f32(a.inputs[2]) : nullptr, f32(a.outputs[0]),
                                            shows ? f32(a.outputs[1]) : nullptr, a.scratch});
           if (!bad) return {};
           return invalid(fmt::format("target {} is not one of {} classes", *bad, desc.classes));
         });
       }});
}

}  // namespace hone::runtime::cpu

// Reductions over axes, ArgMax and ArgMin, CumSum, TopK: hone's own kernels.
#include <fmt/core.h>

#include "kernels/cpu/reduction/order.h"
#include "kernels/cpu/reduction/reduce.h"
#include "runtime/cpu/families.h"
#include "runtime/cpu/make_kernel.h"
#include "runtime/lower/reduction_of_node.h"

namespace hone::runtime::cpu {
namespace {

void lower_reduce(const NodeReduction& reduction, std::vector<Candidate>& found) {
  found.push_back({"hone reduce", [reduction]() -> Result<std::unique_ptr<Kernel>> {
                     HONE_ASSIGN(kernels::Reduce reduce, kernels::Reduce::create(reduction.desc));
                     return make_kernel({.implementation = "hone reduce", .unread = reduction.unread},
                                        [reduce = std::move(reduce)](const KernelArguments& a) -> Status {
                                          reduce.execute(static_cast<const float*>(a.inputs[0]),
                                                         static_cast<float*>(a.outputs[0]));
                                          return {};
                                        });
                   }});
}

bool ordered_type(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF64 || dtype == DType::kI32 || dtype == DType::kI64;
}

// outer, length and inner of `desc` around `axis`.
template <typename Desc>
void split_at(const Shape& shape, int64_t axis, Desc& desc) {
  const auto at = static_cast<std::size_t>(axis);
  desc.outer = element_count(std::span(shape).first(at));
  desc.length = shape[at];
  desc.inner = element_count(std::span(shape).subspan(at + 1));
}

void lower_arg_extremum(const LowerContext& context, std::vector<Candidate>& found) {
  const graph::Node& node = context.node;
  const Shape shape = context.in_shape(0);
  const auto axis = normalize_axis(node.attributes.integer("axis", 0), static_cast<int64_t>(shape.size()));
  if (!axis.ok()) return;
  kernels::ArgExtremumDesc desc;
  split_at(shape, *axis, desc);
  desc.min = node.op == "ArgMin";
  desc.last = node.attributes.integer("select_last_index", 0) != 0;
  desc.dtype = context.in(0).dtype;
  found.push_back({"hone arg extremum", [desc]() -> Result<std::unique_ptr<Kernel>> {
                     HONE_ASSIGN(const auto extremum, kernels::ArgExtremum::create(desc));
                     return make_kernel({.implementation = "hone arg extremum"},
                                        [extremum](const KernelArguments& a) -> Status {
                                          extremum.execute(a.inputs[0], static_cast<int64_t*>(a.outputs[0]));
                                          return {};
                                        });
                   }});
}

void lower_cumulative_sum(const LowerContext& context, std::vector<Candidate>& found) {
  const Shape shape = context.in_shape(0);
  const Tensor* given = context.constant(1);
  if (given == nullptr || given->size() != 1) return;
  const auto axis = normalize_axis(given->int_at(0), static_cast<int64_t>(shape.size()));
  if (!axis.ok()) return;
  kernels::CumulativeSumDesc desc;
  split_at(shape, *axis, desc);
  desc.exclusive = context.node.attributes.integer("exclusive", 0) != 0;
  desc.reverse = context.node.attributes.integer("reverse", 0) != 0;
  desc.dtype = context.in(0).dtype;
  found.push_back({"hone cumulative sum", [desc]() -> Result<std::unique_ptr<Kernel>> {
                     HONE_ASSIGN(const auto sum, kernels::CumulativeSum::create(desc));
                     return make_kernel(
                         {.implementation = "hone cumulative sum", .unread = {1}, .in_place = 0},
                         [sum](const KernelArguments& a) -> Status {
                           sum.execute(a.inputs[0], a.outputs[0]);
                           return {};
                         });
                   }});
}

void lower_top_k(const LowerContext& context, std::vector<Candidate>& found) {
  const graph::Node& node = context.node;
  const Shape shape = context.in_shape(0);
  const auto axis = normalize_axis(node.attributes.integer("axis", -1), static_cast<int64_t>(shape.size()));
  if (!axis.ok() || context.constant(1) == nullptr || !node.has_output(1)) return;
  kernels::TopKDesc desc;
  split_at(shape, *axis, desc);
  desc.k = context.constant(1)->int_at(0);
  desc.largest = node.attributes.integer("largest", 1) != 0;
  desc.sorted = node.attributes.integer("sorted", 1) != 0;
  desc.dtype = context.in(0).dtype;
  found.push_back({"hone top k", [desc]() -> Result<std::unique_ptr<Kernel>> {
                     HONE_ASSIGN(const auto top, kernels::TopK::create(desc));
                     KernelTraits traits{.implementation = "hone top k"};
                     traits.scratch_bytes = top.scratch_bytes();
                     traits.unread = {1};
                     return make_kernel(std::move(traits), [top](const KernelArguments& a) -> Status {
                       top.execute(a.inputs[0], a.outputs[0], static_cast<int64_t*>(a.outputs[1]), a.scratch);
                       return {};
                     });
                   }});
}

}  // namespace

void lower_reduction(const LowerContext& context, std::vector<Candidate>& found) {
  const graph::Node& node = context.node;
  if (node.inputs.empty() || !context.has(0) || context.in_shape(0).empty() ||
      element_count(context.in_shape(0)) == 0 || element_count(context.out_shape()) == 0)
    return;
  if (const auto reduction = reduction_of_node(context)) {
    if (context.in(0).dtype == DType::kF32) lower_reduce(*reduction, found);
    return;
  }
  if (!ordered_type(context.in(0).dtype) || context.in(0).layout != Layout::kPlain) return;
  if (node.op == "ArgMax" || node.op == "ArgMin") lower_arg_extremum(context, found);
  if (node.op == "CumSum") lower_cumulative_sum(context, found);
  if (node.op == "TopK") lower_top_k(context, found);
}

}  // namespace hone::runtime::cpu

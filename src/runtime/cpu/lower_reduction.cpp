// Reductions over axes, ArgMax and ArgMin, CumSum, TopK: hone's own kernels.
#include <array>

#include <fmt/core.h>

#include "kernels/cpu/reduction/order.h"
#include "kernels/cpu/reduction/reduce.h"
#include "runtime/cpu/families.h"
#include "runtime/cpu/make_kernel.h"

namespace hone::runtime::cpu {
namespace {

struct Operator {
  std::string_view op;
  kernels::Reduction reduction;
};
constexpr std::array kReductions = {Operator{"ReduceSum", kernels::Reduction::kSum},
                                    Operator{"ReduceMean", kernels::Reduction::kMean},
                                    Operator{"ReduceMax", kernels::Reduction::kMax},
                                    Operator{"ReduceMin", kernels::Reduction::kMin},
                                    Operator{"ReduceProd", kernels::Reduction::kProd},
                                    Operator{"ReduceL1", kernels::Reduction::kL1},
                                    Operator{"ReduceL2", kernels::Reduction::kL2},
                                    Operator{"ReduceSumSquare", kernels::Reduction::kSumSquare},
                                    Operator{"ReduceLogSum", kernels::Reduction::kLogSum},
                                    Operator{"ReduceLogSumExp", kernels::Reduction::kLogSumExp}};

// The axes that a Reduce node reduces, each once; nullopt if they are computed.
std::optional<std::vector<int64_t>> reduced_axes(const LowerContext& context, int64_t rank) {
  if (context.has(1) && context.constant(1) == nullptr) return std::nullopt;
  const std::vector<int64_t> given = context.has(1) ? context.constant(1)->to_ints() : std::vector<int64_t>{};
  const bool all = given.empty() && context.node.attributes.integer("noop_with_empty_axes", 0) == 0;
  std::vector<bool> reduced(static_cast<std::size_t>(rank), all);
  for (int64_t axis : given) {
    const auto normal = normalize_axis(axis, rank);
    if (!normal.ok()) return std::nullopt;
    reduced[static_cast<std::size_t>(*normal)] = true;
  }
  std::vector<int64_t> axes;
  for (int64_t i = 0; i < rank; ++i) {
    if (reduced[static_cast<std::size_t>(i)]) axes.push_back(i);
  }
  return axes;
}

// Means and the like over all spatial axes of images in another layout, kept as [N, C, 1…] in that layout:
// the positions are one axis of the memory.
bool move_to_layout(const LowerContext& context, kernels::ReduceDesc& desc) {
  const Layout layout = context.in(0).layout;
  if (layout == Layout::kPlain) return context.out().layout == Layout::kPlain;
  const Shape shape = context.in_shape(0);
  const bool spatial = desc.axes.size() == shape.size() - 2 && desc.axes.front() == 2;
  const bool kept = context.out().layout == layout && context.out_shape().size() == shape.size();
  if (!spatial || !kept) return false;
  const int64_t positions = element_count(std::span(shape).subspan(2));
  const int64_t block = layout == Layout::kChannelsLast ? shape[1] : channel_block(layout);
  desc.shape = {shape[0] * ((shape[1] + block - 1) / block), positions, block};
  desc.axes = {1};
  return true;
}

void lower_reduce(const LowerContext& context, kernels::Reduction reduction, const std::vector<int64_t>& axes,
                  std::vector<Candidate>& found) {
  if (context.in(0).dtype != DType::kF32) return;
  kernels::ReduceDesc desc{context.in_shape(0), axes, reduction};
  // Padded channels hold zeros, and must again: only reductions that make zero of zeros keep them so.
  using enum kernels::Reduction;
  const bool zero_of_zeros = reduction != kLogSum && reduction != kLogSumExp;
  if (context.in(0).layout != Layout::kPlain && !zero_of_zeros) return;
  if (!move_to_layout(context, desc)) return;
  std::vector<std::size_t> unread;
  if (context.has(1)) unread.push_back(1);
  found.push_back({"hone reduce", [desc, unread]() -> Result<std::unique_ptr<Kernel>> {
                     HONE_ASSIGN(kernels::Reduce reduce, kernels::Reduce::create(desc));
                     return make_kernel({.implementation = "hone reduce", .unread = unread},
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
  const auto rank = static_cast<int64_t>(context.in_shape(0).size());
  for (const Operator& known : kReductions) {
    if (known.op != node.op) continue;
    if (const auto axes = reduced_axes(context, rank)) lower_reduce(context, known.reduction, *axes, found);
    return;
  }
  if (node.op == "GlobalAveragePool" || node.op == "GlobalMaxPool") {
    std::vector<int64_t> spatial;
    for (int64_t i = 2; i < rank; ++i) spatial.push_back(i);
    const bool mean = node.op == "GlobalAveragePool";
    lower_reduce(context, mean ? kernels::Reduction::kMean : kernels::Reduction::kMax, spatial, found);
    return;
  }
  if (!ordered_type(context.in(0).dtype) || context.in(0).layout != Layout::kPlain) return;
  if (node.op == "ArgMax" || node.op == "ArgMin") lower_arg_extremum(context, found);
  if (node.op == "CumSum") lower_cumulative_sum(context, found);
  if (node.op == "TopK") lower_top_k(context, found);
}

}  // namespace hone::runtime::cpu

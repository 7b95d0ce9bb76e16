#include "runtime/lower/reduction_of_node.h"

#include <algorithm>
#include <array>

namespace hone::runtime {
namespace {

struct ReduceOperator {
  std::string_view op;
  kernels::Reduction reduction;
};
constexpr std::array kReduceOperators = {ReduceOperator{"ReduceSum", kernels::Reduction::kSum},
                                         ReduceOperator{"hone.ReduceSum", kernels::Reduction::kSum},
                                         ReduceOperator{"ReduceMean", kernels::Reduction::kMean},
                                         ReduceOperator{"ReduceMax", kernels::Reduction::kMax},
                                         ReduceOperator{"ReduceMin", kernels::Reduction::kMin},
                                         ReduceOperator{"ReduceProd", kernels::Reduction::kProd},
                                         ReduceOperator{"ReduceL1", kernels::Reduction::kL1},
                                         ReduceOperator{"ReduceL2", kernels::Reduction::kL2},
                                         ReduceOperator{"ReduceSumSquare", kernels::Reduction::kSumSquare},
                                         ReduceOperator{"ReduceLogSum", kernels::Reduction::kLogSum},
                                         ReduceOperator{"ReduceLogSumExp", kernels::Reduction::kLogSumExp}};

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

// Everything but the channels, which lie last: the columns of a matrix.
bool keep_channels(const Shape& shape, kernels::ReduceDesc& desc) {
  if (desc.axes.size() != shape.size() - 1 || std::count(desc.axes.begin(), desc.axes.end(), 1) > 0)
    return false;
  desc.shape = {element_count(shape) / std::max<int64_t>(shape[1], 1), shape[1]};
  desc.axes = {0};
  return true;
}

// Means and the like over all spatial axes of images in another layout, kept as [N, C, 1…] in that layout:
// the positions are one axis of the memory.
bool move_to_layout(const LowerContext& context, kernels::ReduceDesc& desc) {
  const Layout layout = context.in(0).layout;
  if (layout == Layout::kPlain) return context.out().layout == Layout::kPlain;
  const Shape shape = context.in_shape(0);
  if (layout == Layout::kChannelsLast && context.out().layout == Layout::kPlain)
    return keep_channels(shape, desc);
  const bool spatial = desc.axes.size() == shape.size() - 2 && desc.axes.front() == 2;
  const bool kept = context.out().layout == layout && context.out_shape().size() == shape.size();
  if (!spatial || !kept) return false;
  const int64_t positions = element_count(std::span(shape).subspan(2));
  const int64_t block = layout == Layout::kChannelsLast ? shape[1] : channel_block(layout);
  desc.shape = {shape[0] * ((shape[1] + block - 1) / block), positions, block};
  desc.axes = {1};
  return true;
}

std::optional<NodeReduction> reduction_over(const LowerContext& context, kernels::Reduction reduction,
                                            std::vector<int64_t> axes) {
  NodeReduction made{.desc = {context.in_shape(0), std::move(axes), reduction}, .unread = {}};
  // Padded channels hold zeros, and must again: only reductions that make zero of zeros keep them so.
  using enum kernels::Reduction;
  const bool zero_of_zeros = reduction != kLogSum && reduction != kLogSumExp;
  if (context.in(0).layout != Layout::kPlain && !zero_of_zeros) return std::nullopt;
  if (!move_to_layout(context, made.desc)) return std::nullopt;
  if (context.has(1)) made.unread.push_back(1);
  return made;
}

}  // namespace

std::optional<NodeReduction> reduction_of_node(const LowerContext& context) {
  const graph::Node& node = context.node;
  if (node.inputs.empty() || !context.has(0) || context.in_shape(0).empty()) return std::nullopt;
  const auto rank = static_cast<int64_t>(context.in_shape(0).size());
  for (const ReduceOperator& known : kReduceOperators) {
    if (known.op != node.op) continue;
    const auto axes = reduced_axes(context, rank);
    return axes ? reduction_over(context, known.reduction, *axes) : std::nullopt;
  }
  if (node.op != "GlobalAveragePool" && node.op != "GlobalMaxPool") return std::nullopt;
  std::vector<int64_t> spatial;
  for (int64_t i = 2; i < rank; ++i) spatial.push_back(i);
  const bool mean = node.op == "GlobalAveragePool";
  return reduction_over(context, mean ? kernels::Reduction::kMean : kernels::Reduction::kMax,
                        std::move(spatial));
}

}  // namespace hone::runtime

#include "runtime/lower/gather_of_node.h"

#include <algorithm>

#include <fmt/format.h>

namespace hone::runtime {
namespace {

std::optional<NodeGather> gather_of_axis(const LowerContext& context, std::size_t size) {
  const Shape in = context.in_shape(0);
  auto axis = normalize_axis(context.node.attributes.integer("axis", 0), static_cast<int64_t>(in.size()));
  if (!axis.ok()) return std::nullopt;
  const auto at = static_cast<std::size_t>(*axis);
  kernels::GatherDesc desc;
  desc.element_size = size;
  desc.outer = element_count(std::span(in).first(at));
  desc.axis = in[at];
  desc.inner = element_count(std::span(in).subspan(at + 1));
  desc.indices = element_count(context.in_shape(1));
  desc.index_type = context.in(1).dtype;
  return desc;
}

std::optional<NodeGather> gather_of_elements(const LowerContext& context, std::size_t size) {
  kernels::ElementsDesc desc;
  desc.element_size = size;
  desc.data_shape = context.in_shape(0);
  desc.index_shape = context.in_shape(1);
  const auto axis = normalize_axis(context.node.attributes.integer("axis", 0),
                                   static_cast<int64_t>(desc.data_shape.size()));
  if (!axis.ok()) return std::nullopt;
  desc.axis = *axis;
  desc.index_type = context.in(1).dtype;
  if (desc.index_shape.size() != desc.data_shape.size()) return std::nullopt;
  for (std::size_t i = 0; i < desc.data_shape.size(); ++i) {
    if (static_cast<int64_t>(i) != desc.axis && desc.index_shape[i] > desc.data_shape[i]) return std::nullopt;
  }
  return desc;
}

std::optional<NodeGather> gather_of_tuples(const LowerContext& context, std::size_t size, bool scatter) {
  const Shape data = context.in_shape(0);
  const Shape indices = context.in_shape(1);
  const auto batch = static_cast<std::size_t>(scatter ? 0 : context.node.attributes.integer("batch_dims", 0));
  const auto depth = static_cast<std::size_t>(indices.back());
  if (batch + depth > data.size() || batch >= indices.size()) return std::nullopt;
  if (!std::equal(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(batch), indices.begin()))
    return std::nullopt;
  kernels::GatherNDDesc desc;
  desc.element_size = size;
  desc.batch = element_count(std::span(data).first(batch));
  desc.indexed_shape.assign(data.begin() + static_cast<std::ptrdiff_t>(batch),
                            data.begin() + static_cast<std::ptrdiff_t>(batch + depth));
  desc.tuples = element_count(std::span(indices).subspan(batch, indices.size() - 1 - batch));
  desc.slice = element_count(std::span(data).subspan(batch + depth));
  desc.index_type = context.in(1).dtype;
  return desc;
}

// Shapes that inference lets through and the reference refuses: kernels would read beyond their ends.
bool updates_fit(const LowerContext& context, const NodeGather& scatter) {
  const Shape updates = context.in_shape(2);
  if (const auto* const tuples = std::get_if<kernels::GatherNDDesc>(&scatter))
    return element_count(updates) == tuples->tuples * tuples->slice;
  return updates == context.in_shape(1);
}

}  // namespace

std::optional<NodeGather> gather_of_node(const LowerContext& context, std::string_view reduction) {
  const graph::Node& node = context.node;
  const bool axis = node.op == "Gather";
  const bool elements = node.op == "GatherElements" || node.op == "ScatterElements";
  const bool tuples = node.op == "GatherND" || node.op == "ScatterND";
  if ((!axis && !elements && !tuples) || context.in(0).dtype == DType::kString) return std::nullopt;
  const std::size_t size = dtype_size(context.in(0).dtype);
  if (size == 0 || element_count(context.out_shape()) == 0) return std::nullopt;
  if (context.in(0).layout != Layout::kPlain || context.out().layout != Layout::kPlain) return std::nullopt;
  if (axis) return gather_of_axis(context, size);
  if (context.in_shape(0).empty() || context.in_shape(1).empty() || element_count(context.in_shape(1)) == 0)
    return std::nullopt;
  const bool scatter = node.op.starts_with("Scatter");
  if (scatter && node.attributes.text("reduction", "none") != reduction) return std::nullopt;
  if (scatter && context.in(2).layout != Layout::kPlain) return std::nullopt;
  auto gather = elements ? gather_of_elements(context, size) : gather_of_tuples(context, size, scatter);
  if (gather && scatter && !updates_fit(context, *gather)) return std::nullopt;
  return gather;
}

std::string index_error(const LowerContext& context) {
  const Shape shape = context.in_shape(0);
  if (context.node.op != "Gather")
    return fmt::format("an index is out of range for a tensor of shape {}", shape_text(shape));
  const auto axis =
      normalize_axis(context.node.attributes.integer("axis", 0), static_cast<int64_t>(shape.size()));
  return fmt::format("an index is out of range for an axis of {}",
                     axis.ok() ? shape[static_cast<std::size_t>(*axis)] : 0);
}

}  // namespace hone::runtime

#include "lab/data/index_limit.h"

#include <algorithm>
#include <vector>

#include "core/shape.h"
#include "graph/op_table.h"

namespace hone::lab {
namespace {

std::optional<int64_t> extent_of(const graph::TensorType& type, int64_t axis) {
  if (!type.has_rank()) return std::nullopt;
  const auto normal = normalize_axis(axis, type.rank());
  if (!normal.ok()) return std::nullopt;
  const graph::Dim& extent = (*type.dims)[static_cast<std::size_t>(*normal)];
  return extent.known() ? std::optional(extent.extent()) : std::nullopt;
}

// As input `i` of `node`.
std::optional<int64_t> limit_at(const graph::Graph& graph, const graph::Node& node, std::size_t i) {
  if ((node.op == "Gather" || node.op == "GatherElements") && i == 1)
    return extent_of(graph.type(node.inputs[0]), node.attributes.integer("axis", 0));
  if (node.op == "RotaryEmbedding" && i == 3) return extent_of(graph.type(node.inputs[1]), 0);
  if (node.op == "RoiAlign" && i == 2) return extent_of(graph.type(node.inputs[0]), 0);
  return std::nullopt;
}

bool only_moves(const graph::Node& node) {
  const graph::OpEntry* const entry = graph::find_entry(node);
  return node.op == "Cast" || node.op == "Identity" || node.op == "Expand" || node.op == "Slice" ||
         node.op == "Transpose" || (entry != nullptr && entry->op_class == graph::OpClass::kView);
}

}  // namespace

std::optional<int64_t> index_limit_of(const graph::Graph& graph, graph::ValueId input) {
  std::optional<int64_t> limit;
  std::vector<graph::ValueId> same = {input};
  for (std::size_t at = 0; at < same.size(); ++at) {
    for (const graph::NodeId id : graph.users(same[at])) {
      const graph::Node& node = graph.node(id);
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        if (node.inputs[i] != same[at]) continue;
        if (const auto found = limit_at(graph, node, i))
          limit = std::min(limit.value_or(*found), *found);
        else if (i == 0 && only_moves(node) && node.has_output(0))
          same.push_back(node.outputs[0]);
      }
    }
  }
  return limit;
}

}  // namespace hone::lab

#include "passes/merge_common.h"

#include <algorithm>
#include <map>

#include <fmt/core.h>

#include "graph/op_table.h"

namespace hone::passes {
namespace {

using graph::GraphBuilder;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

// Larger constants are weights: comparing them all is not worth it.
constexpr std::size_t kSmallConstantBytes = 4096;

class CommonMerger {
 public:
  explicit CommonMerger(const graph::Graph& graph) : builder_(graph) {}

  Result<PassOutcome> run(const graph::Graph& graph) {
    merge_constants(graph);
    for (uint32_t i = 0; i < graph.nodes().size(); ++i) merge_node(NodeId{i});
    HONE_ASSIGN(outcome_.graph, std::move(builder_).finish());
    return std::move(outcome_);
  }

 private:
  void merge_constants(const graph::Graph& graph) {
    std::map<std::string, std::vector<ValueId>> seen;  // by type; their bytes are compared below
    for (uint32_t i = 0; i < graph.values().size(); ++i) {
      const graph::Value& value = graph.values()[i];
      if (!value.is_constant() || value.constant->bytes() > kSmallConstantBytes ||
          value.constant->dtype() == DType::kString || graph.is_output(ValueId{i})) {
        continue;
      }
      auto& same_type = seen[value.type.text()];
      auto equal = std::find_if(same_type.begin(), same_type.end(), [&](ValueId other) {
        return same_tensor(*graph.value(other).constant, *value.constant);
      });
      if (equal == same_type.end()) {
        same_type.push_back(ValueId{i});
      } else {
        // Not worth a note: no work is saved, only nodes made comparable.
        builder_.replace_all_uses(ValueId{i}, *equal);
      }
    }
  }

  static bool same_work(const Node& a, const Node& b) {
    return a.op == b.op && a.inputs == b.inputs && a.outputs.size() == b.outputs.size() &&
           a.attributes == b.attributes;
  }

  void merge_node(NodeId id) {
    const Node node = builder_.node(id);
    if (!graph::is_pure(node) || !node.bodies.empty()) return;
    // Candidates read the same first input; nodes without inputs are constants in disguise or generators:
    // left alone.
    if (node.inputs.empty() || !node.inputs[0].valid()) return;
    for (NodeId other_id : builder_.users(node.inputs[0])) {
      if (other_id.index >= id.index || builder_.erased(other_id)) continue;
      const Node& other = builder_.node(other_id);
      if (!same_work(node, other)) continue;
      for (std::size_t i = 0; i < node.outputs.size(); ++i) {
        // The other does not compute this output.
        if (node.outputs[i].valid() && !other.outputs[i].valid()) return;
      }
      builder_.replacing({id});
      for (std::size_t i = 0; i < node.outputs.size(); ++i) {
        if (node.outputs[i].valid()) builder_.replace_all_uses(node.outputs[i], other.outputs[i]);
      }
      builder_.erase(id);
      auto& provenance = builder_.mutable_node(other_id).provenance;
      provenance.insert(provenance.end(), node.provenance.begin(), node.provenance.end());
      outcome_.done.push_back({node.name, fmt::format("{} is the same as '{}'", node.op, other.name)});
      return;
    }
  }

  GraphBuilder builder_;
  PassOutcome outcome_;
};

}  // namespace

Result<PassOutcome> merge_common(const graph::Graph& graph, const PassContext&) {
  return CommonMerger(graph).run(graph);
}

}  // namespace hone::passes

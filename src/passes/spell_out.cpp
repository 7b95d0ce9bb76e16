#include "passes/spell_out.h"

#include <algorithm>

#include <fmt/core.h>

#include "graph/spelled_out/spelled_out.h"
#include "passes/precision_table.h"
#include "passes/rewrite.h"

namespace hone::passes {
namespace {

using graph::SpellOut;

// Whether there is a kernel depends on them.
bool has_open_extents(const graph::Graph& graph, const Node& node) {
  return std::any_of(node.inputs.begin(), node.inputs.end(),
                     [&](ValueId input) { return input.valid() && !graph.type(input).is_static(); });
}

// Products whose kernels will be those of the type to which a later pass brings them, if it has one there.
bool will_run_narrow(const Node& node, const graph::Graph& graph, const PassContext& context) {
  return context.narrows_to != DType::kUndefined && precision_row(node).rule == PrecisionRule::kNarrow &&
         !context.keep_f32.contains(node.name) &&
         runs_alone_in(context.target, graph, node, context.narrows_to);
}

// What has to stay wide as one operator stays one until the others are narrow: its parts would be narrowed each by its own
// rule, and the squares of an LRN are no product's neighbours.
bool waits_for_narrowing(const Node& node, const PassContext& context) {
  return context.narrows_to != DType::kUndefined && graph::spells_out(node) == SpellOut::kWithKernels &&
         precision_row(node).rule == PrecisionRule::kKeeps;
}

// The first of the nodes from `first` on that the target has no kernel for; null if it has one for each. What reads
// nothing but constants will be folded.
const Node* without_kernel(const Target& target, const GraphBuilder& builder, std::size_t first) {
  for (std::size_t i = first; i < builder.nodes().size(); ++i) {
    const Node& node = builder.nodes()[i];
    const bool known = std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
      return !input.valid() || builder.value(input).is_constant();
    });
    if (!known && !runs_alone(target, builder, node)) return &node;
  }
  return nullptr;
}

class Speller {
 public:
  Speller(const graph::Graph& graph, const PassContext& context)
      : graph_(graph), context_(context), builder_(graph) {}

  Result<PassOutcome> run() {
    for (const Node& node : graph_.nodes()) {
      if (graph::spells_out(node) == SpellOut::kNever || !context_.target.runs ||
          has_open_extents(graph_, node) || waits_for_narrowing(node, context_))
        continue;
      if (runs_alone(context_.target, graph_, node) || will_run_narrow(node, graph_, context_)) continue;
      const auto first_output =
          std::ranges::find_if(node.outputs, [](ValueId output) { return output.valid(); });
      if (first_output == node.outputs.end()) continue;
      const NodeId id = graph_.value(*first_output).producer;
      spell(id, Node(builder_.node(id)));
    }
    HONE_ASSIGN(outcome_.graph, std::move(builder_).finish());
    return std::move(outcome_);
  }

 private:
  // `node` is a copy, as it reads now: what is before it may have been spelled out. Nodes that turn out not to be wanted have
  // no readers, and are dropped with the finished graph.
  void spell(NodeId id, const Node& node) {
    const std::size_t first = builder_.nodes().size();
    builder_.replacing({id});
    graph::NodeEmitter emitter(builder_, node.name, node.provenance);
    const auto made = graph::spelled_out(emitter, node, node.inputs);
    if (!made.ok()) {
      outcome_.missed.push_back({node.name, made.error().message});
      return;
    }
    if (graph::spells_out(node) == SpellOut::kWithKernels) {
      if (const Node* const missing = without_kernel(context_.target, builder_, first)) {
        outcome_.missed.push_back(
            {node.name,
             fmt::format("the target has no kernel for {}, and none for {} of {} that it is made of", node.op,
                         missing->op, type_of(*missing))});
        return;
      }
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i)
      if (node.outputs[i].valid()) builder_.replace_all_uses(node.outputs[i], (*made)[i]);
    builder_.erase(id);
    outcome_.done.push_back({node.name, fmt::format("the target has no kernel for {}", node.op)});
  }

  std::string type_of(const Node& node) const {
    return node.has_output(0) ? builder_.type(node.outputs[0]).text() : "no type";
  }

  const graph::Graph& graph_;
  const PassContext& context_;
  GraphBuilder builder_;
  PassOutcome outcome_;
};

}  // namespace

Result<PassOutcome> spell_out(const graph::Graph& graph, const PassContext& context) {
  return Speller(graph, context).run();
}

}  // namespace hone::passes

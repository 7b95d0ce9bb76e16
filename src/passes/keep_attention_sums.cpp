#include "passes/keep_attention_sums.h"

#include <algorithm>

#include "passes/rewrite.h"

namespace hone::passes {
namespace {

constexpr const char* kWithSums = "hone.AttentionWithSums";
constexpr std::size_t kOutputGradient = 4;

// Whether `gradient` is of `attention`: the same operands and numbers.
bool is_gradient_of(const Node& gradient, const Node& attention) {
  for (std::size_t i = 0; i < 4; ++i) {
    if (gradient.has_input(i) != attention.has_input(i) ||
        (gradient.has_input(i) && gradient.inputs[i] != attention.inputs[i]))
      return false;
  }
  const auto same = [&](const char* name) {
    return gradient.attributes.integer(name, 0) == attention.attributes.integer(name, 0);
  };
  const auto scale = [](const Node& node) {
    return node.attributes.has("scale") ? node.attributes.real("scale", 1) : 0.0F;
  };
  return same("is_causal") && same("q_num_heads") && same("kv_num_heads") &&
         scale(gradient) == scale(attention);
}

// Queries, keys, values and the mask, if there is one.
std::vector<ValueId> operands_of(const Node& attention) {
  std::vector<ValueId> operands = attention.inputs;
  operands.resize(attention.has_input(3) ? 4 : 3);
  return operands;
}

// Whether there are kernels depends on them.
bool has_open_extents(const GraphBuilder& builder, const Node& node) {
  return std::any_of(node.inputs.begin(), node.inputs.end(),
                     [&](ValueId input) { return input.valid() && !builder.type(input).is_static(); });
}

// Nothing but what hone.AttentionWithSums has.
bool is_plain(const Node& attention) {
  for (std::size_t i = 4; i < attention.inputs.size(); ++i)
    if (attention.has_input(i)) return false;
  for (std::size_t i = 1; i < attention.outputs.size(); ++i)
    if (attention.has_output(i)) return false;
  return attention.attributes.real("softcap", 0) == 0 &&
         attention.attributes.integer("softmax_precision", 1) == 1;
}

Attributes plain_attributes(const Node& attention) {
  Attributes attributes;
  for (const char* const name : {"is_causal", "kv_num_heads", "q_num_heads"})
    if (attention.attributes.has(name)) attributes.set(name, attention.attributes.integer(name, 0));
  if (attention.attributes.has("scale")) attributes.set("scale", attention.attributes.real("scale", 1));
  return attributes;
}

class SumsKeeper {
 public:
  SumsKeeper(const graph::Graph& graph, const Target& target) : builder_(graph), target_(target) {}

  Result<PassOutcome> run(const graph::Graph& graph) {
    for (uint32_t i = 0; i < graph.nodes().size(); ++i) {
      const Node& node = graph.nodes()[i];
      if (node.op == "Attention" && is_plain(node)) forward_.push_back(NodeId{i});
      if (node.op == "hone.AttentionGradient" && !node.has_input(kOutputGradient + 1)) visit(NodeId{i});
    }
    HONE_ASSIGN(outcome_.graph, std::move(builder_).finish());
    return std::move(outcome_);
  }

 private:
  void visit(NodeId id) {
    const Node gradient = builder_.node(id);
    if (has_open_extents(builder_, gradient)) return;
    const auto forward = std::find_if(forward_.begin(), forward_.end(), [&](NodeId each) {
      return is_gradient_of(gradient, builder_.node(each));
    });
    if (forward == forward_.end()) {
      outcome_.missed.push_back(
          {gradient.name, "its attention is computed again: no Attention of the same operands is kept"});
      return;
    }
    const NodeId attention_id = *forward;
    const Node attention = builder_.node(attention_id);
    if (!runs_with_sums(attention, gradient)) return;
    builder_.replacing({attention_id});
    const std::vector<ValueId> kept =
        builder_.add_many(kWithSums, operands_of(attention), 2, plain_attributes(attention), attention.name);
    put_at(attention_id, kept[0]);
    for (const ValueId value : kept) builder_.append_input(id, value);
    builder_.replacing({});
    forward_.erase(std::find(forward_.begin(), forward_.end(), attention_id));
    outcome_.done.push_back({gradient.name, "reads the result and the sums of '" + attention.name + "'"});
  }

  // Asked about both alone, before anything is built.
  bool runs_with_sums(const Node& attention, const Node& gradient) const {
    GraphBuilder alone("attention");
    const auto stand_ins = [&](const std::vector<ValueId>& of) {
      std::vector<ValueId> inputs;
      for (const ValueId input : of)
        inputs.push_back(input.valid() ? alone.input("operand", builder_.type(input)) : graph::kNoValue);
      return inputs;
    };
    const auto kept =
        alone.add_many(kWithSums, stand_ins(operands_of(attention)), 2, plain_attributes(attention), "y");
    std::vector<ValueId> read = stand_ins(gradient.inputs);
    read.insert(read.end(), kept.begin(), kept.end());
    for (const ValueId made : alone.add_many(gradient.op, read, 3, gradient.attributes, "d"))
      alone.output(made);
    const auto both = std::move(alone).finish();
    return both.ok() && target_.runs &&
           std::all_of(both->nodes().begin(), both->nodes().end(),
                       [&](const Node& node) { return target_.runs(*both, node); });
  }

  // `made` in the place of the node's only output, with its name.
  void put_at(NodeId id, ValueId made) {
    const ValueId output = builder_.node(id).outputs[0];
    const bool interface = builder_.is_output(output);  // whose name moves along with its uses
    builder_.replace_all_uses(output, made);
    if (!interface) builder_.swap_names(output, made);
    builder_.erase(id);
  }

  GraphBuilder builder_;
  const Target& target_;
  PassOutcome outcome_;
  std::vector<NodeId> forward_;
};

}  // namespace

Result<PassOutcome> keep_attention_sums(const graph::Graph& graph, const PassContext& context) {
  if (!context.target.runs) return PassOutcome{graph, {}, {}};
  return SumsKeeper(graph, context.target).run(graph);
}

}  // namespace hone::passes

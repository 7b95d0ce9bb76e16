#include "graph/differentiate.h"

#include <algorithm>
#include <unordered_set>

#include <fmt/core.h>

#include "graph/gradients/context.h"
#include "graph/op_table.h"

namespace hone::graph {
namespace {

std::string label(const Node& node) { return fmt::format("node '{}' ({})", node.name, node.op); }

// The nodes that `values` are computed by, each after those that it reads; not those behind `bounds`. Without
// recursion: graphs are deep.
std::vector<NodeId> ancestors(const GraphBuilder& builder, std::span<const ValueId> values,
                              const std::unordered_set<ValueId>& bounds = {}) {
  std::vector<NodeId> order;
  std::unordered_set<NodeId> seen;
  struct Visit {
    NodeId node;
    std::size_t next_input = 0;
  };
  std::vector<Visit> path;
  const auto enter = [&](ValueId read) {
    if (!read.valid() || bounds.contains(read)) return;
    const NodeId producer = builder.value(read).producer;
    if (producer.valid() && seen.insert(producer).second) path.push_back({producer});
  };
  for (const ValueId value : values) {
    enter(value);
    while (!path.empty()) {
      Visit& last = path.back();
      const std::vector<ValueId>& inputs = builder.node(last.node).inputs;
      if (last.next_input == inputs.size()) {
        order.push_back(last.node);
        path.pop_back();
      } else {
        enter(inputs[last.next_input++]);
      }
    }
  }
  return order;
}

std::vector<std::string> joined(std::vector<std::string> names, const std::vector<std::string>& others) {
  for (const std::string& name : others)
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  return names;
}

// Integers and bool carry no gradient. Types that are not known yet may.
bool may_have_gradient(DType dtype) {
  return dtype == DType::kF64 || dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16 ||
         dtype == DType::kUndefined;
}

class Differentiation {
 public:
  Differentiation(GraphBuilder& builder, const DifferentiateOptions& options)
      : builder_(builder), options_(options) {}

  Result<std::vector<ValueId>> run(ValueId y, std::span<const ValueId> xs) {
    HONE_CHECK(check_float(y));
    for (const ValueId x : xs) HONE_CHECK(check_float(x));
    depends_.insert(xs.begin(), xs.end());
    mark_all(ancestors(builder_, {&y, 1}));
    if (depends_.contains(y)) {
      HONE_ASSIGN(const ValueId seed, seed_of(y));
      gradients_[y] = seed;
    }
    HONE_CHECK(walk());
    std::vector<ValueId> results;
    for (const ValueId x : xs) {
      const auto found = gradients_.find(x);
      if (found != gradients_.end()) {
        results.push_back(found->second);
        continue;
      }
      if (!options_.zeros) {
        results.push_back(kNoValue);
        continue;
      }
      HONE_ASSIGN(const ValueId zeros, filled(x, 0));
      results.push_back(zeros);
    }
    return results;
  }

  // The same for several ys, each with a seed, where all between them and `bounds` is known to be theirs.
  // kNoValue for an x that no y depends on.
  Result<std::vector<ValueId>> run_within(std::span<const ValueId> ys, std::span<const ValueId> seeds,
                                          std::span<const ValueId> bounds, std::span<const ValueId> xs) {
    depends_.insert(xs.begin(), xs.end());
    mark_all(ancestors(builder_, ys, {bounds.begin(), bounds.end()}));
    for (std::size_t i = 0; i < ys.size(); ++i)
      if (depends_.contains(ys[i])) gradients_[ys[i]] = seeds[i];
    HONE_CHECK(walk());
    std::vector<ValueId> results;
    for (const ValueId x : xs) {
      const auto found = gradients_.find(x);
      results.push_back(found == gradients_.end() ? kNoValue : found->second);
    }
    return results;
  }

 private:
  void mark_all(const std::vector<NodeId>& nodes) {
    for (const NodeId node : nodes)
      if (mark(node)) between_.push_back(node);
  }

  // From the last node back to the first.
  Status walk() {
    const std::size_t before = builder_.nodes().size();
    for (std::size_t i = between_.size(); i-- > 0;) {
      if (Status added = add_node(between_[i]); !added.ok()) {
        if (options_.refused != nullptr) *options_.refused = between_[i];
        return added;
      }
      if (builder_.nodes().size() - before > options_.most_nodes)
        return unsupported(fmt::format("the gradient needs more than {} nodes", options_.most_nodes));
    }
    return {};
  }

  Status check_float(ValueId value) const {
    const TensorType& type = builder_.type(value);
    if (type.dtype != DType::kUndefined && may_have_gradient(type.dtype)) return {};
    return invalid(fmt::format("'{}' is {}: only floating-point values have gradients",
                               builder_.value(value).name, type.text()));
  }

  // Whether any of the xs reaches the node; its outputs then depend on them.
  bool mark(NodeId id) {
    const Node& node = builder_.node(id);
    const bool reached = std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
      return input.valid() && depends_.contains(input);
    });
    if (!reached) return false;
    for (const ValueId output : node.outputs)
      if (output.valid() && may_have_gradient(builder_.type(output).dtype)) depends_.insert(output);
    return true;
  }

  // A context for nodes around the walk: it stands for no node of the graph.
  Result<ValueId> filled(ValueId like, double value) {
    Node none;
    none.name = builder_.value(like).name;
    GradientContext context(builder_, std::move(none), {}, {}, provenance_of(like));
    const ValueId made = context.filled_like(like, value);
    if (!context.status().ok()) return context.status().error();
    return made;
  }

  std::vector<std::string> provenance_of(ValueId value) const {
    const Node* producer = builder_.producer(value);
    std::vector<std::string> names = options_.provenance;
    if (producer != nullptr) names = joined(std::move(names), producer->provenance);
    if (names.empty()) names.push_back(builder_.value(value).name);
    return names;
  }

  Result<ValueId> seed_of(ValueId y) {
    if (!options_.seed.valid()) return filled(y, 1);
    HONE_CHECK(merge_types(builder_.type(y), builder_.type(options_.seed)));
    return options_.seed;
  }

  Status add_node(NodeId id) {
    const Node& node = builder_.node(id);
    std::vector<ValueId> output_gradients;
    bool any = false;
    for (const ValueId output : node.outputs) {
      const auto found = output.valid() ? gradients_.find(output) : gradients_.end();
      output_gradients.push_back(found == gradients_.end() ? kNoValue : found->second);
      any = any || output_gradients.back().valid();
    }
    if (!any) return {};
    const OpEntry* entry = find_entry(node);
    if (entry == nullptr || entry->gradient == nullptr)
      return unsupported(fmt::format("unsupported: the gradient of {}", node.op)).within(label(node));
    std::vector<bool> wanted;
    for (const ValueId input : node.inputs) wanted.push_back(input.valid() && depends_.contains(input));
    GradientContext context(builder_, node, std::move(output_gradients), std::move(wanted),
                            joined(options_.provenance, node.provenance));
    if (Status status = entry->gradient(context); !status.ok()) return status.error().within(label(node));
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      if (context.input_gradients()[i].valid()) contribute(context, node.inputs[i], i);
    if (!context.status().ok()) return context.status().error().within("the gradient of " + label(node));
    return {};
  }

  void contribute(GradientContext& context, ValueId value, std::size_t input) {
    ValueId& sum = gradients_[value];
    const ValueId part = context.input_gradients()[input];
    sum = sum.valid() ? context.plus(sum, part) : part;
  }

  GraphBuilder& builder_;
  const DifferentiateOptions& options_;
  std::vector<NodeId> between_;                     // what lies between xs and ys, in order
  std::unordered_set<ValueId> depends_;             // values that some x reaches
  std::unordered_map<ValueId, ValueId> gradients_;  // so far, of values that the walk has met
};

}  // namespace

Result<std::vector<ValueId>> differentiate(GraphBuilder& builder, ValueId y, std::span<const ValueId> xs,
                                           const DifferentiateOptions& options) {
  return Differentiation(builder, options).run(y, xs);
}

Result<std::vector<ValueId>> differentiate_within(GraphBuilder& builder, std::span<const ValueId> ys,
                                                  std::span<const ValueId> seeds,
                                                  std::span<const ValueId> bounds,
                                                  std::span<const ValueId> xs,
                                                  const DifferentiateOptions& options) {
  return Differentiation(builder, options).run_within(ys, seeds, bounds, xs);
}

Result<ValueId> substitute(GraphBuilder& builder, ValueId value,
                           const std::unordered_map<ValueId, ValueId>& replacements,
                           const DifferentiateOptions& options) {
  std::unordered_map<ValueId, ValueId> now = replacements;
  const std::size_t before = builder.nodes().size();
  for (const NodeId id : ancestors(builder, {&value, 1})) {
    Node node = builder.node(id);
    const bool changed = std::any_of(node.inputs.begin(), node.inputs.end(),
                                     [&](ValueId input) { return input.valid() && now.contains(input); });
    if (!changed) continue;
    for (ValueId& input : node.inputs)
      if (const auto other = now.find(input); input.valid() && other != now.end()) input = other->second;
    std::vector<std::string> names;
    for (const ValueId output : node.outputs)
      names.push_back(output.valid() ? builder.value(output).name + ".again" : "");
    node.name += ".again";
    node.provenance = joined(options.provenance, node.provenance);
    const std::vector<ValueId> old = node.outputs;
    const std::string what = label(node);
    auto made = builder.try_add(std::move(node), names);
    if (!made.ok()) return made.error().within(what);
    for (std::size_t i = 0; i < old.size(); ++i)
      if (old[i].valid()) now.emplace(old[i], (*made)[i]);
    if (builder.nodes().size() - before > options.most_nodes)
      return unsupported(fmt::format("more than {} nodes are computed again", options.most_nodes));
  }
  const auto found = now.find(value);
  return found == now.end() ? value : found->second;
}

}  // namespace hone::graph

#include "passes/simplify_views.h"

#include <algorithm>
#include <numeric>

#include <fmt/core.h>

#include "passes/rewrite.h"

namespace hone::passes {
namespace {

bool same_static_type(const GraphBuilder& builder, ValueId a, ValueId b) {
  return builder.type(a).is_static() && builder.type(a) == builder.type(b);
}

bool is_reshaping(const Node& node) {
  return node.op == "Reshape" || node.op == "Flatten" || node.op == "Squeeze" || node.op == "Unsqueeze";
}

Ints permutation(const GraphBuilder& builder, const Node& node) {
  Ints reversed;
  if (builder.type(node.inputs[0]).has_rank()) {
    reversed.resize(static_cast<std::size_t>(builder.type(node.inputs[0]).rank()));
    std::iota(reversed.rbegin(), reversed.rend(), 0);
  }
  return node.attributes.ints("perm", reversed);
}

// A transpose that moves only extents of 1 past others keeps the order of the bytes: it is a reshape.
bool only_moves_ones(const Shape& shape, const Ints& perm) {
  int64_t last = -1;
  for (int64_t axis : perm) {
    if (shape[static_cast<std::size_t>(axis)] == 1) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

class ViewSimplifier {
 public:
  explicit ViewSimplifier(const graph::Graph& graph) : builder_(graph) {}

  Result<PassOutcome> run() {
    // The list grows meanwhile: new nodes are visited, too.
    for (uint32_t i = 0; i < builder_.nodes().size(); ++i) {
      if (!builder_.erased(NodeId{i})) visit(NodeId{i});
    }
    HONE_ASSIGN(outcome_.graph, std::move(builder_).finish());
    return std::move(outcome_);
  }

 private:
  void visit(NodeId id) {
    const Node node = builder_.node(id);
    if (node.outputs.empty() || !node.has_output(0)) return;
    if (node.op == "Dropout") {
      if (!(node.outputs.size() > 1 && node.has_output(1)) && inference_dropout(node))
        bypass(id, node, "does nothing at inference");
    } else if (node.op == "Identity") {
      if (!builder_.is_output(node.outputs[0])) bypass(id, node, "only renames");
    } else if (changes_nothing(node)) {
      bypass(id, node, "changes nothing");
    } else if (node.op == "Transpose") {
      visit_transpose(id, node);
    } else if (is_reshaping(node)) {
      visit_reshape(id, node);
    }
  }

  bool inference_dropout(const Node& node) const {
    if (node.has_input(2)) {
      const Tensor* training = constant_data(builder_, node.inputs[2]);
      if (training == nullptr || training->int_at(0) != 0) return false;
    }
    return true;
  }

  bool changes_nothing(const Node& node) const {
    static constexpr std::string_view kCandidates[] = {"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Cast",
                                                       "Expand",  "Slice",   "Concat",  "Tile",      "Sum",
                                                       "Max",     "Min",     "Mean"};
    if (std::find(std::begin(kCandidates), std::end(kCandidates), node.op) == std::end(kCandidates))
      return node.op == "Pad" && pads_nothing(node);
    const bool variadic =
        node.op == "Concat" || node.op == "Sum" || node.op == "Max" || node.op == "Min" || node.op == "Mean";
    if (variadic && node.inputs.size() != 1) return false;
    // A slice with negative steps may have the same shape; only what keeps the shape by keeping everything
    // counts.
    if (node.op == "Slice" && node.has_input(4)) {
      const auto steps = int_constant(builder_, node.inputs[4]);
      if (!steps || std::any_of(steps->begin(), steps->end(), [](int64_t s) { return s != 1; })) return false;
    }
    return same_static_type(builder_, node.inputs[0], node.outputs[0]);
  }

  // A pad of the same shape may still move elements (one side cut, the other padded).
  bool pads_nothing(const Node& node) const {
    const auto pads = node.has_input(1) ? int_constant(builder_, node.inputs[1]) : std::nullopt;
    return pads && std::all_of(pads->begin(), pads->end(), [](int64_t p) { return p == 0; });
  }

  void bypass(NodeId id, const Node& node, const char* why) {
    builder_.replacing({id});
    builder_.replace_all_uses(node.outputs[0], node.inputs[0]);
    builder_.replacing({});
    builder_.erase(id);
    outcome_.done.push_back({node.name, fmt::format("{} removed: it {}", node.op, why)});
  }

  void visit_transpose(NodeId id, const Node& node) {
    const Ints perm = permutation(builder_, node);
    if (perm.empty() && builder_.type(node.outputs[0]).rank() != 0) return;
    if (std::is_sorted(perm.begin(), perm.end())) return bypass(id, node, "changes nothing");
    if (const auto before = produced_by(builder_, node.inputs[0], "Transpose")) {
      const Node inner = builder_.node(*before);
      const Ints inner_perm = permutation(builder_, inner);
      Ints joined;
      for (int64_t axis : perm) joined.push_back(inner_perm[static_cast<std::size_t>(axis)]);
      builder_.replacing({*before, id});
      const ValueId result =
          std::is_sorted(joined.begin(), joined.end())
              ? inner.inputs[0]
              : builder_.add("Transpose", {inner.inputs[0]}, {{"perm", joined}}, node.name);
      finish_rewrite(id, node, result, fmt::format("joined with Transpose '{}'", inner.name));
      return;
    }
    const graph::TensorType& type = builder_.type(node.inputs[0]);
    if (type.is_static() && only_moves_ones(type.shape(), perm)) {
      builder_.replacing({id});
      finish_rewrite(id, node, add_reshape(node.inputs[0], builder_.type(node.outputs[0]).shape(), node.name),
                     "Transpose that only moves extents of 1 became a Reshape");
    }
  }

  // Squeeze, Flatten, Unsqueeze and Reshape with known results are all one thing; of a chain only the last
  // counts.
  void visit_reshape(NodeId id, const Node& node) {
    const NodeId before = builder_.value(node.inputs[0]).producer;
    const graph::TensorType& type = builder_.type(node.outputs[0]);
    if (!before.valid() || builder_.erased(before) || !is_reshaping(builder_.node(before)) ||
        !type.is_static())
      return;
    const Node inner = builder_.node(before);
    builder_.replacing({before, id});
    const ValueId source = inner.inputs[0];
    const bool back = builder_.type(source) == type;
    finish_rewrite(id, node, back ? source : add_reshape(source, type.shape(), node.name),
                   fmt::format("joined with {} '{}'", inner.op, inner.name));
  }

  ValueId add_reshape(ValueId value, const Shape& shape, const std::string& name) {
    const ValueId target =
        builder_.constant(name + ".shape", Tensor::i64({static_cast<int64_t>(shape.size())}, shape));
    // A 0 in the target is a real extent of 0 here, never "copy".
    return builder_.add("Reshape", {value, target}, {{"allowzero", int64_t{1}}}, name);
  }

  void finish_rewrite(NodeId id, const Node& node, ValueId result, const std::string& what) {
    builder_.replace_all_uses(node.outputs[0], result);
    builder_.replacing({});
    builder_.erase(id);
    outcome_.done.push_back({node.name, what});
  }

  GraphBuilder builder_;
  PassOutcome outcome_;
};

}  // namespace

Result<PassOutcome> simplify_views(const graph::Graph& graph, const PassContext&) {
  return ViewSimplifier(graph).run();
}

}  // namespace hone::passes

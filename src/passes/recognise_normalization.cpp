#include "passes/recognise_normalization.h"

#include <algorithm>
#include <numeric>

#include <fmt/core.h>

#include "passes/rewrite.h"

namespace hone::passes {
namespace {

// mean(v²) + ε under a root: what both normalisations divide by.
struct RootMeanSquare {
  ValueId value;  // v
  double epsilon = 0;
  int64_t axis = 0;  // the first of the last axes that it averages over; not negative
};

class NormalizationRecogniser {
 public:
  explicit NormalizationRecogniser(const graph::Graph& graph) : builder_(graph) {}

  Result<PassOutcome> run(const graph::Graph& graph) {
    for (uint32_t i = 0; i < graph.nodes().size(); ++i) {
      const NodeId id{i};
      if (!builder_.erased(id)) visit(id);
    }
    HONE_ASSIGN(outcome_.graph, std::move(builder_).finish());
    return std::move(outcome_);
  }

 private:
  // The first of the last axes that a ReduceMean with kept extents averages over.
  std::optional<int64_t> last_axes(const Node& node) const {
    if (node.op != "ReduceMean" || node.attributes.integer("keepdims", 1) != 1) return std::nullopt;
    const graph::TensorType& type = builder_.type(node.inputs[0]);
    if (!type.has_rank() || !node.has_input(1)) return std::nullopt;
    auto axes = int_constant(builder_, node.inputs[1]);
    if (!axes || axes->empty()) return std::nullopt;
    for (int64_t& axis : *axes) axis += axis < 0 ? type.rank() : 0;
    std::sort(axes->begin(), axes->end());
    std::vector<int64_t> wanted(axes->size());
    std::iota(wanted.begin(), wanted.end(), type.rank() - static_cast<int64_t>(axes->size()));
    return *axes == wanted ? std::optional(wanted[0]) : std::nullopt;
  }

  // `value` = v²: v.
  std::optional<ValueId> square_of(ValueId value) const {
    if (const auto mul = produced_by(builder_, value, "Mul")) {
      const Node& node = builder_.node(*mul);
      return node.inputs[0] == node.inputs[1] ? std::optional(node.inputs[0]) : std::nullopt;
    }
    const auto pow = produced_by(builder_, value, "Pow");
    if (!pow || scalar_constant(builder_, builder_.node(*pow).inputs[1]) != 2.0) return std::nullopt;
    return builder_.node(*pow).inputs[0];
  }

  // `value` = sqrt(mean(v²) + ε).
  std::optional<RootMeanSquare> root_of(ValueId value) const {
    std::optional<ValueId> under;
    if (const auto sqrt = produced_by(builder_, value, "Sqrt")) {
      under = builder_.node(*sqrt).inputs[0];
    } else if (const auto pow = produced_by(builder_, value, "Pow")) {
      if (scalar_constant(builder_, builder_.node(*pow).inputs[1]) == 0.5)
        under = builder_.node(*pow).inputs[0];
    }
    return under ? mean_square(*under) : std::nullopt;
  }

  std::optional<RootMeanSquare> mean_square(ValueId value) const {
    const auto add = produced_by(builder_, value, "Add");
    const auto sum = add ? scalar_operand(builder_, builder_.node(*add)) : std::nullopt;
    if (!sum || sum->scalar <= 0) return std::nullopt;
    const auto mean = produced_by(builder_, sum->value, "ReduceMean");
    if (!mean) return std::nullopt;
    const auto axis = last_axes(builder_.node(*mean));
    const auto squared = square_of(builder_.node(*mean).inputs[0]);
    if (!axis || !squared) return std::nullopt;
    return RootMeanSquare{*squared, sum->scalar, *axis};
  }

  // `value` = 1 / sqrt(mean(v²) + ε), as Reciprocal, 1/x or Pow(−0.5).
  std::optional<RootMeanSquare> inverse_root_of(ValueId value) const {
    if (const auto reciprocal = produced_by(builder_, value, "Reciprocal"))
      return root_of(builder_.node(*reciprocal).inputs[0]);
    if (const auto div = produced_by(builder_, value, "Div")) {
      const Node& node = builder_.node(*div);
      if (scalar_constant(builder_, node.inputs[0]) == 1.0) return root_of(node.inputs[1]);
    }
    const auto pow = produced_by(builder_, value, "Pow");
    if (!pow || scalar_constant(builder_, builder_.node(*pow).inputs[1]) != -0.5) return std::nullopt;
    return mean_square(builder_.node(*pow).inputs[0]);
  }

  // `value` = x − mean(x) over the same axes: x.
  std::optional<ValueId> centred(ValueId value, int64_t axis) const {
    const auto sub = produced_by(builder_, value, "Sub");
    if (!sub) return std::nullopt;
    const Node& node = builder_.node(*sub);
    const auto mean = produced_by(builder_, node.inputs[1], "ReduceMean");
    if (!mean || builder_.node(*mean).inputs[0] != node.inputs[0]) return std::nullopt;
    return last_axes(builder_.node(*mean)) == axis ? std::optional(node.inputs[0]) : std::nullopt;
  }

  void visit(NodeId id) {
    const Node node = builder_.node(id);
    if (node.op != "Div" && node.op != "Mul") return;
    std::optional<RootMeanSquare> root;
    ValueId numerator;
    if (node.op == "Div") {
      root = root_of(node.inputs[1]);
      numerator = node.inputs[0];
    } else {
      for (std::size_t i = 0; i < 2 && !root; ++i) {
        root = inverse_root_of(node.inputs[i]);
        numerator = node.inputs[1 - i];
      }
    }
    if (!root) return;
    // Some exporters subtract the mean once for the numerator and once for the square.
    const auto x = centred(root->value, root->axis);
    const bool layer = x && (numerator == root->value || centred(numerator, root->axis) == *x);
    if (!layer && numerator != root->value) return;
    replace(id, layer ? *x : root->value, *root, layer);
  }

  struct Affine {
    std::optional<ValueId> scale;
    std::optional<ValueId> bias;
    NodeId last;
    std::vector<NodeId> nodes;
  };

  // The scale and bias behind the division, where they are operands of the normalised extents' shape.
  Affine absorb_affine(NodeId division, int64_t axis, bool with_bias) const {
    Affine affine{{}, {}, division, {division}};
    const auto take = [&](std::string_view op) -> std::optional<ValueId> {
      const ValueId value = builder_.node(affine.last).outputs[0];
      const auto reader = only_reader(builder_, value);
      if (!reader || builder_.node(*reader).op != op) return std::nullopt;
      const auto operand = other_operand(builder_.node(*reader), value);
      if (!operand || !spans(*operand, value, axis)) return std::nullopt;
      affine.last = *reader;
      affine.nodes.push_back(*reader);
      return operand;
    };
    affine.scale = take("Mul");
    if (with_bias) affine.bias = take("Add");
    return affine;
  }

  // The operand has exactly the extents of `value` from `axis` on (leading extents of 1 left aside).
  bool spans(ValueId operand, ValueId value, int64_t axis) const {
    const graph::TensorType& type = builder_.type(operand);
    const graph::TensorType& whole = builder_.type(value);
    if (!type.is_static() || type.dtype != DType::kF32 || type.rank() > whole.rank()) return false;
    const int64_t count = whole.rank() - axis;
    if (type.rank() < count) return false;
    const Shape shape = type.shape();
    const std::size_t lead = shape.size() - static_cast<std::size_t>(count);
    for (std::size_t i = 0; i < shape.size(); ++i) {
      const int64_t wanted =
          i < lead ? 1 : extent(builder_, value, axis + static_cast<int64_t>(i - lead)).value_or(-1);
      if (shape[i] != wanted) return false;
    }
    return true;
  }

  // The extents from `axis` on; nullopt where one is unknown.
  std::optional<Shape> normalised_shape(ValueId x, int64_t axis) const {
    Shape shape;
    for (int64_t i = axis; i < builder_.type(x).rank(); ++i) {
      const auto known = extent(builder_, x, i);
      if (!known) return std::nullopt;
      shape.push_back(*known);
    }
    return shape;
  }

  void replace(NodeId id, ValueId x, const RootMeanSquare& root, bool layer) {
    const auto shape = normalised_shape(x, root.axis);
    const std::string name = builder_.node(id).name;
    if (!shape || builder_.type(x).dtype != DType::kF32) {
      outcome_.missed.push_back(
          {name, "not recognised as a normalisation: its extents are unknown or it is not f32"});
      return;
    }
    const Affine affine = absorb_affine(id, root.axis, layer);
    const std::vector<NodeId> pattern = pattern_nodes(affine.nodes, x);
    builder_.replacing(pattern);
    std::vector<ValueId> inputs{x, affine.scale ? shaped(*affine.scale, *shape) : ones(name, *shape)};
    if (affine.bias) inputs.push_back(shaped(*affine.bias, *shape));
    const int64_t axis = root.axis - builder_.type(x).rank();
    const std::string what = layer ? "LayerNormalization" : "RMSNormalization";
    const ValueId result =
        builder_.add(what, inputs, {{"axis", axis}, {"epsilon", static_cast<float>(root.epsilon)}}, name);
    builder_.replace_all_uses(builder_.node(affine.last).outputs[0], result);
    builder_.replacing({});
    for (auto it = affine.nodes.rbegin(); it != affine.nodes.rend(); ++it) builder_.erase(*it);
    outcome_.done.push_back({name, fmt::format("{} operators recognised as {}", pattern.size(), what)});
  }

  // Everything between x and the last node, in topological order: what the new node stands for.
  std::vector<NodeId> pattern_nodes(const std::vector<NodeId>& ends, ValueId x) const {
    std::vector<NodeId> nodes(ends.rbegin(), ends.rend());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (nodes[i] != ends.front() && std::find(ends.begin(), ends.end(), nodes[i]) != ends.end()) continue;
      for (ValueId input : builder_.node(nodes[i]).inputs) {
        const NodeId producer = input.valid() && input != x ? builder_.value(input).producer : NodeId{};
        if (producer.valid() && std::find(nodes.begin(), nodes.end(), producer) == nodes.end())
          nodes.push_back(producer);
      }
    }
    std::sort(nodes.begin(), nodes.end(), [](NodeId a, NodeId b) { return a.index < b.index; });
    return nodes;
  }

  ValueId shaped(ValueId value, const Shape& shape) {
    if (builder_.type(value).shape() == shape) return value;
    if (const Tensor* data = constant_data(builder_, value))
      return builder_.constant(builder_.value(value).name, data->reshaped(shape));
    const ValueId target = builder_.constant(builder_.value(value).name + ".shape",
                                             Tensor::i64({static_cast<int64_t>(shape.size())}, shape));
    return builder_.add("Reshape", {value, target});
  }

  ValueId ones(const std::string& name, const Shape& shape) {
    Tensor tensor(DType::kF32, shape);
    std::fill(tensor.as<float>().begin(), tensor.as<float>().end(), 1.0F);
    return builder_.constant(name + ".scale", std::move(tensor));
  }

  GraphBuilder builder_;
  PassOutcome outcome_;
};

}  // namespace

Result<PassOutcome> recognise_normalization(const graph::Graph& graph, const PassContext&) {
  return NormalizationRecogniser(graph).run(graph);
}

}  // namespace hone::passes

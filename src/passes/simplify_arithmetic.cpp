#include "passes/simplify_arithmetic.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include <fmt/core.h>

#include "passes/rewrite.h"

namespace hone::passes {
namespace {

constexpr std::string_view kBroadcasting[] = {"Add",   "Sub",  "Mul",         "Div",     "Pow",
                                              "Max",   "Min",  "Sum",         "Mod",     "Where",
                                              "Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual",
                                              "And",   "Or",   "Xor"};

bool broadcasts(const Node& node) {
  return std::find(std::begin(kBroadcasting), std::end(kBroadcasting), node.op) != std::end(kBroadcasting);
}

// A bound on both sides; infinite where there is none.
struct Bounds {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
};

class ArithmeticSimplifier {
 public:
  explicit ArithmeticSimplifier(const graph::Graph& graph) : builder_(graph) {}

  Result<PassOutcome> run() {
    // The list grows meanwhile: new nodes are visited, too.
    for (uint32_t i = 0; i < builder_.nodes().size(); ++i) {
      const NodeId id{i};
      if (!builder_.erased(id)) visit(id);
    }
    HONE_ASSIGN(outcome_.graph, std::move(builder_).finish());
    return std::move(outcome_);
  }

 private:
  void visit(NodeId id) {
    const Node node = builder_.node(id);
    if (node.outputs.size() != 1 || node.inputs.empty() || !node.inputs[0].valid()) return;
    if (node.op == "Expand") return visit_expand(id, node);
    if (node.op == "Neg") return visit_inverse(id, node);
    if (node.op == "Relu" || node.op == "Clip") return visit_bounds(id, node);
    if (node.op == "Pow") return visit_power(id, node);
    if (node.op != "Add" && node.op != "Sub" && node.op != "Mul" && node.op != "Div") return;
    if (node.inputs.size() != 2 || drop_neutral(id, node) || make_commutative(id, node)) return;
    merge_constants(id, node);
  }

  bool f32(ValueId value) const { return builder_.type(value).dtype == DType::kF32; }

  bool all_equal(ValueId value, double wanted) const {
    const Tensor* data = constant_data(builder_, value);
    if (data == nullptr || data->size() == 0 || data->dtype() == DType::kString) return false;
    for (int64_t i = 0; i < data->size(); ++i) {
      if (data->at(i) != wanted) return false;
    }
    return true;
  }

  // x + 0, x − 0, x · 1, x / 1.
  bool drop_neutral(NodeId id, const Node& node) {
    const double neutral = node.op == "Add" || node.op == "Sub" ? 0 : 1;
    const bool symmetric = node.op == "Add" || node.op == "Mul";
    for (std::size_t i = 0; i < (symmetric ? 2U : 1U); ++i) {
      const ValueId kept = node.inputs[i];
      if (!all_equal(node.inputs[1 - i], neutral) || builder_.type(kept) != builder_.type(node.outputs[0]) ||
          !builder_.type(kept).is_static() || builder_.value(kept).is_constant()) {
        continue;
      }
      replace(id, node, kept, fmt::format("{} with {} removed", node.op, neutral));
      return true;
    }
    return false;
  }

  // x / c becomes x · (1/c), and x − c becomes x + (−c).
  bool make_commutative(NodeId id, const Node& node) {
    const Tensor* data = constant_data(builder_, node.inputs[1]);
    if ((node.op != "Div" && node.op != "Sub") || data == nullptr || !f32(node.inputs[1]) ||
        builder_.value(node.inputs[0]).is_constant())
      return false;
    const bool div = node.op == "Div";
    auto changed = map_constant(*data, [div](float c) { return div ? 1.0F / c : -c; });
    if (!changed) return false;
    builder_.replacing({id});
    const ValueId constant = builder_.constant(
        builder_.value(node.inputs[1]).name + (div ? ".inverse" : ".negative"), std::move(*changed));
    const ValueId result = builder_.add(div ? "Mul" : "Add", {node.inputs[0], constant}, {}, node.name);
    replace(id, node, result,
            div ? "division by a constant became a product" : "subtraction of a constant became an addition");
    return true;
  }

  // The function of every element; nullopt where one is no normal number (a tiny divisor, say).
  template <typename F>
  static std::optional<Tensor> map_constant(const Tensor& data, F function) {
    Tensor result(DType::kF32, data.shape());
    const auto from = data.as<float>();
    auto to = result.as<float>();
    for (std::size_t i = 0; i < from.size(); ++i) {
      to[i] = function(from[i]);
      if (to[i] != 0 && !std::isnormal(to[i])) return std::nullopt;
    }
    return result;
  }

  // (x ∘ c) ∘ d becomes x ∘ (c ∘ d) for + and ·, where one of the constants is a scalar or both have one
  // shape.
  void merge_constants(NodeId id, const Node& node) {
    const bool add = node.op == "Add";
    for (std::size_t i = 0; i < 2; ++i) {
      const Tensor* outer = constant_data(builder_, node.inputs[i]);
      const auto before = produced_by(builder_, node.inputs[1 - i], node.op);
      if (outer == nullptr || !before || !only_reader(builder_, node.inputs[1 - i]) || !f32(node.inputs[i]))
        continue;
      const Node inner = builder_.node(*before);
      for (std::size_t k = 0; k < 2; ++k) {
        const Tensor* other = constant_data(builder_, inner.inputs[k]);
        if (other == nullptr) continue;
        auto merged = combine(*outer, *other, add);
        if (!merged) continue;
        builder_.replacing({*before, id});
        const ValueId constant =
            builder_.constant(builder_.value(node.inputs[i]).name + ".merged", std::move(*merged));
        replace(id, node, builder_.add(node.op, {inner.inputs[1 - k], constant}, {}, node.name),
                fmt::format("constants of {} and '{}' merged", node.op, inner.name));
        return;
      }
    }
  }

  static std::optional<Tensor> combine(const Tensor& a, const Tensor& b, bool add) {
    if (a.size() == 1 && b.size() == 1 && a.rank() > b.rank()) return combine(b, a, add);
    if (b.size() == 1 && a.size() != 1) return combine(b, a, add);
    if (a.shape() != b.shape() && (a.size() != 1 || a.rank() > b.rank())) return std::nullopt;
    const auto from = a.as<float>();
    std::size_t i = 0;
    const bool scalar = a.size() == 1;
    return map_constant(b, [&](float y) {
      const float x = from[scalar ? 0 : i++];
      return add ? x + y : x * y;
    });
  }

  void visit_power(NodeId id, const Node& node) {
    const auto exponent = scalar_constant(builder_, node.inputs[1]);
    const ValueId x = node.inputs[0];
    if (!exponent || !f32(x) || builder_.type(x) != builder_.type(node.outputs[0])) return;
    builder_.replacing({id});
    if (*exponent == 1) {
      replace(id, node, x, "Pow with 1 removed");
    } else if (*exponent == 2) {
      replace(id, node, builder_.add("Mul", {x, x}, {}, node.name), "Pow with 2 became a product");
    } else if (*exponent == 0.5) {
      replace(id, node, builder_.add("Sqrt", {x}, {}, node.name), "Pow with 0.5 became Sqrt");
    } else if (*exponent == -1) {
      replace(id, node, builder_.add("Reciprocal", {x}, {}, node.name), "Pow with -1 became Reciprocal");
    }
    builder_.replacing({});
  }

  void visit_inverse(NodeId id, const Node& node) {
    const auto before = produced_by(builder_, node.inputs[0], "Neg");
    if (before) replace(id, node, builder_.node(*before).inputs[0], "Neg of Neg removed");
  }

  // Relu and Clip with known bounds; nullopt for others.
  std::optional<Bounds> bounds_of(const Node& node) const {
    if (node.op == "Relu") return Bounds{0, std::numeric_limits<double>::infinity()};
    if (node.op != "Clip") return std::nullopt;
    Bounds bounds;
    for (std::size_t i = 1; i < 3; ++i) {
      if (!node.has_input(i)) continue;
      const auto bound = scalar_constant(builder_, node.inputs[i]);
      if (!bound) return std::nullopt;
      (i == 1 ? bounds.low : bounds.high) = *bound;
    }
    return bounds.low <= bounds.high ? std::optional(bounds) : std::nullopt;
  }

  void visit_bounds(NodeId id, const Node& node) {
    const NodeId before = builder_.value(node.inputs[0]).producer;
    if (!f32(node.inputs[0]) || !before.valid() || builder_.erased(before)) return;
    const Node inner = builder_.node(before);
    const auto outer_bounds = bounds_of(node);
    const auto inner_bounds = bounds_of(inner);
    if (!outer_bounds || !inner_bounds) return;
    const auto clamp = [&](double x) { return std::clamp(x, outer_bounds->low, outer_bounds->high); };
    const Bounds both{clamp(inner_bounds->low), clamp(inner_bounds->high)};
    const std::string what = fmt::format("bounds of {} and '{}' merged", node.op, inner.name);
    if (both.low == inner_bounds->low && both.high == inner_bounds->high)
      return replace(id, node, node.inputs[0],
                     fmt::format("{} removed: '{}' bounds more", node.op, inner.name));
    if (!only_reader(builder_, node.inputs[0])) return;  // both would be computed
    builder_.replacing({before, id});
    std::vector<ValueId> inputs{inner.inputs[0], bound(node.name + ".low", both.low),
                                bound(node.name + ".high", both.high)};
    if (!inputs[2].valid()) inputs.pop_back();
    const bool relu = both.low == 0 && inputs.size() == 2;
    if (relu) inputs.resize(1);
    replace(id, node, builder_.add(relu ? "Relu" : "Clip", inputs, {}, node.name), what);
  }

  ValueId bound(const std::string& name, double value) {
    return std::isinf(value) ? graph::kNoValue
                             : builder_.constant(name, Tensor::scalar_f32(static_cast<float>(value)));
  }

  // Each reader whose result has its shape without the Expand reads what the Expand read.
  void visit_expand(NodeId id, const Node& node) {
    const ValueId source = node.inputs[0];
    for (NodeId reader : builder_.users(node.outputs[0])) {
      const Node user = builder_.node(reader);
      if (!broadcasts(user) || !same_without(user, node.outputs[0], source)) continue;
      for (std::size_t i = 0; i < user.inputs.size(); ++i) {
        if (user.inputs[i] == node.outputs[0]) builder_.replace_input(reader, i, source);
      }
      auto& provenance = builder_.mutable_node(reader).provenance;
      provenance.insert(provenance.end(), node.provenance.begin(), node.provenance.end());
      outcome_.done.push_back(
          {node.name, fmt::format("Expand removed: {} '{}' broadcasts", user.op, user.name)});
    }
    if (builder_.users(node.outputs[0]).empty() && !builder_.is_output(node.outputs[0])) builder_.erase(id);
  }

  bool same_without(const Node& user, ValueId expanded, ValueId source) const {
    graph::Dims dims;
    for (ValueId input : user.inputs) {
      const graph::TensorType& type = builder_.type(input == expanded ? source : input);
      if (!type.is_static()) return false;
      auto joined = graph::broadcast_dims(dims, *type.dims);
      if (!joined.ok()) return false;
      dims = std::move(*joined);
    }
    return builder_.type(user.outputs[0]).is_static() && *builder_.type(user.outputs[0]).dims == dims;
  }

  void replace(NodeId id, const Node& node, ValueId result, std::string what) {
    builder_.replacing({id});
    builder_.replace_all_uses(node.outputs[0], result);
    builder_.replacing({});
    builder_.erase(id);
    outcome_.done.push_back({node.name, std::move(what)});
  }

  GraphBuilder builder_;
  PassOutcome outcome_;
};

}  // namespace

Result<PassOutcome> simplify_arithmetic(const graph::Graph& graph, const PassContext&) {
  return ArithmeticSimplifier(graph).run();
}

}  // namespace hone::passes

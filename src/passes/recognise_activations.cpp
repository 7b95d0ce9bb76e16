#include "passes/recognise_activations.h"

#include <cmath>

#include <fmt/core.h>

#include "passes/rewrite.h"

namespace hone::passes {
namespace {

constexpr double kTanhScale = 0.7978845608028654;  // √(2/π)
constexpr double kTanhCubic = 0.044715;
// No activation has more; a chain of thousands would be unrolled anew from each of its members.
constexpr std::size_t kMostProductNodes = 16;

// A product as its factors: Mul and Div nodes unrolled (each read once), scalars multiplied together.
struct Product {
  double scalar = 1;
  std::vector<ValueId> factors;
  std::vector<NodeId> nodes;  // that the product consists of
};

class ActivationRecogniser {
 public:
  explicit ActivationRecogniser(const graph::Graph& graph) : builder_(graph) {}

  Result<PassOutcome> run(const graph::Graph& graph) {
    for (uint32_t i = static_cast<uint32_t>(graph.nodes().size()); i-- > 0;) {
      const NodeId id{i};
      if (builder_.erased(id)) continue;
      const std::string& op = builder_.node(id).op;
      if (op == "Mul" || op == "Div") visit_product(id);
    }
    HONE_ASSIGN(outcome_.graph, std::move(builder_).finish());
    return std::move(outcome_);
  }

 private:
  // Unrolls `value` into `product`; `root` values are unrolled even if others read them.
  void unroll(ValueId value, bool root, Product& product) const {
    if (auto scalar = scalar_constant(builder_, value)) {
      product.scalar *= *scalar;
      return;
    }
    const NodeId producer = builder_.value(value).producer;
    const bool inner = producer.valid() && !builder_.erased(producer) &&
                       product.nodes.size() < kMostProductNodes &&
                       (root || only_reader(builder_, value).has_value());
    if (inner) {
      const Node& node = builder_.node(producer);
      if (node.op == "Mul") {
        product.nodes.push_back(producer);
        unroll(node.inputs[0], false, product);
        unroll(node.inputs[1], false, product);
        return;
      }
      if (node.op == "Div") {
        if (auto divisor = scalar_constant(builder_, node.inputs[1]); divisor && *divisor != 0) {
          product.nodes.push_back(producer);
          product.scalar /= *divisor;
          unroll(node.inputs[0], false, product);
          return;
        }
      }
    }
    product.factors.push_back(value);
  }

  // `value` = x · scalar (or just x): the scalar.
  std::optional<double> multiple_of(ValueId value, ValueId x) const {
    if (value == x) return 1.0;
    Product product;
    unroll(value, true, product);
    if (product.factors.size() == 1 && product.factors[0] == x) return product.scalar;
    return std::nullopt;
  }

  // `value` = 1 + y: y.
  std::optional<ValueId> one_plus(ValueId value) const {
    const auto add = produced_by(builder_, value, "Add");
    if (!add) return std::nullopt;
    const auto operand = scalar_operand(builder_, builder_.node(*add));
    if (!operand || !nearly(operand->scalar, 1)) return std::nullopt;
    return operand->value;
  }

  // x + 0.044715·x³ in either of its forms.
  bool is_tanh_argument(ValueId value, ValueId x) const {
    Product scaled;
    unroll(value, true, scaled);
    if (nearly(scaled.scalar, kTanhScale) && scaled.factors.size() == 1)
      return is_cubic_sum(scaled.factors[0], x);
    // √(2/π)·x·(1 + 0.044715·x²)
    if (!nearly(scaled.scalar, kTanhScale) || scaled.factors.size() != 2) return false;
    for (std::size_t i = 0; i < 2; ++i) {
      if (scaled.factors[i] != x) continue;
      const auto square = one_plus(scaled.factors[1 - i]);
      if (square && is_power_multiple(*square, x, 2)) return true;
    }
    return false;
  }

  bool is_cubic_sum(ValueId value, ValueId x) const {
    const auto add = produced_by(builder_, value, "Add");
    if (!add) return false;
    const auto cubic = other_operand(builder_.node(*add), x);
    return cubic && is_power_multiple(*cubic, x, 3);
  }

  // `value` = 0.044715·x^power, as Pow or as products.
  bool is_power_multiple(ValueId value, ValueId x, int power) const {
    Product product;
    unroll(value, true, product);
    if (!nearly(product.scalar, kTanhCubic)) return false;
    double total = 0;
    for (ValueId factor : product.factors) {
      if (factor == x) {
        total += 1;
        continue;
      }
      const auto pow = produced_by(builder_, factor, "Pow");
      if (!pow || builder_.node(*pow).inputs[0] != x) return false;
      const auto exponent = scalar_constant(builder_, builder_.node(*pow).inputs[1]);
      if (!exponent) return false;
      total += *exponent;
    }
    return nearly(total, power);
  }

  void visit_product(NodeId id) {
    const Node node = builder_.node(id);
    Product product;
    unroll(node.outputs[0], true, product);
    if (product.factors.size() != 2) return;
    for (std::size_t i = 0; i < 2; ++i) {
      const ValueId x = product.factors[i];
      const ValueId gate = product.factors[1 - i];
      if (try_gelu(id, node, product, x, gate) || try_swish(id, node, product, x, gate) ||
          try_hard_swish(id, node, product, x, gate))
        return;
    }
  }

  bool try_gelu(NodeId id, const Node& node, const Product& product, ValueId x, ValueId gate) {
    if (!nearly(product.scalar, 0.5)) return false;
    const auto inner = one_plus(gate);
    if (!inner) return false;
    if (const auto erf = produced_by(builder_, *inner, "Erf")) {
      const auto scale = multiple_of(builder_.node(*erf).inputs[0], x);
      if (!scale || !nearly(*scale, std::sqrt(0.5))) return false;
      replace(id, node, builder_.add("Gelu", {x}, {}, node.name), "the erf form of Gelu");
      return true;
    }
    const auto tanh = produced_by(builder_, *inner, "Tanh");
    if (!tanh || !is_tanh_argument(builder_.node(*tanh).inputs[0], x)) return false;
    replace(id, node, builder_.add("Gelu", {x}, {{"approximate", std::string("tanh")}}, node.name),
            "the tanh form of Gelu");
    return true;
  }

  bool try_swish(NodeId id, const Node& node, const Product& product, ValueId x, ValueId gate) {
    const auto sigmoid = produced_by(builder_, gate, "Sigmoid");
    if (!sigmoid || !nearly(product.scalar, 1) || builder_.node(*sigmoid).inputs[0] != x) return false;
    replace(id, node, builder_.add("Swish", {x}, {}, node.name), "Swish");
    return true;
  }

  bool try_hard_swish(NodeId id, const Node& node, const Product& product, ValueId x, ValueId gate) {
    if (const auto hard = produced_by(builder_, gate, "HardSigmoid")) {
      const Node& sigmoid = builder_.node(*hard);
      const bool fits = nearly(product.scalar, 1) && sigmoid.inputs[0] == x &&
                        nearly(sigmoid.attributes.real("alpha", 0.2F), 1.0 / 6) &&
                        nearly(sigmoid.attributes.real("beta", 0.5F), 0.5);
      if (!fits) return false;
      replace(id, node, builder_.add("HardSwish", {x}, {}, node.name), "HardSwish");
      return true;
    }
    const auto clip = produced_by(builder_, gate, "Clip");
    if (!clip || !nearly(product.scalar, 1.0 / 6)) return false;
    const Node& bounds = builder_.node(*clip);
    if (bounds.inputs.size() < 3 || scalar_constant(builder_, bounds.inputs[1]) != 0.0 ||
        scalar_constant(builder_, bounds.inputs[2]) != 6.0)
      return false;
    const auto add = produced_by(builder_, bounds.inputs[0], "Add");
    if (!add) return false;
    const auto operand = scalar_operand(builder_, builder_.node(*add));
    if (!operand || operand->value != x || !nearly(operand->scalar, 3)) return false;
    replace(id, node, builder_.add("HardSwish", {x}, {}, node.name), "HardSwish");
    return true;
  }

  void replace(NodeId id, const Node& node, ValueId result, const char* what) {
    // The nodes of the pattern stay where others read them; the rest dies with its last reader. The new node
    // stands for all of them.
    auto& made = builder_.mutable_node(builder_.value(result).producer);
    made.provenance = pattern_provenance(node, made.inputs[0]);
    builder_.set_position(builder_.value(result).producer, id);
    builder_.replace_all_uses(node.outputs[0], result);
    builder_.erase(id);
    outcome_.done.push_back({node.name, fmt::format("recognised as {}", what)});
  }

  // The provenance of every node between `from` (exclusive) and `last`.
  std::vector<std::string> pattern_provenance(const Node& last, ValueId from) const {
    std::vector<std::string> names;
    std::vector<const Node*> stack{&last};
    for (std::size_t seen = 0; seen < stack.size() && seen < 16; ++seen) {
      for (const std::string& name : stack[seen]->provenance) {
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
      }
      for (ValueId input : stack[seen]->inputs) {
        const Node* producer = input.valid() && input != from ? builder_.producer(input) : nullptr;
        if (producer != nullptr && is_class(*producer, graph::OpClass::kPointwise)) stack.push_back(producer);
      }
    }
    return names;
  }

  GraphBuilder builder_;
  PassOutcome outcome_;
};

}  // namespace

Result<PassOutcome> recognise_activations(const graph::Graph& graph, const PassContext&) {
  return ActivationRecogniser(graph).run(graph);
}

}  // namespace hone::passes

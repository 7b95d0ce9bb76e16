#include "passes/fuse_bias_gradients.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/core.h>

#include "passes/rewrite.h"

namespace hone::passes {
namespace {

// Whether the node's result is its first input in another shape, the same bytes.
bool only_reshapes(const Node& node) { return is_class(node, graph::OpClass::kView) && graph::is_pure(node); }

// A sum of the rows of what is a matrix in memory.
struct RowSum {
  int64_t rows = 1, columns = 1;
};
std::optional<RowSum> row_sum(const GraphBuilder& builder, const Node& node) {
  if (node.op != "ReduceSum" && node.op != "hone.ReduceSum") return std::nullopt;
  const graph::TensorType& type = builder.type(node.inputs[0]);
  const auto given = node.has_input(1) ? int_constant(builder, node.inputs[1]) : std::nullopt;
  if (!given || given->empty() || !type.is_static() || type.layout != Layout::kPlain) return std::nullopt;
  const Shape shape = type.shape();
  std::vector<bool> reduced(shape.size(), false);
  for (const int64_t axis : *given) {
    const auto normal = normalize_axis(axis, type.rank());
    if (!normal.ok()) return std::nullopt;
    reduced[static_cast<std::size_t>(*normal)] = true;
  }
  RowSum sum;
  bool kept = false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1) continue;  // wherever it stands
    if (reduced[i] && kept) return std::nullopt;
    kept = kept || !reduced[i];
    (reduced[i] ? sum.rows : sum.columns) *= shape[i];
  }
  return sum.rows > 1 && sum.columns > 0 ? std::optional(sum) : std::nullopt;
}

// A MatMul or Gemm, by itself or with the epilogue of its group; null where the node is neither.
const Node* product_of(const Node& node) {
  if (is_group(node, graph::GroupKind::kMatmul)) return &node.bodies[0]->nodes()[0];
  return graph::product_kind(node) == graph::GroupKind::kMatmul ? &node : nullptr;
}

// Which input of `node` its product's operand `i` is; nullopt where the product is in a group that computes it.
std::optional<std::size_t> input_of_operand(const Node& node, std::size_t i) {
  const Node& product = *product_of(node);
  if (&product == &node) return i;
  const std::vector<ValueId>& inputs = node.bodies[0]->inputs();
  const auto at = std::find(inputs.begin(), inputs.end(), product.inputs[i]);
  return at == inputs.end() ? std::nullopt : std::optional(static_cast<std::size_t>(at - inputs.begin()));
}

// A node whose product sums over the same rows, and the input that they are.
struct RowProduct {
  NodeId node;
  std::size_t input = 0;
};

class BiasGradientFuser {
 public:
  BiasGradientFuser(const graph::Graph& graph, const Target& target) : builder_(graph), target_(target) {}

  Result<PassOutcome> run(const graph::Graph& graph) {
    for (uint32_t i = 0; i < graph.nodes().size(); ++i) {
      if (builder_.erased(NodeId{i})) continue;
      const auto sum = row_sum(builder_, builder_.node(NodeId{i}));
      if (sum) HONE_CHECK(visit(NodeId{i}, *sum));
    }
    HONE_ASSIGN(outcome_.graph, std::move(builder_).finish());
    return std::move(outcome_);
  }

 private:
  Status visit(NodeId sum, const RowSum& rows) {
    const Node node = builder_.node(sum);
    for (const RowProduct& found : products_of(node.inputs[0], rows)) {
      const Node product = builder_.node(found.node);
      const auto miss = [&](const char* why) {
        outcome_.missed.push_back(
            {node.name, fmt::format("not summed by {} '{}': {}", product.op, product.name, why)});
      };
      if (depends_on(product, sum)) {
        miss("the product waits for the sum");
        continue;
      }
      HONE_ASSIGN(const bool joined, join(sum, found));
      if (!joined) {
        miss("the target has no kernel for the group");
        continue;
      }
      outcome_.done.push_back({product.name, fmt::format("{} sums the rows of its operand for '{}', too",
                                                         product.op, node.name)});
      return {};
    }
    return {};
  }

  // Those that read what `value` is, in whatever shape, as a matrix of such rows.
  std::vector<RowProduct> products_of(ValueId value, const RowSum& rows) const {
    while (const Node* const node = builder_.producer(value)) {
      if (!only_reshapes(*node)) break;
      value = node->inputs[0];
    }
    std::vector<RowProduct> found;
    std::vector<ValueId> shapes = {value};
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      for (const NodeId user : builder_.users(shapes[i])) {
        const Node& node = builder_.node(user);
        if (only_reshapes(node) && node.inputs[0] == shapes[i] && node.has_output(0))
          shapes.push_back(node.outputs[0]);
        if (product_of(node) == nullptr) continue;
        for (const std::size_t operand : {std::size_t{1}, std::size_t{0}})
          if (sums(node, operand, shapes[i], rows)) found.push_back({user, *input_of_operand(node, operand)});
      }
    }
    return found;
  }

  // Whether the product of `node` sums over the rows of `value`, its operand.
  bool sums(const Node& node, std::size_t operand, ValueId value, const RowSum& rows) const {
    const auto input = input_of_operand(node, operand);
    if (!input || node.inputs[*input] != value || !graph::sums_over_rows(*product_of(node), operand))
      return false;
    const graph::TensorType& type = builder_.type(value);
    const graph::TensorType& result = builder_.type(node.outputs[0]);
    return target_.takes.bias_gradients.holds(type.dtype) && type.is_static() &&
           type.layout == Layout::kPlain && type.shape() == Shape{rows.rows, rows.columns} &&
           result.is_static() && (result.dtype == type.dtype || result.dtype == DType::kF32);
  }

  // Whether `node` reads, through whatever lies between, what `before` computes.
  bool depends_on(const Node& node, NodeId before) const {
    std::vector<const Node*> stack = {&node};
    std::vector<bool> seen(builder_.nodes().size(), false);
    while (!stack.empty()) {
      const Node* const at = stack.back();
      stack.pop_back();
      for (const ValueId input : at->inputs) {
        const NodeId producer = input.valid() ? builder_.value(input).producer : NodeId{};
        if (!producer.valid() || seen[producer.index]) continue;
        if (producer == before) return true;
        seen[producer.index] = true;
        stack.push_back(&builder_.node(producer));
      }
    }
    return false;
  }

  // Puts the group of both where they are; false where the target has no kernel for it.
  Result<bool> join(NodeId sum, const RowProduct& found) {
    const ValueId matrix = builder_.node(found.node).inputs[found.input];
    const Node node = builder_.node(sum);
    const bool of_matrix = node.inputs[0] == matrix && builder_.type(node.outputs[0]).rank() == 1;
    Node rows = node;
    rows.inputs = {matrix, of_matrix ? node.inputs[1] : first_axis()};
    rows.attributes = {{"keepdims", int64_t{0}}};
    rows.outputs.clear();
    HONE_ASSIGN(Group group, group_of(found, rows, node.outputs[0]));
    if (!runs_group(target_, builder_, group)) return false;
    if (!of_matrix) sum = replaced_by(sum, rows);
    group.nodes = {found.node, sum};
    group.results.back() = builder_.node(sum).outputs[0];
    HONE_CHECK(put_group(builder_, std::move(group)));
    return true;
  }

  // The product's node with such a sum behind it, which gives `result`.
  Result<Group> group_of(const RowProduct& found, Node sum, ValueId result) const {
    Group group;
    if (graph::is_group(builder_.node(found.node))) {
      group.node = builder_.node(found.node);
      group.results = std::exchange(group.node.outputs, {});
    } else {
      HONE_ASSIGN(group, make_group(builder_, std::array{found.node}, graph::GroupKind::kBiasGradient));
    }
    group.node.attributes.set("kind", std::string(graph::group_kind_name(graph::GroupKind::kBiasGradient)));
    GraphBuilder body(*group.node.bodies[0]);
    const ValueId matrix = sum.inputs[0], axes = sum.inputs[1];
    const std::vector<ValueId>& inputs = group.node.inputs;
    const auto at = std::find(inputs.begin(), inputs.end(), matrix) - inputs.begin();
    sum.inputs = {body.inputs()[static_cast<std::size_t>(at)],
                  body.input(builder_.value(axes).name, builder_.type(axes))};
    group.node.inputs.push_back(axes);
    const std::array names = {sum.name};
    // Said here: a body does not know the axes.
    const std::array types = {
        graph::tensor_type(builder_.type(result).dtype, Shape{builder_.type(matrix).shape()[1]})};
    HONE_ASSIGN(const std::vector<ValueId> made, body.try_add(std::move(sum), names, types));
    body.output(made[0]);
    HONE_ASSIGN(graph::Graph finished, std::move(body).finish());
    group.node.bodies = {std::make_shared<const graph::Graph>(std::move(finished))};
    group.results.push_back(result);
    return group;
  }

  // `rows`, one of a matrix, in the place of `sum`, with the shape that this has.
  NodeId replaced_by(NodeId sum, const Node& rows) {
    const ValueId result = builder_.node(sum).outputs[0];
    const Shape shape = builder_.type(result).shape();
    builder_.replacing({sum});
    const ValueId columns = builder_.add(rows.op, rows.inputs, rows.attributes, rows.name);
    ValueId shaped = columns;
    if (shape.size() != 1) {
      const ValueId extents = builder_.constant(builder_.unique_name(rows.name + ".extents"),
                                                Tensor::i64({std::ssize(shape)}, shape));
      shaped = builder_.add("Reshape", {columns, extents}, {}, rows.name + ".shape");
    }
    builder_.replacing({});
    builder_.replace_all_uses(result, shaped);
    builder_.erase(sum);
    return builder_.value(columns).producer;
  }

  // The axes of a sum of rows.
  ValueId first_axis() {
    if (!first_axis_.valid())
      first_axis_ =
          builder_.constant(builder_.unique_name("rows.axis"), Tensor::i64({1}, std::array<int64_t, 1>{0}));
    return first_axis_;
  }

  GraphBuilder builder_;
  ValueId first_axis_ = graph::kNoValue;
  const Target& target_;
  PassOutcome outcome_;
};

}  // namespace

Result<PassOutcome> fuse_bias_gradients(const graph::Graph& graph, const PassContext& context) {
  if (context.target.takes.bias_gradients.empty()) return PassOutcome{graph, {}, {}};
  return BiasGradientFuser(graph, context.target).run(graph);
}

}  // namespace hone::passes

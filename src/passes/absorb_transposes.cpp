#include "passes/absorb_transposes.h"

#include "graph/product_math.h"
#include "passes/rewrite.h"

namespace hone::passes {
namespace {

// What `value` is the transposed matrix of, if it is one.
std::optional<ValueId> turned(const GraphBuilder& builder, ValueId value) {
  const auto node = produced_by(builder, value, "Transpose");
  if (!node || builder.type(value).rank() != 2) return std::nullopt;
  return builder.node(*node).inputs[0];
}

class Absorber {
 public:
  explicit Absorber(const graph::Graph& graph) : builder_(graph) {}

  Result<PassOutcome> run() {
    const std::size_t nodes = builder_.nodes().size();
    for (uint32_t i = 0; i < nodes; ++i)
      if (builder_.nodes()[i].op == "MatMul") absorb(NodeId{i});
    HONE_ASSIGN(outcome_.graph, std::move(builder_).finish());
    return std::move(outcome_);
  }

 private:
  void absorb(NodeId id) {
    const Node node = builder_.node(id);
    ValueId a = node.inputs[0], b = node.inputs[1];
    const graph::TensorType result = builder_.type(node.outputs[0]);
    if (!result.is_static() || !builder_.type(a).is_static() || builder_.type(a).rank() < 2 ||
        builder_.type(b).rank() != 2)
      return;
    const auto a_turned = turned(builder_, a), b_turned = turned(builder_, b);
    if (!a_turned && !b_turned) return;
    builder_.replacing({id});
    a = a_turned ? *a_turned : rows_of(a);
    const ValueId product = builder_.add(
        "Gemm", {a, b_turned ? *b_turned : b},
        {{"transA", int64_t{a_turned ? 1 : 0}}, {"transB", int64_t{b_turned ? 1 : 0}}}, node.name);
    if (graph::may_use_tf32(node)) graph::allow_tf32(builder_.mutable_node(builder_.value(product).producer));
    builder_.replace_all_uses(node.outputs[0], reshaped(product, result.shape(), node.name + ".shape"));
    builder_.replacing({});
    builder_.erase(id);
    outcome_.done.push_back({node.name, "reads a transposed matrix as it lies"});
  }

  // All rows of all matrices as one matrix.
  ValueId rows_of(ValueId value) {
    const Shape shape = builder_.type(value).shape();
    return reshaped(value, {element_count(std::span(shape).first(shape.size() - 1)), shape.back()},
                    builder_.value(value).name + ".rows");
  }

  ValueId reshaped(ValueId value, const Shape& shape, const std::string& name) {
    if (builder_.type(value).shape() == shape) return value;
    const ValueId extents =
        builder_.constant(builder_.unique_name(name + ".extents"), Tensor::i64({std::ssize(shape)}, shape));
    return builder_.add("Reshape", {value, extents}, {}, name);
  }

  GraphBuilder builder_;
  PassOutcome outcome_;
};

}  // namespace

Result<PassOutcome> absorb_transposes(const graph::Graph& graph, const PassContext& context) {
  const graph::Capabilities& takes = context.target.takes;
  if (!takes.products.holds(DType::kF16) && !takes.products.holds(DType::kBF16))
    return PassOutcome{graph, {}, {}};
  return Absorber(graph).run();
}

}  // namespace hone::passes

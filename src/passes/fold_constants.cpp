#include "passes/fold_constants.h"

#include <algorithm>

#include <fmt/core.h>

#include "core/units.h"
#include "graph/op_table.h"

namespace hone::passes {
namespace {

using graph::GraphBuilder;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

constexpr double kLargeBytes = 16.0 * 1024 * 1024;
constexpr double kGrowth = 8;

// The value of Shape or Size of a tensor whose shape is known.
std::optional<Tensor> known_shape_result(const GraphBuilder& builder, const Node& node) {
  if (node.op != "Shape" && node.op != "Size") return std::nullopt;
  const graph::TensorType& type = builder.type(node.inputs[0]);
  if (!type.has_rank()) return std::nullopt;
  if (node.op == "Size")
    return type.is_static() ? std::optional(Tensor::scalar_i64(element_count(type.shape()))) : std::nullopt;
  const int64_t rank = type.rank();
  auto clamp = [&](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + rank : i, 0, rank); };
  const int64_t start = clamp(node.attributes.integer("start", 0));
  const int64_t end = clamp(node.attributes.integer("end", rank));
  std::vector<int64_t> extents;
  for (int64_t i = start; i < end; ++i) {
    const graph::Dim& dim = (*type.dims)[static_cast<std::size_t>(i)];
    if (!dim.known()) return std::nullopt;
    extents.push_back(dim.extent());
  }
  return Tensor::i64({static_cast<int64_t>(extents.size())}, extents);
}

bool all_inputs_known(const GraphBuilder& builder, const Node& node) {
  return std::all_of(node.inputs.begin(), node.inputs.end(),
                     [&](ValueId id) { return !id.valid() || builder.value(id).is_constant(); });
}

// What all constants take that the model came with.
double constant_bytes(const graph::Graph& graph) {
  double bytes = 0;
  for (const graph::Value& value : graph.values())
    bytes += value.is_constant() ? static_cast<double>(value.constant->bytes()) : 0;
  return bytes;
}

class ConstantFolder {
 public:
  ConstantFolder(const graph::Graph& graph, const PassContext& context)
      : given_bytes_(constant_bytes(graph)), builder_(graph), context_(context) {}

  Result<PassOutcome> run() {
    // Nodes stand in topological order: one walk folds chains whole.
    for (uint32_t i = 0; i < builder_.nodes().size(); ++i) {
      if (!builder_.erased(NodeId{i})) HONE_CHECK(visit(NodeId{i}));
    }
    HONE_ASSIGN(outcome_.graph, std::move(builder_).finish());
    return std::move(outcome_);
  }

 private:
  Status visit(NodeId id) {
    const Node node = builder_.node(id);  // a copy: folding changes the builder's
    refresh_types(id, node);
    if (auto shape = known_shape_result(builder_, node)) {
      fold(node, {std::move(*shape)});
      return {};
    }
    if (!graph::is_pure(node) || !context_.evaluate || !all_inputs_known(builder_, node)) return {};
    if (node.op == "DequantizeLinear") return {};  // unpack_weights decides whether weights stay quantised
    if (grows_too_much(node)) {
      outcome_.missed.push_back({node.name, fmt::format("not folded: the constant would take {}",
                                                        format_bytes(output_bytes(node)))});
      return {};
    }
    std::vector<Tensor> inputs;
    for (ValueId input : node.inputs)
      inputs.push_back(input.valid() ? *builder_.value(input).constant : Tensor());
    auto outputs = context_.evaluate(node, inputs);
    if (!outputs.ok()) {
      outcome_.missed.push_back({node.name, "not folded: " + outputs.error().message});
      return {};
    }
    fold(node, std::move(*outputs));
    return {};
  }

  double output_bytes(const Node& node) const {
    double bytes = 0;
    for (ValueId id : node.outputs) bytes += id.valid() ? builder_.type(id).bytes() : 0;
    return bytes;
  }

  // A constant made from others may not blow the model up, neither at once nor in a chain of small steps: a
  // constant joined with itself 36 times is 2^36 times as large.
  bool grows_too_much(const Node& node) const {
    double in = 0;
    for (ValueId id : node.inputs) in += id.valid() ? builder_.type(id).bytes() : 0;
    const double out = output_bytes(node);
    return out > kLargeBytes && out > kGrowth * std::min(in, given_bytes_);
  }

  // A folded input may now say what an output's shape is (Reshape to a computed shape).
  void refresh_types(NodeId id, const Node& node) {
    std::vector<const graph::Value*> inputs;
    for (ValueId input : node.inputs) inputs.push_back(input.valid() ? &builder_.value(input) : nullptr);
    auto types = graph::infer_types(node, std::move(inputs));
    if (!types.ok()) return;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const ValueId output = builder_.node(id).outputs[i];
      if (!output.valid()) continue;
      auto merged = graph::merge_types(builder_.type(output), (*types)[i]);
      if (merged.ok()) builder_.set_type(output, std::move(*merged));
    }
  }

  void fold(const Node& node, std::vector<Tensor> results) {
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i].valid()) builder_.set_constant(node.outputs[i], std::move(results[i]));
    }
    outcome_.done.push_back({node.name, fmt::format("{} folded to a constant", node.op)});
  }

  const double given_bytes_;
  GraphBuilder builder_;
  const PassContext& context_;
  PassOutcome outcome_;
};

}  // namespace

Result<PassOutcome> fold_constants(const graph::Graph& graph, const PassContext& context) {
  return ConstantFolder(graph, context).run();
}

}  // namespace hone::passes

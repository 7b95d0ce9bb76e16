#include "passes/widen_half.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include <fmt/core.h>

#include "core/as_f32.h"
#include "core/onnx_dtype.h"
#include "passes/precision_table.h"
#include "passes/rewrite.h"

namespace hone::passes {
namespace {

// Builds the graph anew; values whose type is half are f32 in it, but for those of operators that keep
// theirs.
class Widener {
 public:
  Widener(const graph::Graph& graph, graph::DTypeSet half, const Target& target)
      : graph_(graph), half_(half), target_(target), builder_(graph.name()) {}

  Result<PassOutcome> run() {
    for (ValueId input : graph_.inputs())
      made_[input] = builder_.input(graph_.value(input).name, graph_.type(input));
    for (const Node& node : graph_.nodes()) HONE_CHECK(place(node));
    std::vector<ValueId> outputs;
    for (ValueId output : graph_.outputs()) outputs.push_back(in_type(output, graph_.type(output).dtype));
    builder_.set_outputs(outputs);
    builder_.set_states(graph_.states());
    // The outputs keep their names, also where a Cast now gives them.
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const ValueId output = graph_.outputs()[i];
      if (builder_.value(outputs[i]).name != graph_.value(output).name)
        builder_.swap_names(outputs[i], native(output));
    }
    HONE_ASSIGN(outcome_.graph, std::move(builder_).finish());
    return std::move(outcome_);
  }

 private:
  bool is_half(ValueId value) const { return value.valid() && half_.holds(graph_.type(value).dtype); }

  // The value of the new graph that stands for `value`, of whatever type it has there.
  ValueId native(ValueId value) {
    if (const auto known = made_.find(value); known != made_.end()) return known->second;
    const graph::Value& constant = graph_.value(value);  // everything else was placed before its readers
    return made_[value] = builder_.constant(constant.name, *constant.constant);
  }

  // The same as an element of `type`: as it is, as a constant converted now, or through a Cast.
  ValueId in_type(ValueId value, DType type) {
    const ValueId here = native(value);
    if (builder_.type(here).dtype == type) return here;
    const auto key = std::pair(value, type);
    if (const auto known = converted_.find(key); known != converted_.end()) return known->second;
    const graph::Value& source = graph_.value(value);
    const std::string name = fmt::format("{}.{}", source.name, dtype_name(type));
    if (source.is_constant() && type == DType::kF32)
      return converted_[key] = builder_.constant(name, as_f32(*source.constant));
    const ValueId cast = builder_.add("Cast", {here}, {{"to", int64_t{dtype_to_onnx(type)}}}, name);
    if (source.producer.valid())
      builder_.mutable_node(builder_.value(cast).producer).provenance =
          graph_.node(source.producer).provenance;
    return converted_[key] = cast;
  }

  Status place(const Node& node) {
    const bool touches_half =
        std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId v) { return is_half(v); }) ||
        std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId v) { return is_half(v); });
    if (!touches_half) return keep(node);
    if (gives_half_out(node) || is_converted_product(node)) return keep(node);
    if (drop_cast(node)) return {};
    const Node wide = widened(node);
    if (!gives_wide(wide, node)) return keep(node);
    outcome_.done.push_back({node.name, fmt::format("{} computed in f32", node.op)});
    return emit(node, wide);
  }

  // A product that reads a narrow type on the target, although nothing else does.
  bool is_converted_product(const Node& node) const {
    return precision_row(node).rule == PrecisionRule::kNarrow && is_half(node.inputs[0]) &&
           target_.takes.converted_products.holds(graph_.type(node.inputs[0]).dtype) &&
           runs_alone(target_, graph_, node);
  }

  // The conversion at the graph's end, here already.
  bool gives_half_out(const Node& node) const {
    return node.op == "Cast" && graph_.is_output(node.outputs[0]) && is_half(node.outputs[0]) &&
           graph_.type(node.inputs[0]).dtype == DType::kF32;
  }

  // A change between a half type and f32 is none any more: who reads it reads what was changed.
  bool drop_cast(const Node& node) {
    if ((node.op != "Cast" && node.op != "CastLike") || !node.has_output(0)) return false;
    const DType from = builder_.type(native(node.inputs[0])).dtype;
    const DType to = graph_.type(node.outputs[0]).dtype;
    const bool now_f32 = half_.holds(to) || to == DType::kF32;
    if (!now_f32 || (from != DType::kF32 && !half_.holds(from))) return false;
    if (graph_.is_output(node.outputs[0])) return false;  // a value of its own carries the output's name
    made_[node.outputs[0]] = in_type(node.inputs[0], DType::kF32);
    outcome_.done.push_back({node.name, fmt::format("{} not needed: f32 on both sides", node.op)});
    return true;
  }

  // `node` on f32 inputs, with attributes that name a half type naming f32 instead.
  Node widened(const Node& node) {
    Node wide = node;
    for (ValueId& input : wide.inputs) {
      if (input.valid())
        input = is_half(input) ? in_type(input, DType::kF32) : in_type(input, graph_.type(input).dtype);
    }
    for (const char* name : {"to", "dtype", "output_dtype"}) {
      const auto dtype = dtype_from_onnx(static_cast<int32_t>(node.attributes.integer(name, 0)));
      if (dtype && half_.holds(*dtype)) wide.attributes.set(name, int64_t{dtype_to_onnx(DType::kF32)});
    }
    if (node.op == "ConstantOfShape" && half_.holds(node.attributes.tensor("value").dtype()))
      wide.attributes.set("value", as_f32(node.attributes.tensor("value")));
    return wide;
  }

  // Whether the widened node gives f32 where the node gives a half type, and the same elsewhere. What holds
  // graphs of its own is left as it is.
  bool gives_wide(const Node& wide, const Node& node) const {
    if (!node.bodies.empty()) return false;
    std::vector<const graph::Value*> inputs;
    for (ValueId input : wide.inputs) inputs.push_back(input.valid() ? &builder_.value(input) : nullptr);
    const auto types = graph::infer_types(wide, std::move(inputs));
    if (!types.ok()) return false;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (!node.outputs[i].valid()) continue;
      const graph::TensorType& was = graph_.type(node.outputs[i]);
      const DType wanted = half_.holds(was.dtype) ? DType::kF32 : was.dtype;
      if (was.kind != graph::TypeKind::kTensor || (*types)[i].dtype != wanted) return false;
    }
    return true;
  }

  Status keep(const Node& node) {
    Node copy = node;
    for (ValueId& input : copy.inputs) {
      if (input.valid()) input = in_type(input, graph_.type(input).dtype);
    }
    return emit(node, std::move(copy));
  }

  Status emit(const Node& original, Node node) {
    std::vector<std::string> names;
    std::vector<graph::TensorType> declared;
    const bool wide = gives_wide(node, original);
    for (ValueId output : original.outputs) {
      names.push_back(output.valid() ? graph_.value(output).name : "");
      declared.push_back(output.valid() ? graph_.type(output) : graph::TensorType{});
      if (wide && half_.holds(declared.back().dtype)) declared.back().dtype = DType::kF32;
    }
    HONE_ASSIGN(const std::vector<ValueId> outputs, builder_.try_add(std::move(node), names, declared));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i].valid()) made_[original.outputs[i]] = outputs[i];
    }
    return {};
  }

  const graph::Graph& graph_;
  const graph::DTypeSet half_;
  const Target& target_;
  GraphBuilder builder_;
  std::unordered_map<ValueId, ValueId> made_;
  std::map<std::pair<ValueId, DType>, ValueId> converted_;
  PassOutcome outcome_;
};

}  // namespace

Result<PassOutcome> widen_half(const graph::Graph& graph, const PassContext& context) {
  const graph::DTypeSet& products = context.target.takes.products;
  graph::DTypeSet half;
  for (const DType type : {DType::kF16, DType::kBF16}) {
    if (!products.holds(type)) half.add(type);
  }
  const bool any = std::any_of(graph.values().begin(), graph.values().end(),
                               [&](const graph::Value& value) { return half.holds(value.type.dtype); });
  if (!any || !products.holds(DType::kF32)) return PassOutcome{graph, {}, {}};
  return Widener(graph, half, context.target).run();
}

}  // namespace hone::passes

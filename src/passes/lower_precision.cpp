#include "passes/lower_precision.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include <fmt/core.h>

#include "core/onnx_dtype.h"
#include "graph/training/step_part.h"
#include "passes/precision_table.h"
#include "passes/rewrite.h"

namespace hone::passes {
namespace {

double least_normal_of(DType type) { return std::ldexp(1.0, type == DType::kF16 ? -14 : -126); }

uint16_t bits_of(float value, DType type) {
  return type == DType::kF16 ? f32_to_f16(value) : f32_to_bf16(value);
}

float value_of(uint16_t bits, DType type) {
  return type == DType::kF16 ? f16_to_f32(bits) : bf16_to_f32(bits);
}

bool is_f32(const graph::TensorType& type) {
  return type.kind == graph::TypeKind::kTensor && type.dtype == DType::kF32;
}

// Builds the graph anew, with values in the narrow type where operators give them so.
class Narrower {
 public:
  Narrower(const graph::Graph& graph, const PassContext& context, DType type)
      : graph_(graph), context_(context), type_(type), builder_(graph.name()) {}

  Result<PassOutcome> run() {
    for (const Node& node : graph_.nodes())
      for (const ValueId input : node.inputs)
        if (input.valid())
          if (const auto [at, first] = only_readers_.try_emplace(input, &node); !first) at->second = nullptr;
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
  // The value of the new graph that stands for `value`, of whatever type it has there.
  ValueId native(ValueId value) {
    if (const auto known = made_.find(value); known != made_.end()) return known->second;
    const graph::Value& constant = graph_.value(value);  // everything else was placed before its readers
    return made_[value] = builder_.constant(constant.name, *constant.constant);
  }

  // The same as an element of `type`: as it is, as a constant converted now, or through a Cast. One each, so that no two
  // conversions ever follow each other.
  ValueId in_type(ValueId value, DType type) {
    const ValueId here = native(value);
    if (builder_.type(here).dtype == type) return here;
    const auto key = std::pair(value, type);
    if (const auto known = converted_.find(key); known != converted_.end()) return known->second;
    const graph::Value& source = graph_.value(value);
    const std::string name = fmt::format("{}.{}", source.name, dtype_name(type));
    if (source.is_constant() && type == type_)
      return converted_[key] = builder_.constant(name, narrowed(*source.constant, type));
    if (const auto turned = turned_in(value, type, name)) return converted_[key] = *turned;
    const ValueId cast = builder_.add("Cast", {here}, {{"to", dtype_to_onnx(type)}}, name);
    if (source.producer.valid())
      builder_.mutable_node(builder_.value(cast).producer).provenance =
          graph_.node(source.producer).provenance;
    return converted_[key] = cast;
  }

  // What a Transpose gives is converted before it, which moves half the bytes, and once with whoever reads it as it was. In a
  // training step what a view gives, too: the conversion then stands behind the normalisation whose kernel takes it.
  std::optional<ValueId> turned_in(ValueId value, DType type, const std::string& name) {
    const graph::Value& source = graph_.value(value);
    if (type != type_ || !source.producer.valid()) return std::nullopt;
    const Node& node = graph_.node(source.producer);
    const bool view = is_class(node, graph::OpClass::kView) && is_of_passes(node) && node.outputs.size() == 1;
    if ((node.op != "Transpose" && !view) || !is_f32(graph_.type(node.inputs[0])) ||
        is_narrow(node.inputs[0]))
      return std::nullopt;
    std::vector<ValueId> inputs = {in_type(node.inputs[0], type)};
    for (std::size_t i = 1; i < node.inputs.size(); ++i)
      inputs.push_back(node.has_input(i) ? native(node.inputs[i]) : node.inputs[i]);
    const ValueId turned = builder_.add(node.op, inputs, node.attributes, name);
    builder_.mutable_node(builder_.value(turned).producer).provenance = node.provenance;
    return turned;
  }

  bool is_narrow(ValueId value) {
    return value.valid() && is_f32(graph_.type(value)) && builder_.type(native(value)).dtype == type_;
  }

  // A weight that a training step keeps in the narrow type, in f32: it is read as it lies.
  bool is_kept_narrow(const Node& node) const {
    if (node.op != "Cast" || !is_f32(graph_.type(node.outputs[0])) || graph_.is_output(node.outputs[0]))
      return false;
    const auto& inputs = graph_.inputs();
    const auto state = std::find(inputs.begin(), inputs.end(), node.inputs[0]);
    return state != inputs.end() && graph_.type(*state).dtype == type_ &&
           graph_.state_of_input(static_cast<std::size_t>(state - inputs.begin())) != nullptr;
  }

  Status place(const Node& node) {
    const PrecisionRow row = precision_row(node);
    if (node.op == "Cast" && is_narrow(node.inputs[0])) return convert(node);
    if (is_kept_narrow(node)) {
      made_[node.outputs[0]] = native(node.inputs[0]);
      return {};
    }
    const bool met = std::any_of(node.inputs.begin(), node.inputs.end(),
                                 [&](ValueId input) { return is_narrow(input); }) ||
                     sums_bias_gradient(node, 0);
    const bool takes_f32 = node.has_input(0) && is_f32(graph_.type(node.inputs[0]));
    const bool wanted = row.rule == PrecisionRule::kNarrow ? takes_f32 : met && may_follow(node);
    if (!wanted) return emit(node, false);
    if (row.promotes && adds_to_f32(node)) {
      outcome_.types.push_back(
          {node.name, node.op, DType::kF32, false, "it adds to a tensor of f32, as residual sums do"});
      return emit(node, false);
    }
    const bool led = row.leads != PrecisionRow::kNone && !is_narrow(node.inputs[row.leads]);
    if (const auto reading =
            row.rule == PrecisionRule::kKeeps || led ? reads_narrow(node, row) : std::nullopt) {
      if (gives_floats(node))
        outcome_.types.push_back({node.name, node.op, DType::kF32, false,
                                  fmt::format("it reads {}; {}", dtype_name(type_),
                                              led ? "what it is the gradient of is f32" : row.why)});
      return add(node, *reading, DType::kF32);
    }
    if (led) return emit(node, false);
    const std::string why = row.rule == PrecisionRule::kKeeps ? std::string(row.why) : why_not(node, row);
    // What gives no float numbers (Shape) and asks for none is no loss.
    if (!why.empty() && gives_floats(node))
      outcome_.types.push_back({node.name, node.op, DType::kF32, false, why});
    if (!why.empty() && row.rule != PrecisionRule::kKeeps)
      outcome_.missed.push_back({node.name, fmt::format("{} stays f32: {}", node.op, why)});
    if (!why.empty()) return emit(node, false);
    outcome_.types.push_back({node.name, node.op, type_, true, subnormals(node, row)});
    outcome_.done.push_back({node.name, fmt::format("{} in {}", node.op, dtype_name(type_))});
    return emit(node, true);
  }

  // --- sums that stay f32 in a training step ---

  // Whether a tensor comes in f32 that is no row along the last axis: a bias is its product's, and of its type.
  bool comes_wide(ValueId value) const {
    if (!value.valid() || !is_f32(graph_.type(value)) || graph_.value(value).is_constant()) return false;
    const auto known = made_.find(value);  // what is not placed yet is computed from narrow numbers
    if (known != made_.end() ? builder_.type(known->second).dtype != DType::kF32
                             : graph_.value(value).producer.valid())
      return false;
    const graph::TensorType& type = graph_.type(value);
    return type.is_static() && element_count(type.shape()) > (type.rank() > 0 ? type.shape().back() : 1);
  }

  // A sum of the forward or backward pass to which a tensor of f32 is added, here or in the sum that alone reads this one.
  // Scores that a softmax alone reads are no such sum, whatever is added to them.
  bool adds_to_f32(const Node& node) const {
    if (context_.narrow_residual) return false;
    const Node* sum = &node;
    while (sum != nullptr && precision_row(*sum).promotes && is_of_passes(*sum)) {
      if (feeds_softmax(*sum)) return false;
      if (std::any_of(sum->inputs.begin(), sum->inputs.end(),
                      [&](ValueId input) { return comes_wide(input); }))
        return true;
      sum = only_reader_of(sum->outputs[0]);
    }
    return false;
  }

  static bool is_of_passes(const Node& node) {
    const graph::StepPart part = graph::part_of_step(node);
    return part == graph::StepPart::kForward || part == graph::StepPart::kBackward;
  }

  // What a linear layer's output takes of a residual stream's gradient comes in the product's type, in which autocast sums it
  // for the bias, too.
  bool sums_bias_gradient(const Node& node, std::size_t input) const {
    return node.op == "ReduceSum" && input == 0 && graph::part_of_step(node) == graph::StepPart::kBackward &&
           is_f32(graph_.type(node.inputs[0])) && feeds_product(node.inputs[0]);
  }

  bool feeds_product(ValueId value) const {
    return std::ranges::any_of(graph_.users(value), [&](graph::NodeId id) {
      const Node& user = graph_.node(id);
      if (user.op == "MatMul" || user.op == "Gemm") return context_.target.takes.products.holds(type_);
      return is_class(user, graph::OpClass::kView) && user.outputs.size() == 1 &&
             feeds_product(user.outputs[0]);
    });
  }

  bool feeds_softmax(const Node& sum) const {
    const Node* reader = only_reader_of(sum.outputs[0]);
    return reader != nullptr && reader->op == "Softmax";
  }

  const Node* only_reader_of(ValueId value) const {
    const auto found = only_readers_.find(value);
    return found == only_readers_.end() || graph_.is_output(value) ? nullptr : found->second;
  }

  // A constant that is the same numbers in the narrow type.
  bool is_held(ValueId value) {
    const graph::Value& known = graph_.value(value);
    if (!known.is_constant() || !is_f32(known.type)) return false;
    const Tensor aligned = known.constant->aligned();
    const std::span<const float> numbers = aligned.as<float>();
    return std::all_of(numbers.begin(), numbers.end(),
                       [&](float number) { return value_of(bits_of(number, type_), type_) == number; });
  }

  // The node, or what the row has in its place, reading narrow what comes so: the numbers are those that a conversion would
  // give, and with results of the types that it had (sums in f32, updates, truths, indices) it is the same operator. nullopt where
  // nothing comes so, results would change, or the target has no kernel for that.
  std::optional<Node> reads_narrow(const Node& node, const PrecisionRow& row) {
    const auto reads = [&](std::size_t i) {
      return moves(node, i, row) &&
             (is_narrow(node.inputs[i]) || is_held(node.inputs[i]) || sums_bias_gradient(node, i));
    };
    Node reading = node;
    if (!row.reads.empty()) reading.op = row.reads;
    const auto asked = context_.target.runs ? alone(reading, reads) : std::nullopt;
    if (!asked || !context_.target.runs(*asked, asked->nodes()[0])) return std::nullopt;
    const std::vector<ValueId>& results = asked->nodes()[0].outputs;
    for (std::size_t i = 0; i < node.outputs.size(); ++i)
      if (node.outputs[i].valid() && asked->type(results[i]).dtype != graph_.type(node.outputs[i]).dtype)
        return std::nullopt;
    for (std::size_t i = 0; i < reading.inputs.size(); ++i)
      if (reading.inputs[i].valid())
        reading.inputs[i] = in_type(node.inputs[i], reads(i) ? type_ : graph_.type(node.inputs[i]).dtype);
    return reading;
  }

  // Where products alone read the type, what moves numbers moves half the bytes, and all else computes in f32.
  bool may_follow(const Node& node) const {
    return context_.target.takes.products.holds(type_) || is_class(node, graph::OpClass::kMovement) ||
           is_class(node, graph::OpClass::kView);
  }

  bool gives_floats(const Node& node) const {
    return std::any_of(node.outputs.begin(), node.outputs.end(),
                       [&](ValueId output) { return output.valid() && is_f32(graph_.type(output)); });
  }

  // A conversion of what is narrow by now converts that: through f32 it would be the same number.
  Status convert(const Node& node) {
    const ValueId from = native(node.inputs[0]);
    const DType to = graph_.type(node.outputs[0]).dtype;
    if (builder_.type(from).dtype == to && !graph_.is_output(node.outputs[0])) {
      made_[node.outputs[0]] = from;
      return {};
    }
    Node copy = node;
    copy.inputs[0] = from;
    return add(node, std::move(copy), to);
  }

  bool moves(const Node& node, std::size_t input, const PrecisionRow& row) const {
    return node.has_input(input) && (row.operands >> std::min<std::size_t>(input, 31) & 1) != 0 &&
           is_f32(graph_.type(node.inputs[input]));
  }

  // Why a node that may be narrow is not; empty: it is.
  std::string why_not(const Node& node, const PrecisionRow& row) {
    if (!node.bodies.empty()) return "it holds graphs of its own";
    if (const auto kept = context_.keep_f32.find(node.name); kept != context_.keep_f32.end())
      return kept->second;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (!moves(node, i, row)) continue;
      if (std::string why = why_not_constant(node.inputs[i]); !why.empty()) return why;
    }
    return why_not_target(node, row);
  }

  std::string why_not_constant(ValueId value) {
    const Tensor* data = graph_.value(value).is_constant() ? &*graph_.value(value).constant : nullptr;
    if (data == nullptr) return {};
    const Narrowing& found = narrowing(value, *data);
    const std::string& name = graph_.value(value).name;
    if (found.overflowing > 0)
      return fmt::format("{} of {} numbers of '{}' are beyond {}'s largest, {:g}; the largest is {:.4g}",
                         found.overflowing, data->size(), name, dtype_name(type_), largest_of(type_),
                         found.largest);
    // One number says all that there is: the epsilon that keeps a division from zero must not become zero.
    if (data->size() == 1 && found.vanishing + found.subnormal > 0)
      return fmt::format("'{}', {:.4g}, is too small for {}", name, data->at(0), dtype_name(type_));
    if (found.vanishing > 0 && found.largest < least_normal_of(type_))
      return fmt::format("all numbers of '{}' are too small for {}; the largest is {:.4g}", name,
                         dtype_name(type_), found.largest);
    return {};
  }

  const Narrowing& narrowing(ValueId value, const Tensor& data) {
    const auto [at, fresh] = narrowings_.try_emplace(value);
    if (fresh) at->second = narrowing_of(data, type_);
    return at->second;
  }

  // What a narrowed operator's weights lost; empty for nothing.
  std::string subnormals(const Node& node, const PrecisionRow& row) {
    int64_t subnormal = 0, vanishing = 0, all = 0;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (!moves(node, i, row) || !graph_.value(node.inputs[i]).is_constant()) continue;
      const Tensor& data = *graph_.value(node.inputs[i]).constant;
      const Narrowing& found = narrowing(node.inputs[i], data);
      subnormal += found.subnormal;
      vanishing += found.vanishing;
      all += data.size();
    }
    if (subnormal + vanishing == 0) return {};
    return fmt::format("of {} known numbers, {} are subnormal in {} and {} vanish", all, subnormal,
                       dtype_name(type_), vanishing);
  }

  // Asks the target about the node alone, in the narrow type and as it is.
  std::string why_not_target(const Node& node, const PrecisionRow& row) {
    const auto narrow = alone(node, [&](std::size_t i) { return moves(node, i, row); });
    const bool gives_narrow =
        narrow && std::equal(node.outputs.begin(), node.outputs.end(), narrow->nodes()[0].outputs.begin(),
                             [&](ValueId was, ValueId now) {
                               if (!was.valid() || !now.valid()) return !was.valid();
                               const graph::TensorType& old = graph_.type(was);
                               const DType type = narrow->type(now).dtype;
                               return old.kind == graph::TypeKind::kTensor &&
                                      (type == old.dtype || (old.dtype == DType::kF32 && type == type_));
                             });
    if (!gives_narrow) return fmt::format("it has no form in {}", dtype_name(type_));
    if (!context_.target.runs) return {};
    const bool open = std::any_of(narrow->values().begin(), narrow->values().end(),
                                  [](const graph::Value& value) { return !value.type.is_static(); });
    if (open) return "its extents are open: whether the target has a kernel depends on them";
    if (context_.target.runs(*narrow, narrow->nodes()[0])) return {};
    const bool product = row.rule == PrecisionRule::kNarrow;
    const auto wide = product ? std::nullopt : alone(node, [](std::size_t) { return false; });
    // What has no kernel either way loses none.
    if (wide && !context_.target.runs(*wide, wide->nodes()[0])) return {};
    return fmt::format("the target has no kernel for it in {}", dtype_name(type_));
  }

  // A graph of nothing but `node`, with inputs that `reads` says in the narrow type.
  template <typename Reads>
  std::optional<graph::Graph> alone(const Node& node, const Reads& reads) {
    std::vector<const graph::Value*> inputs;
    std::vector<graph::TensorType> types;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (!node.has_input(i)) {
        inputs.push_back(nullptr);
        types.emplace_back();
        continue;
      }
      const bool narrow = reads(i);
      const graph::Value& source = graph_.value(node.inputs[i]);
      inputs.push_back(narrow && source.is_constant() ? &builder_.value(in_type(node.inputs[i], type_))
                                                      : &source);
      types.push_back(source.type);
      if (narrow) types.back().dtype = type_;
    }
    std::vector<std::string> names;
    for (ValueId output : node.outputs) names.push_back(output.valid() ? graph_.value(output).name : "");
    auto graph = graph_of_one(node, inputs, types, names);
    if (!graph.ok() || graph->nodes().empty()) return std::nullopt;
    return *std::move(graph);
  }

  Status emit(const Node& node, bool narrow) {
    const PrecisionRow row = precision_row(node);
    Node copy = node;
    for (std::size_t i = 0; i < copy.inputs.size(); ++i) {
      if (!copy.inputs[i].valid()) continue;
      const bool moved = narrow && moves(node, i, row);
      // Shape and Size ask nothing of the numbers.
      const bool any = !narrow && is_class(node, graph::OpClass::kShape) && i == 0;
      copy.inputs[i] = moved ? in_type(node.inputs[i], type_)
                       : any ? native(node.inputs[i])
                             : in_type(node.inputs[i], graph_.type(node.inputs[i]).dtype);
    }
    return add(node, std::move(copy), narrow ? type_ : DType::kF32);
  }

  // `node` with inputs of the new graph; where it gave f32 it gives `floats` now, if its inputs' type is its results'.
  Status add(const Node& original, Node node, DType floats) {
    std::vector<std::string> names;
    std::vector<graph::TensorType> declared;
    std::vector<const graph::Value*> inputs;
    for (ValueId input : node.inputs) inputs.push_back(input.valid() ? &builder_.value(input) : nullptr);
    const auto inferred = graph::infer_types(node, std::move(inputs));
    for (std::size_t i = 0; i < original.outputs.size(); ++i) {
      const ValueId output = original.outputs[i];
      names.push_back(output.valid() ? graph_.value(output).name : "");
      declared.push_back(output.valid() ? graph_.type(output) : graph::TensorType{});
      if (is_f32(declared.back()) && floats != DType::kF32 && inferred.ok())
        declared.back().dtype = (*inferred)[i].dtype;
    }
    HONE_ASSIGN(const std::vector<ValueId> outputs, builder_.try_add(std::move(node), names, declared));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i].valid()) made_[original.outputs[i]] = outputs[i];
    }
    return {};
  }

  const graph::Graph& graph_;
  const PassContext& context_;
  const DType type_;
  GraphBuilder builder_;
  std::unordered_map<ValueId, const Node*> only_readers_;  // null: there are several
  std::unordered_map<ValueId, ValueId> made_;
  std::map<std::pair<ValueId, DType>, ValueId> converted_;
  std::unordered_map<ValueId, Narrowing> narrowings_;
  PassOutcome outcome_;
};

Result<PassOutcome> lower_precision(const graph::Graph& graph, const PassContext& context, DType type) {
  const auto product = std::find_if(graph.nodes().begin(), graph.nodes().end(), [&](const Node& node) {
    return precision_row(node).rule == PrecisionRule::kNarrow && node.has_input(0) &&
           is_f32(graph.type(node.inputs[0]));
  });
  if (product == graph.nodes().end()) return PassOutcome{graph, {}, {}};
  const graph::Capabilities& takes = context.target.takes;
  if (!takes.products.holds(type) && !takes.converted_products.holds(type)) {
    const std::string why =
        fmt::format("the target's products take no {}: nothing would be faster", dtype_name(type));
    return PassOutcome{graph, {}, {{product->name, fmt::format("{} stays f32: {}", product->op, why)}}};
  }
  Narrower narrower(graph, context, type);
  HONE_ASSIGN(PassOutcome outcome, narrower.run());
  if (!outcome.changed()) outcome.graph = graph;
  return outcome;
}

}  // namespace

double largest_of(DType type) {
  return type == DType::kF16 ? 65504 : std::ldexp(2.0 - std::ldexp(1.0, -7), 127);
}

Tensor narrowed(const Tensor& numbers, DType type) {
  Tensor narrow(type, numbers.shape());
  const Tensor aligned = numbers.aligned();
  const std::span<const float> from = aligned.as<float>();
  const std::span<uint16_t> to = narrow.as<uint16_t>();
  for (std::size_t i = 0; i < from.size(); ++i) to[i] = bits_of(from[i], type);
  return narrow;
}

Narrowing narrowing_of(const Tensor& numbers, DType type) {
  Narrowing found;
  const double least = least_normal_of(type);
  const Tensor aligned = numbers.aligned();
  for (const float number : aligned.as<float>()) {
    const double size = std::abs(double{number});
    if (!std::isfinite(size)) continue;
    found.largest = std::max(found.largest, size);
    const float kept = value_of(bits_of(number, type), type);
    if (std::isinf(kept)) ++found.overflowing;
    if (size > 0 && kept == 0) ++found.vanishing;
    if (kept != 0 && size < least && kept != number) ++found.subnormal;
  }
  return found;
}

Result<PassOutcome> lower_to_f16(const graph::Graph& graph, const PassContext& context) {
  return lower_precision(graph, context, DType::kF16);
}

Result<PassOutcome> lower_to_bf16(const graph::Graph& graph, const PassContext& context) {
  return lower_precision(graph, context, DType::kBF16);
}

}  // namespace hone::passes

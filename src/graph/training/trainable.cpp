#include "graph/training/trainable.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include <fmt/core.h>

#include "graph/builder.h"
#include "graph/training/optimizer.h"

namespace hone::graph {
namespace {

bool is_statistic_place(const Node& node, std::size_t input) {
  return node.op == "BatchNormalization" && (input == 3 || input == 4);
}

// Inputs that say how an operator works, not what it computes with.
bool is_setting_place(const Node& node, std::size_t input) {
  if (node.op == "Resize" || node.op == "Upsample" || node.op == "Pad" || node.op == "Clip" ||
      node.op == "OneHot" || node.op == "Dropout" || node.op == "Range" || node.op == "TopK" ||
      node.op == "RotaryEmbedding" || node.op == "RoiAlign" || node.op == "MaxRoiPool")
    return input > 0;
  return node.op == "ConstantOfShape" || node.op.starts_with("Quantize") || node.op.starts_with("Dequantize");
}

// "encoder/Constant_3": what exporters call numbers that stood in the code.
bool is_exporters_constant(const std::string& name) {
  const std::size_t slash = name.find_last_of("/.");
  return name.compare(slash == std::string::npos ? 0 : slash + 1, 8, "Constant") == 0;
}

// Where a weight of a single element may stand; elsewhere such a constant is a number of the formula.
bool is_weight_place(const Node& node, std::size_t input) {
  static const std::set<std::string, std::less<>> kOps = {"Conv",
                                                          "ConvTranspose",
                                                          "Gemm",
                                                          "MatMul",
                                                          "BatchNormalization",
                                                          "LayerNormalization",
                                                          "GroupNormalization",
                                                          "InstanceNormalization",
                                                          "RMSNormalization",
                                                          "PRelu",
                                                          "Gather"};
  return kOps.contains(node.op) && (input > 0 || node.op == "Gather" || node.op == "MatMul");
}

// Operators that only give their first input another shape.
bool is_view_of(const Node& node, std::size_t input) {
  static const std::set<std::string, std::less<>> kOps = {"Unsqueeze", "Squeeze", "Reshape",
                                                          "Flatten",   "Expand",  "Transpose"};
  return kOps.contains(node.op) && input == 0;
}

bool is_real(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16 || dtype == DType::kF64;
}

// Exporters keep equal constants once, and those of layers that have not been trained yet are often equal. Where the
// exporter left an Identity for each that it merged, that is a weight of its own again, under its own name.
void give_identities_constants(GraphBuilder& builder) {
  for (uint32_t n = 0; n < builder.nodes().size(); ++n) {
    const Node& node = builder.nodes()[n];
    if (node.op != "Identity" || builder.is_output(node.outputs[0])) continue;
    const Value& value = builder.value(node.inputs[0]);
    if (!value.is_constant() || !is_real(value.type.dtype)) continue;
    builder.set_constant(node.outputs[0], *value.constant);
  }
}

// Where it left nothing: no two batch normalizations share what is trained or counted in each.
void give_batch_norms_constants(GraphBuilder& builder) {
  std::set<uint32_t> taken;
  for (uint32_t n = 0; n < builder.nodes().size(); ++n) {
    const Node& node = builder.nodes()[n];
    if (node.op != "BatchNormalization") continue;
    for (std::size_t i = 1; i < node.inputs.size(); ++i) {
      const Value& value = builder.value(node.inputs[i]);
      if (!value.is_constant() || taken.insert(node.inputs[i].index).second) continue;
      builder.replace_input(NodeId{n}, i,
                            builder.constant(fmt::format("{}.{}", node.name, value.name), *value.constant));
    }
  }
}

ValueId flag(GraphBuilder& builder, const char* name, bool value) {
  Tensor tensor(DType::kBool, Shape{});
  tensor.as<bool>()[0] = value;
  return builder.constant(name, std::move(tensor));
}

// A model that was exported for training, as if it had been for inference: the base of both forms.
Status end_training(GraphBuilder& builder, NodeId id) {
  const Node& node = builder.node(id);
  if (node.op == "Dropout" && node.has_input(2))
    builder.replace_input(id, 2, flag(builder, "dropout.rests", false));
  if (node.op != "BatchNormalization" || node.attributes.integer("training_mode", 0) == 0) return {};
  for (std::size_t i = 1; i < node.outputs.size(); ++i)
    if (node.has_output(i) && (!builder.users(node.outputs[i]).empty() || builder.is_output(node.outputs[i])))
      return unsupported(
          fmt::format("unsupported: node '{}' (BatchNormalization) gives its running statistics to others; "
                      "export the model for inference",
                      node.name));
  builder.mutable_node(id).outputs.resize(1);
  builder.mutable_node(id).attributes.set("training_mode", int64_t{0});
  return {};
}

Result<Graph> base_of(const Graph& model) {
  GraphBuilder builder(model);
  give_identities_constants(builder);
  give_batch_norms_constants(builder);
  const std::size_t count = builder.nodes().size();
  for (uint32_t n = 0; n < count; ++n) HONE_CHECK(end_training(builder, NodeId{n}));
  return std::move(builder).finish(true);
}

struct Roles {
  std::vector<ValueId> parameters;
  std::vector<ValueId> statistics;
};

class RoleFinder {
 public:
  RoleFinder(const Graph& model, const TrainableOptions& options) : model_(model), options_(options) {}

  Result<Roles> find() {
    for (const Node& node : model_.nodes())
      for (std::size_t i = 0; i < node.inputs.size(); ++i)
        if (node.has_input(i)) HONE_CHECK(look_at(node, i));
    for (const std::string& pattern : options_.freeze)
      if (!used_patterns_.contains(pattern))
        return invalid(fmt::format("freeze: no weight's name matches '{}'", pattern));
    if (roles_.parameters.empty()) return invalid("the model has no weights to train");
    return std::move(roles_);
  }

  bool frozen(const std::string& name) {
    bool any = false;
    for (const std::string& pattern : options_.freeze) {
      if (!matches_pattern(pattern, name)) continue;
      used_patterns_.insert(pattern);
      any = true;
    }
    return any;
  }

 private:
  Status look_at(const Node& node, std::size_t i) {
    const Value& value = model_.value(node.inputs[i]);
    if (!value.is_constant() || !is_real(value.type.dtype)) return {};
    if (is_statistic_place(node, i)) {
      const std::string& scale = model_.value(node.inputs[1]).name;
      if (!frozen(scale) && seen_.insert(node.inputs[i].index).second)
        roles_.statistics.push_back(node.inputs[i]);
      return {};
    }
    if (is_setting_place(node, i) || is_exporters_constant(value.name)) {
      (void)frozen(value.name);  // a pattern for what stays anyway is none misspelt
      return {};
    }
    if (value.constant->size() <= 1 && !leads_to_weight_place(node, i)) return {};
    if (frozen(value.name) || !seen_.insert(node.inputs[i].index).second) return {};
    if (value.type.dtype != DType::kF32)
      return unsupported(fmt::format(
          "unsupported: training weights of {}; '{}' is {}. Export the model in f32, or freeze it",
          dtype_name(value.type.dtype), value.name, value.type.text()));
    roles_.parameters.push_back(node.inputs[i]);
    return {};
  }

  // At once, or behind views: exporters unsqueeze the slope of a PRelu.
  bool leads_to_weight_place(const Node& node, std::size_t i) const {
    std::vector<std::pair<const Node*, std::size_t>> places = {{&node, i}};
    while (!places.empty()) {
      const auto [reader, input] = places.back();
      places.pop_back();
      if (is_weight_place(*reader, input)) return true;
      if (!is_view_of(*reader, input)) continue;
      for (const NodeId user : model_.users(reader->outputs[0]))
        for (std::size_t k = 0; k < model_.node(user).inputs.size(); ++k)
          if (model_.node(user).inputs[k] == reader->outputs[0]) places.emplace_back(&model_.node(user), k);
    }
    return false;
  }

  const Graph& model_;
  const TrainableOptions& options_;
  Roles roles_;
  std::set<uint32_t> seen_;
  std::set<std::string> used_patterns_;
};

// Constants become inputs of the same names. What was the constant's id is the key.
std::unordered_map<ValueId, ValueId> make_inputs_of(GraphBuilder& builder, const Roles& roles) {
  std::unordered_map<ValueId, ValueId> inputs;
  for (const std::vector<ValueId>* list : {&roles.parameters, &roles.statistics}) {
    for (const ValueId constant : *list) {
      const ValueId input = builder.input(builder.value(constant).name, builder.type(constant));
      builder.swap_names(constant, input);
      builder.replace_all_uses(constant, input);
      inputs[constant] = input;
    }
  }
  return inputs;
}

void train_batch_norm(GraphBuilder& builder, NodeId id) {
  const Node node = builder.node(id);
  Attributes attributes = node.attributes;
  attributes.set("training_mode", int64_t{1});
  builder.replacing({id});
  const auto outputs =
      builder.add_many("BatchNormalization", node.inputs, 3, attributes, node.name + ".training");
  builder.replacing(std::span<const NodeId>());
  builder.replace_all_uses(node.outputs[0], outputs[0]);
  builder.erase(id);
  builder.next_value(node.inputs[3], outputs[1]);
  builder.next_value(node.inputs[4], outputs[2]);
}

void train_dropout(GraphBuilder& builder, NodeId id) {
  const ValueId trains = flag(builder, "dropout.trains", true);
  if (builder.node(id).inputs.size() < 2)
    builder.append_input(id, builder.constant("dropout.ratio", Tensor::scalar_f32(0.5F)));
  if (builder.node(id).inputs.size() < 3)
    builder.append_input(id, trains);
  else
    builder.replace_input(id, 2, trains);
}

Result<Graph> training_form(const Graph& base, const Roles& roles) {
  GraphBuilder builder(base);
  const auto inputs = make_inputs_of(builder, roles);
  const std::set<ValueId> trained_statistics = [&] {
    std::set<ValueId> set;
    for (const ValueId constant : roles.statistics) set.insert(inputs.at(constant));
    return set;
  }();
  const std::size_t count = builder.nodes().size();
  for (uint32_t i = 0; i < count; ++i) {
    const Node& node = builder.node(NodeId{i});
    if (node.op == "BatchNormalization" && trained_statistics.contains(node.inputs[3]) &&
        trained_statistics.contains(node.inputs[4]))
      train_batch_norm(builder, NodeId{i});
    else if (node.op == "Dropout")
      train_dropout(builder, NodeId{i});
  }
  return std::move(builder).finish();
}

Result<Graph> inference_form(const Graph& base, const Roles& roles) {
  GraphBuilder builder(base);
  make_inputs_of(builder, roles);
  return std::move(builder).finish();
}

std::vector<NamedTensor> named(const Graph& base, const std::vector<ValueId>& ids) {
  std::vector<NamedTensor> list;
  for (const ValueId id : ids) list.push_back({base.value(id).name, *base.value(id).constant});
  return list;
}

}  // namespace

Result<TrainableModel> make_trainable(const Graph& model, const TrainableOptions& options) {
  HONE_ASSIGN(Graph base, base_of(model));
  HONE_ASSIGN(const Roles roles, RoleFinder(base, options).find());
  TrainableModel made;
  HONE_ASSIGN(made.training, training_form(base, roles));
  HONE_ASSIGN(made.inference, inference_form(base, roles));
  made.parameters = named(base, roles.parameters);
  made.statistics = named(base, roles.statistics);
  made.base = std::move(base);
  return made;
}

Result<Graph> with_constants(const Graph& base, const std::map<std::string, Tensor>& values) {
  GraphBuilder builder(base);
  std::size_t found = 0;
  for (uint32_t i = 0; i < base.values().size(); ++i) {
    const auto value = values.find(base.values()[i].name);
    if (value == values.end()) continue;
    if (!base.values()[i].is_constant() || base.values()[i].constant->shape() != value->second.shape())
      return invalid(fmt::format("'{}' is no constant of that shape in the model", value->first));
    builder.set_constant(ValueId{i}, value->second);
    ++found;
  }
  if (found != values.size()) return invalid("the model lacks some of the trained weights");
  return std::move(builder).finish(true);
}

}  // namespace hone::graph

#include "runtime/shaped_plans.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "graph/buffer_assignment.h"
#include "graph/builder.h"
#include "graph/op_table.h"
#include "graph/specialise.h"
#include "runtime/interpreter.h"

namespace hone::runtime {
namespace {

constexpr std::size_t kMostShapes = 16;
// A reference kernel takes some nanoseconds an element, and making a plan some hundred microseconds.
constexpr int64_t kWorthAPlan = int64_t{1} << 15;  // elements that are read
// What shapes can depend on: a target shape, axes, repeats. Larger integer tensors are data.
constexpr int64_t kMostSteering = 64;

bool may_steer(const Tensor& tensor) {
  return (tensor.dtype() == DType::kI64 || tensor.dtype() == DType::kI32) && tensor.size() <= kMostSteering;
}

// Shapes and element types of the inputs, and what is in those that shapes may depend on.
std::string key_of(std::span<const Tensor> inputs) {
  std::string key;
  for (const Tensor& tensor : inputs) {
    if (!tensor.defined()) {
      key += "-;";
      continue;
    }
    key += fmt::format("{}{}", dtype_name(tensor.dtype()), shape_text(tensor.shape()));
    if (may_steer(tensor))
      for (const int64_t value : tensor.to_ints()) key += fmt::format(" {}", value);
    key += ';';
  }
  return key;
}

bool worth_a_plan(std::span<const Tensor> inputs) {
  return std::any_of(inputs.begin(), inputs.end(), [](const Tensor& tensor) {
    return tensor.defined() && tensor.dtype() != DType::kString && tensor.size() >= kWorthAPlan;
  });
}

bool all_known(const graph::Graph& graph) {
  return std::all_of(graph.values().begin(), graph.values().end(),
                     [](const graph::Value& value) { return graph::has_place(value.type); });
}

}  // namespace

Result<std::unique_ptr<ShapedPlans>> ShapedPlans::make(const graph::Graph& graph, const graph::Node& node,
                                                       const Provider& provider) {
  std::unique_ptr<ShapedPlans> plans(new ShapedPlans(node, provider));
  graph::GraphBuilder builder(node.name);
  graph::Node copy = node;
  std::vector<std::pair<graph::ValueId, graph::ValueId>> known;  // of the graph, of the builder
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (!node.inputs[i].valid()) continue;
    const auto same = std::find_if(known.begin(), known.end(),
                                   [&](const auto& pair) { return pair.first == node.inputs[i]; });
    if (same != known.end()) {
      copy.inputs[i] = same->second;
      continue;
    }
    const graph::Value& value = graph.value(node.inputs[i]);
    if (value.is_constant()) {
      copy.inputs[i] = builder.constant(value.name, *value.constant);
    } else {
      graph::TensorType type = value.type;
      type.device = DeviceId();  // a plan takes its inputs to where it runs
      copy.inputs[i] = builder.input(value.name, std::move(type));
      plans->given_.push_back(i);
    }
    known.emplace_back(node.inputs[i], copy.inputs[i]);
  }
  std::vector<std::string> names;
  for (graph::ValueId output : node.outputs)
    names.push_back(output.valid() ? graph.value(output).name : std::string());
  HONE_ASSIGN(const std::vector<graph::ValueId> outputs, builder.try_add(std::move(copy), names));
  for (graph::ValueId output : outputs) {
    if (output.valid()) builder.output(output);
  }
  HONE_ASSIGN(graph::Graph alone, std::move(builder).finish());
  plans->alone_ = std::make_unique<graph::Graph>(std::move(alone));
  return plans;
}

std::unique_ptr<Plan> ShapedPlans::compile(std::span<const Tensor> inputs) const {
  std::vector<graph::InputFact> facts;
  for (const std::size_t input : given_) {
    const Tensor& tensor = inputs[input];
    graph::InputFact& fact = facts.emplace_back();
    if (may_steer(tensor)) {
      fact.constant = tensor.clone();
    } else {
      fact.type = graph::tensor_type(tensor.dtype(), tensor.shape());
    }
  }
  auto special = graph::specialise(*alone_, facts);
  if (!special.ok() || !all_known(*special)) return nullptr;
  PlanOptions options;
  options.autotune = false;
  options.overlap = Overlap::kNever;
  options.marks = false;
  auto plan = Plan::compile(std::move(*special), provider_, options);
  return plan.ok() ? std::move(*plan) : nullptr;
}

const ShapedPlans::Shaped& ShapedPlans::shaped_for(std::span<const Tensor> inputs) {
  const std::string key = key_of(inputs);
  const auto found =
      std::find_if(shaped_.begin(), shaped_.end(), [&](const Shaped& shaped) { return shaped.key == key; });
  if (found != shaped_.end()) {
    shaped_.splice(shaped_.begin(), shaped_, found);
    return shaped_.front();
  }
  if (shaped_.size() == kMostShapes) shaped_.pop_back();
  shaped_.push_front({key, compile(inputs)});
  return shaped_.front();
}

Result<std::vector<Tensor>> ShapedPlans::run(std::span<const Tensor> inputs) {
  if (!worth_a_plan(inputs)) return interpret_node(node_, inputs);
  const Shaped& shaped = shaped_for(inputs);
  if (shaped.plan == nullptr) return interpret_node(node_, inputs);
  std::vector<Tensor> given;
  for (const std::size_t input : given_) {
    if (!may_steer(inputs[input])) given.push_back(inputs[input]);
  }
  HONE_ASSIGN(std::vector<Tensor> results, shaped.plan->run(given));
  std::vector<Tensor> outputs(node_.outputs.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (node_.outputs[i].valid()) outputs[i] = std::move(results[next++]);
  }
  return outputs;
}

}  // namespace hone::runtime

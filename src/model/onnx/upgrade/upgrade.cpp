#include "model/onnx/upgrade/upgrade.h"

#include <algorithm>
#include <map>
#include <optional>
#include <span>

#include <fmt/core.h>

namespace hone::model::onnx {
namespace {

using graph::kNoValue;
using graph::ValueId;

// Steps by operator, oldest first.
using StepTable = std::map<std::string_view, std::vector<UpgradeStep>>;

const StepTable& steps() {
  static const StepTable table = [] {
    StepTable t;
    for (const auto* family :
         {&input_steps(), &broadcast_steps(), &normalization_steps(), &resize_steps(), &attribute_steps()})
      for (const UpgradeStep& step : *family) t[step.op].push_back(step);
    for (auto& [op, list] : t)
      std::stable_sort(list.begin(), list.end(),
                       [](const auto& a, const auto& b) { return a.since < b.since; });
    return t;
  }();
  return table;
}

// The oldest step of the node's operator that is newer than `done`; null if there is none.
const UpgradeStep* next_step(const std::string& op, int64_t done) {
  const auto found = steps().find(op);
  if (found == steps().end()) return nullptr;
  const auto step = std::find_if(found->second.begin(), found->second.end(),
                                 [&](const UpgradeStep& s) { return s.since > done; });
  return step == found->second.end() ? nullptr : &*step;
}

// The scalar in an element type that operators with real attributes took.
std::optional<Tensor> real_scalar(DType dtype, float value) {
  const auto scalar = [dtype](auto element) {
    return Tensor::of(dtype, {}, std::span<const decltype(element)>(&element, 1));
  };
  switch (dtype) {
    case DType::kF32:
      return scalar(value);
    case DType::kF64:
      return scalar(static_cast<double>(value));
    case DType::kF16:
      return scalar(f32_to_f16(value));
    case DType::kBF16:
      return scalar(f32_to_bf16(value));
    case DType::kI32:
      return scalar(static_cast<int32_t>(value));
    case DType::kI64:
      return scalar(static_cast<int64_t>(value));
    default:
      return std::nullopt;
  }
}

}  // namespace

const graph::TensorType& Upgrade::type(std::size_t input) const {
  static const graph::TensorType kUndefined;
  return has_input(input) ? builder_.type(node.inputs[input]) : kUndefined;
}

const Tensor* Upgrade::constant(std::size_t input) const {
  if (!has_input(input)) return nullptr;
  const graph::Value& value = builder_.value(node.inputs[input]);
  return value.is_constant() ? &*value.constant : nullptr;
}

std::string Upgrade::part_name(std::string_view role) const { return fmt::format("{}.{}", node.name, role); }

ValueId Upgrade::add_constant(std::string_view role, Tensor data) {
  return builder_.constant(part_name(role), std::move(data));
}

ValueId Upgrade::ints(std::string_view role, const Ints& values) {
  return add_constant(role, Tensor::i64({static_cast<int64_t>(values.size())}, values));
}

void Upgrade::set_input(std::size_t input, ValueId value) {
  if (node.inputs.size() <= input) node.inputs.resize(input + 1, kNoValue);
  node.inputs[input] = value;
}

void Upgrade::ints_to_input(const std::string& attribute, std::size_t input) {
  const Ints values = attributes().ints(attribute);
  attributes().erase(attribute);
  if (!values.empty()) set_input(input, ints(attribute, values));
}

Status Upgrade::real_to_input(const std::string& attribute, std::size_t input) {
  if (!attributes().has(attribute)) return {};
  const float value = attributes().real(attribute, 0);
  attributes().erase(attribute);
  const auto scalar = real_scalar(type(0).dtype, value);
  if (!scalar)
    return unsupported(fmt::format("unsupported: {} of {} in its opset {} form", node.op,
                                   dtype_name(type(0).dtype), opset_));
  set_input(input, add_constant(attribute, *scalar));
  return {};
}

Result<ValueId> Upgrade::emit(std::string op, std::vector<ValueId> inputs, Attributes given) {
  graph::Node before;
  before.name = part_name(op);
  before.op = std::move(op);
  before.attributes = std::move(given);
  before.inputs = std::move(inputs);
  before.provenance = node.provenance;
  const std::vector<std::string> names{before.name + ".out"};
  HONE_ASSIGN(const std::vector<ValueId> outputs, builder_.try_add(std::move(before), names));
  return outputs[0];
}

void Upgrade::then(std::size_t output, std::string op, Attributes given) {
  after_.push_back({output, std::move(op), std::move(given)});
}

Result<std::vector<ValueId>> Upgrade::finish() {
  std::vector<std::string> names = output_names;
  for (const After& after : after_) names[after.output] = part_name(fmt::format("raw{}", after.output));
  const std::string name = node.name;
  const std::vector<std::string> provenance = node.provenance;
  HONE_ASSIGN(std::vector<ValueId> outputs, builder_.try_add(std::move(node), names));
  for (After& after : after_) {
    graph::Node last;
    last.name = fmt::format("{}.{}", name, after.op);
    last.op = std::move(after.op);
    last.attributes = std::move(after.attributes);
    last.inputs = {outputs[after.output]};
    last.provenance = provenance;
    const std::vector<std::string> last_names{output_names[after.output]};
    HONE_ASSIGN(const std::vector<ValueId> made, builder_.try_add(std::move(last), last_names));
    outputs[after.output] = made[0];
  }
  return outputs;
}

bool has_upgrade(std::string_view op) { return steps().contains(op); }

Status upgrade_node(Upgrade& upgrade) {
  if (upgrade.opset() < 9) upgrade.attributes().erase("consumed_inputs");  // in-place hints of IR version 1
  int64_t done = upgrade.opset();
  while (const UpgradeStep* step = next_step(upgrade.node.op, done)) {
    done = step->since;
    HONE_CHECK(step->adapt(upgrade));
  }
  return {};
}

}  // namespace hone::model::onnx

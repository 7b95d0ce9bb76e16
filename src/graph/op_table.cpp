#include "graph/op_table.h"

#include <algorithm>
#include <array>
#include <stdexcept>

#include <fmt/core.h>

#include "graph/custom_operator.h"
#include "graph/gradients/context.h"

namespace hone::graph {

std::string_view op_class_name(OpClass op_class) {
  switch (op_class) {
    case OpClass::kPointwise:
      return "pointwise";
    case OpClass::kReduction:
      return "reduction";
    case OpClass::kNormalization:
      return "normalization";
    case OpClass::kMatrix:
      return "matrix";
    case OpClass::kConvolution:
      return "convolution";
    case OpClass::kPooling:
      return "pooling";
    case OpClass::kMovement:
      return "movement";
    case OpClass::kView:
      return "view";
    case OpClass::kShape:
      return "shape";
    case OpClass::kControl:
      return "control";
    case OpClass::kRandom:
      return "random";
    case OpClass::kOptimizer:
      return "optimizer";
    case OpClass::kGroup:
      return "group";
    case OpClass::kOther:
      return "other";
  }
  return "other";
}

InferContext::InferContext(const Node& node, std::vector<const Value*> inputs)
    : node_(node), inputs_(std::move(inputs)), outputs_(node.outputs.size()) {}

const TensorType& InferContext::input(std::size_t i) const {
  static const TensorType kUndefinedType;
  return has_input(i) ? inputs_[i]->type : kUndefinedType;
}

const Tensor* InferContext::constant(std::size_t i) const {
  return has_input(i) && inputs_[i]->is_constant() ? &*inputs_[i]->constant : nullptr;
}

std::optional<std::vector<int64_t>> InferContext::ints(std::size_t i) const {
  const Tensor* tensor = constant(i);
  if (tensor == nullptr || tensor->rank() > 1 ||
      !(is_integer(tensor->dtype()) || tensor->dtype() == DType::kBool)) {
    return std::nullopt;
  }
  return tensor->to_ints();
}

void InferContext::set_output(std::size_t i, TensorType type) {
  if (i < outputs_.size()) outputs_[i] = std::move(type);
}

void OpTable::add(OpEntry entry) {
  if (entry.infer == nullptr)
    throw std::logic_error(fmt::format("operator {} has no type inference", entry.name));
  auto at = std::lower_bound(entries_.begin(), entries_.end(), entry.name,
                             [](const auto& e, std::string_view name) { return e->name < name; });
  if (at != entries_.end() && (*at)->name == entry.name) {
    throw std::logic_error(fmt::format("two table entries for operator {}", entry.name));
  }
  entries_.insert(at, std::make_unique<OpEntry>(std::move(entry)));
}

void OpTable::set_gradient(std::string_view name, GradientFunction rule) {
  auto entry = std::find_if(entries_.begin(), entries_.end(), [&](const auto& e) { return e->name == name; });
  if (entry == entries_.end() || (*entry)->gradient != nullptr)
    throw std::logic_error(fmt::format("operator {} is not there, or has a gradient rule already", name));
  (*entry)->gradient = rule;
}

const OpEntry* OpTable::find(std::string_view name) const {
  auto at = std::lower_bound(entries_.begin(), entries_.end(), name,
                             [](const auto& e, std::string_view wanted) { return e->name < wanted; });
  return at != entries_.end() && (*at)->name == name ? at->get() : nullptr;
}

std::vector<const OpEntry*> OpTable::entries() const {
  std::vector<const OpEntry*> entries;
  for (const auto& entry : entries_) entries.push_back(entry.get());
  return entries;
}

const OpTable& op_table() {
  static const OpTable table = [] {
    OpTable t;
    add_pointwise_ops(t);
    add_reduction_ops(t);
    add_movement_ops(t);
    add_shape_ops(t);
    add_matrix_ops(t);
    add_convolution_ops(t);
    add_normalization_ops(t);
    add_recurrent_ops(t);
    add_vision_ops(t);
    add_signal_ops(t);
    add_random_ops(t);
    add_loss_ops(t);
    add_string_ops(t);
    add_control_ops(t);
    add_optimizer_ops(t);
    add_hone_ops(t);
    add_gradients(t);
    return t;
  }();
  return table;
}

const OpEntry* find_entry(const Node& node) {
  return node.custom != nullptr ? &node.custom->entry : op_table().find(node.op);
}

namespace {

bool matches(const Attribute& attribute, AttributeKind kind) {
  switch (kind) {
    case AttributeKind::kInt:
      return std::holds_alternative<int64_t>(attribute);
    case AttributeKind::kFloat:
      return std::holds_alternative<float>(attribute);
    case AttributeKind::kString:
      return std::holds_alternative<std::string>(attribute);
    case AttributeKind::kInts:
      return std::holds_alternative<Ints>(attribute);
    case AttributeKind::kFloats:
      return std::holds_alternative<Floats>(attribute);
    case AttributeKind::kStrings:
      return std::holds_alternative<Strings>(attribute);
    case AttributeKind::kTensor:
      return std::holds_alternative<Tensor>(attribute);
    case AttributeKind::kGraph:
      return false;  // sub-graphs are Node::bodies
  }
  return false;
}

// The alternatives of Attribute stand in the order of the enumeration.
std::string_view kind_text(AttributeKind kind) {
  constexpr std::array<std::string_view, 8> kTexts = {"an int", "a float", "a string", "ints",
                                                      "floats", "strings", "a tensor", "a graph"};
  return kTexts[static_cast<std::size_t>(kind)];
}

std::string range_text(int low, int high) {
  if (high < 0) return fmt::format("at least {}", low);
  return low == high ? std::to_string(low) : fmt::format("{} to {}", low, high);
}

Status check_arity(const OpEntry& entry, const Node& node) {
  const int inputs = static_cast<int>(node.inputs.size());
  const int outputs = static_cast<int>(node.outputs.size());
  if (inputs < entry.min_inputs || (entry.max_inputs >= 0 && inputs > entry.max_inputs)) {
    return invalid(
        fmt::format("has {} inputs, but takes {}", inputs, range_text(entry.min_inputs, entry.max_inputs)));
  }
  if (outputs < entry.min_outputs || (entry.max_outputs >= 0 && outputs > entry.max_outputs)) {
    return invalid(fmt::format("has {} outputs, but gives {}", outputs,
                               range_text(entry.min_outputs, entry.max_outputs)));
  }
  return {};
}

Status check_attributes(const OpEntry& entry, const Node& node) {
  for (const auto& [name, attribute] : node.attributes) {
    auto spec = std::find_if(entry.attributes.begin(), entry.attributes.end(),
                             [&, n = std::string_view(name)](const AttributeSpec& s) { return s.name == n; });
    if (spec == entry.attributes.end()) {
      return invalid(fmt::format("attribute '{}' is not one of {}; remove it", name, entry.name));
    }
    if (!matches(attribute, spec->kind))
      return invalid(fmt::format("attribute '{}' has the wrong type: {}, where {} takes {}", name,
                                 kind_text(static_cast<AttributeKind>(attribute.index())), entry.name,
                                 kind_text(spec->kind)));
  }
  for (const AttributeSpec& spec : entry.attributes) {
    if (spec.required && spec.kind != AttributeKind::kGraph && !node.attributes.has(spec.name)) {
      return invalid(fmt::format("attribute '{}' is missing", spec.name));
    }
  }
  return {};
}

double default_flops(const OpEntry& entry, const CostContext& context) {
  if (entry.op_class != OpClass::kPointwise) return 0;
  double elements = 0;
  for (std::size_t i = 0; i < context.outputs.size(); ++i) {
    if (context.outputs[i] != nullptr) elements += static_cast<double>(element_count(context.out(i).shape()));
  }
  return elements;
}

void default_bytes(const CostContext& context, Cost& cost) {
  std::vector<const Value*> seen;  // an input used twice is read once
  for (const Value* input : context.inputs) {
    if (input == nullptr || std::find(seen.begin(), seen.end(), input) != seen.end()) continue;
    seen.push_back(input);
    cost.bytes_read += input->type.bytes();
  }
  for (const Value* output : context.outputs) {
    if (output != nullptr) cost.bytes_written += output->type.bytes();
  }
}

}  // namespace

static Status check_present(const OpEntry& entry, const std::vector<const Value*>& inputs) {
  const std::size_t needed =
      entry.max_inputs < 0 ? inputs.size() : static_cast<std::size_t>(entry.min_inputs);
  for (std::size_t i = 0; i < needed; ++i) {
    const bool may_be_absent = i < 32 && (entry.may_be_absent >> i & 1) != 0;
    if (inputs[i] == nullptr && !may_be_absent)
      return invalid(fmt::format("input {} is required, but absent", i));
  }
  return {};
}

static LayoutRule layout_rule(const OpEntry& entry) {
  return entry.op_class == OpClass::kPointwise ? LayoutRule::kKept : entry.layouts;
}

static Status check_layouts(const OpEntry& entry, const InferContext& context) {
  if (layout_rule(entry) != LayoutRule::kPlain) return {};
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    const Layout layout = context.input(i).layout;
    if (layout != Layout::kPlain)
      return invalid(fmt::format("input {} has layout {}, but {} reads plain tensors: add a hone.Reorder", i,
                                 layout_name(layout), entry.name));
  }
  return {};
}

// Where all inputs of a node lie. Constants lie wherever they are read.
static Result<DeviceId> common_device(const InferContext& context) {
  std::optional<std::size_t> first;
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    if (!context.has_input(i) || context.constant(i) != nullptr) continue;
    if (!first) first = i;
    if (context.input(i).device == context.input(*first).device) continue;
    return invalid(fmt::format("input {} lies on {}, input {} on {}: add a hone.CopyTo", *first,
                               context.input(*first).device.text(), i, context.input(i).device.text()));
  }
  return first ? context.input(*first).device : DeviceId();
}

Result<std::vector<TensorType>> infer_types(const Node& node, std::vector<const Value*> inputs) {
  const OpEntry* entry = find_entry(node);
  if (entry == nullptr) return unsupported(fmt::format("unsupported: {}", node.op));
  HONE_CHECK(check_arity(*entry, node));
  HONE_CHECK(check_attributes(*entry, node));
  HONE_CHECK(check_present(*entry, inputs));
  InferContext context(node, std::move(inputs));
  HONE_CHECK(check_layouts(*entry, context));
  HONE_CHECK(entry->infer(context));
  if (!entry->crosses_devices) {
    HONE_ASSIGN(const DeviceId device, common_device(context));
    context.place_outputs(device);
  }
  // Sizes out of a model's constants (ConstantOfShape, Pad, Resize) may be of any magnitude.
  for (const TensorType& type : context.outputs()) {
    if (!type.is_static()) continue;
    auto count = checked_element_count(type.shape());
    if (!count.ok()) return invalid("its output's " + count.error().message);
  }
  return context.outputs();
}

bool is_pure(const Node& node) {
  const OpEntry* entry = find_entry(node);
  if (entry == nullptr || !entry->pure) return false;
  return std::all_of(node.bodies.begin(), node.bodies.end(), [](const auto& body) {
    return std::all_of(body->nodes().begin(), body->nodes().end(), is_pure);
  });
}

bool keeps_layout(const Node& node) {
  const OpEntry* entry = find_entry(node);
  return entry != nullptr && layout_rule(*entry) == LayoutRule::kKept;
}

bool reads_layouts(const Node& node) {
  const OpEntry* entry = find_entry(node);
  return entry != nullptr && layout_rule(*entry) == LayoutRule::kReads;
}

Cost node_cost(const Graph& graph, const Node& node) {
  Cost cost;
  const OpEntry* entry = find_entry(node);
  if (entry == nullptr) return cost;
  CostContext context{node, {}, {}};
  for (ValueId id : node.inputs) {
    context.inputs.push_back(id.valid() ? &graph.value(id) : nullptr);
    if (id.valid() && !graph.type(id).is_static()) return cost;
  }
  for (ValueId id : node.outputs) {
    context.outputs.push_back(id.valid() ? &graph.value(id) : nullptr);
    if (id.valid() && !graph.type(id).is_static()) return cost;
  }
  cost.flops = entry->flops != nullptr ? entry->flops(context) : default_flops(*entry, context);
  cost.least_flops = cost.flops;
  if (entry->least_flops != nullptr) cost.least_flops = std::min(cost.flops, entry->least_flops(context));
  if (entry->op_class == OpClass::kView) return cost;  // no bytes move
  if (entry->bytes != nullptr) {
    entry->bytes(context, cost);
  } else {
    default_bytes(context, cost);
  }
  return cost;
}

}  // namespace hone::graph

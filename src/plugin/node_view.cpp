#include "plugin/node_view.h"

#include <algorithm>

#include <fmt/core.h>

#include "core/onnx_dtype.h"

namespace hone::plugin {
namespace {

constexpr int64_t kFirstSymbol = -2;  // of open extents; the next ones count down

}  // namespace

NodeView::NodeView(const graph::Node& node) : node_(node) {
  for (const auto& [name, attribute] : node_.attributes) add_attribute(name, attribute);
  const graph::CustomOperator& operator_ = custom();
  c_.name = node_.name.c_str();
  c_.domain = operator_.domain.c_str();
  c_.op = operator_.op.c_str();
  c_.since_version = static_cast<int32_t>(operator_.since_version);
  refresh();
}

void NodeView::refresh() {
  c_.input_count = inputs_.size();
  c_.inputs = inputs_.data();
  c_.output_count = node_.outputs.size();
  c_.outputs = outputs_.data();
  c_.attribute_count = attributes_.size();
  c_.attributes = attributes_.data();
}

void NodeView::add_input(const graph::TensorType* type, const Tensor* data) {
  inputs_.push_back(nullptr);
  if (type != nullptr) {
    fill(slots_.emplace_back(), *type, data);
    inputs_.back() = &slots_.back().tensor;
  }
  refresh();
}

void NodeView::add_output(const graph::TensorType* type) {
  outputs_.push_back(nullptr);
  if (type != nullptr) {
    fill(slots_.emplace_back(), *type, nullptr);
    outputs_.back() = &slots_.back().tensor;
  }
  refresh();
}

void NodeView::add_all(const graph::Graph& graph) {
  for (const graph::ValueId id : node_.inputs) {
    const graph::Value* const value = id.valid() ? &graph.value(id) : nullptr;
    add_input(value != nullptr ? &value->type : nullptr,
              value != nullptr && value->is_constant() ? &*value->constant : nullptr);
  }
  for (const graph::ValueId id : node_.outputs) add_output(id.valid() ? &graph.type(id) : nullptr);
}

void NodeView::fill(Slot& slot, const graph::TensorType& type, const Tensor* data) {
  slot.tensor.dtype = static_cast<int32_t>(dtype_to_onnx(type.dtype));
  slot.tensor.rank = type.has_rank() ? static_cast<int32_t>(type.rank()) : -1;
  if (type.has_rank())
    for (const graph::Dim& dim : *type.dims) slot.shape.push_back(extent_of(dim));
  slot.tensor.shape = slot.shape.data();
  slot.tensor.data = data != nullptr ? const_cast<void*>(data->data()) : nullptr;
}

int64_t NodeView::extent_of(const graph::Dim& dim) {
  if (dim.known()) return dim.extent();
  if (!dim.symbolic()) return -1;
  const auto at = std::find(symbols_.begin(), symbols_.end(), dim.name());
  const int64_t number = at - symbols_.begin();
  if (at == symbols_.end()) symbols_.push_back(dim.name());
  return kFirstSymbol - number;
}

Result<graph::Dim> NodeView::dim(int64_t extent) const {
  if (extent >= 0) return graph::Dim(extent);
  if (extent == -1) return graph::Dim();
  const auto number = static_cast<uint64_t>(kFirstSymbol - extent);
  if (number >= symbols_.size())
    return invalid(fmt::format("extent {} is negative, and no open extent of an input", extent));
  return graph::Dim::symbol(symbols_[number]);
}

void NodeView::add_attribute(const std::string& name, const Attribute& attribute) {
  hone_attribute c = {};
  c.name = name.c_str();
  const auto list = [&](const auto& values, int32_t kind) {
    c.kind = kind;
    c.count = values.size();
    return values.data();
  };
  if (const auto* integer = std::get_if<int64_t>(&attribute)) {
    c.kind = HONE_ATTRIBUTE_INT;
    c.integer = *integer;
  } else if (const auto* real = std::get_if<float>(&attribute)) {
    c.kind = HONE_ATTRIBUTE_FLOAT;
    c.real = *real;
  } else if (const auto* text = std::get_if<std::string>(&attribute)) {
    c.kind = HONE_ATTRIBUTE_STRING;
    c.string = text->c_str();
  } else if (const auto* integers = std::get_if<Ints>(&attribute)) {
    c.integers = list(*integers, HONE_ATTRIBUTE_INTS);
  } else if (const auto* reals = std::get_if<Floats>(&attribute)) {
    c.reals = list(*reals, HONE_ATTRIBUTE_FLOATS);
  } else if (const auto* texts = std::get_if<Strings>(&attribute)) {
    std::vector<const char*>& pointers = strings_.emplace_back();
    for (const std::string& one : *texts) pointers.push_back(one.c_str());
    c.strings = list(pointers, HONE_ATTRIBUTE_STRINGS);
  } else if (const auto* tensor = std::get_if<Tensor>(&attribute)) {
    const graph::TensorType type = graph::tensor_type(tensor->dtype(), tensor->shape());
    fill(slots_.emplace_back(), type, tensor);
    c.kind = HONE_ATTRIBUTE_TENSOR;
    c.tensor = &slots_.back().tensor;
  }
  attributes_.push_back(c);
}

std::string plugin_text(const graph::CustomOperator& custom) { return "plugin " + custom.plugin; }

}  // namespace hone::plugin

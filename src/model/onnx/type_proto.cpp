#include "model/onnx/type_proto.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "core/onnx_dtype.h"
#include "model/onnx/tensor_proto.h"

namespace hone::model::onnx {
namespace {

std::string_view kind_name(TypeProto::Kind kind) {
  switch (kind) {
    case TypeProto::Kind::kSequence:
      return "sequence";
    case TypeProto::Kind::kMap:
      return "map";
    case TypeProto::Kind::kOptional:
      return "optional";
    case TypeProto::Kind::kSparseTensor:
      return "sparse tensor";
    case TypeProto::Kind::kOpaque:
      return "opaque";
    default:
      return "unknown";
  }
}

// Exporters of old wrote -1 for an extent that they did not know; any other negative number is an error.
Result<graph::Dim> make_dim(const DimProto& proto) {
  if (!proto.value) return proto.param.empty() ? graph::Dim() : graph::Dim::symbol(std::string(proto.param));
  if (*proto.value == -1) return graph::Dim();
  if (*proto.value < 0) return corrupt(fmt::format("extent {} is negative", *proto.value));
  return graph::Dim(*proto.value);
}

Result<graph::TensorType> make_type(const TypeProto& proto) {
  if (proto.kind == TypeProto::Kind::kNone) return graph::TensorType();
  if (proto.kind != TypeProto::Kind::kTensor)
    return unsupported(fmt::format("unsupported: values of {} type", kind_name(proto.kind)));
  graph::TensorType type;
  type.dtype = dtype_from_onnx(proto.elem_type).value_or(DType::kUndefined);
  if (type.dtype == DType::kUndefined && proto.elem_type != 0)
    return corrupt(fmt::format("element type {} does not exist", proto.elem_type));
  if (!proto.dims) return type;
  type.dims.emplace();
  Shape known;
  for (const DimProto& dim_proto : *proto.dims) {
    HONE_ASSIGN(const graph::Dim dim, make_dim(dim_proto));
    if (dim.known()) known.push_back(dim.extent());
    type.dims->push_back(dim);
  }
  HONE_CHECK(checked_element_count(known));
  return type;
}

Error within_input(const Error& error, std::string_view name) {
  return error.within("input " + in_quotes(name));
}

// Matches the shape that the user gave for an input with the declared one; its symbols become bound.
Status match_shape(const graph::TensorType& type, const Shape& shape,
                   std::map<std::string, int64_t, std::less<>>& symbols) {
  if (!type.has_rank()) return {};
  if (type.rank() != static_cast<int64_t>(shape.size()))
    return invalid(fmt::format("shape {} does not fit {}: the rank differs", shape_text(shape), type.text()));
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const graph::Dim& dim = (*type.dims)[i];
    bool fits = !dim.known() || dim.extent() == shape[i];
    if (dim.symbolic()) fits = symbols.emplace(dim.name(), shape[i]).first->second == shape[i];
    if (!fits)
      return invalid(fmt::format("shape {} does not fit {} at axis {}", shape_text(shape), type.text(), i));
  }
  return {};
}

std::string list(const std::set<std::string>& names) {
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

Result<SymbolBindings> SymbolBindings::make(const std::vector<const ValueInfoProto*>& inputs,
                                            const ReadOptions& options) {
  SymbolBindings bindings;
  bindings.symbols_.insert(options.symbols.begin(), options.symbols.end());
  bindings.input_shapes_.insert(options.input_shapes.begin(), options.input_shapes.end());
  bindings.default_symbol_ = options.default_symbol;

  std::set<std::string> input_names;
  std::set<std::string> symbols;
  for (const ValueInfoProto* input : inputs) {
    input_names.emplace(input->name);
    auto type = make_type(input->type);
    if (!type.ok()) return within_input(type.error(), input->name);
    if (!type->has_rank()) continue;
    for (const graph::Dim& dim : *type->dims)
      if (dim.symbolic()) symbols.insert(dim.name());
    const auto shape = bindings.input_shapes_.find(input->name);
    if (shape == bindings.input_shapes_.end()) continue;
    if (Status fits = match_shape(*type, shape->second, bindings.symbols_); !fits.ok())
      return within_input(fits.error(), input->name);
  }
  for (const auto& [name, shape] : options.input_shapes) {
    if (!input_names.contains(name))
      return not_found(
          fmt::format("no input is named {}; the inputs are: {}", in_quotes(name), list(input_names)));
    HONE_CHECK(checked_element_count(shape));
  }
  for (const auto& [name, extent] : options.symbols) {
    if (!symbols.contains(name))
      return not_found(
          fmt::format("no input has a symbolic extent {}; there is: {}", in_quotes(name), list(symbols)));
    if (extent < 0) return invalid(fmt::format("symbol {} cannot be {}", in_quotes(name), extent));
  }
  if (options.default_symbol > 0)
    for (const std::string& name : symbols) {
      const bool assumed = bindings.symbols_.emplace(name, options.default_symbol).second;
      if (assumed && options.on_default) options.on_default(name);
    }
  return bindings;
}

Result<graph::TensorType> SymbolBindings::input_type(const ValueInfoProto& input) const {
  auto type = declared_type(input.type);
  if (!type.ok()) return within_input(type.error(), input.name);
  if (type->dtype == DType::kUndefined)
    return corrupt(fmt::format("input {} has no type; export the model anew", in_quotes(input.name)));
  if (const auto shape = input_shapes_.find(input.name); shape != input_shapes_.end())
    type->dims = graph::to_dims(shape->second);
  if (type->has_rank() && default_symbol_ > 0)
    for (graph::Dim& dim : *type->dims)
      if (!dim.known() && !dim.symbolic()) dim = graph::Dim(default_symbol_);
  return type;
}

Result<graph::TensorType> SymbolBindings::declared_type(const TypeProto& proto) const {
  HONE_ASSIGN(graph::TensorType type, make_type(proto));
  if (!type.has_rank()) return type;
  for (graph::Dim& dim : *type.dims) {
    if (!dim.symbolic()) continue;
    if (const auto bound = symbols_.find(dim.name()); bound != symbols_.end())
      dim = graph::Dim(bound->second);
  }
  return type;
}

}  // namespace hone::model::onnx

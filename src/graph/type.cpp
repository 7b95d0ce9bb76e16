#include "graph/type.h"

#include <stdexcept>

#include <fmt/core.h>

namespace hone::graph {

Dim Dim::symbol(std::string name) {
  if (name.empty()) throw std::logic_error("a symbolic extent needs a name");
  Dim dim;
  dim.symbol_ = std::move(name);
  return dim;
}

std::string Dim::text() const {
  if (known()) return std::to_string(extent_);
  return symbolic() ? symbol_ : "?";
}

bool Dim::same_as(const Dim& other) const {
  if (known() || other.known()) return extent_ == other.extent_;
  return symbolic() && symbol_ == other.symbol_;
}

bool TensorType::is_static() const {
  if (!has_rank() || dtype == DType::kUndefined || kind != TypeKind::kTensor) return false;
  for (const Dim& dim : *dims) {
    if (!dim.known()) return false;
  }
  return true;
}

Shape TensorType::shape() const {
  Shape shape;
  shape.reserve(dims->size());
  for (const Dim& dim : *dims) shape.push_back(dim.extent());
  return shape;
}

double TensorType::bytes() const {
  if (!is_static()) return 0;
  return static_cast<double>(storage_elements(shape(), layout)) * dtype_bits(dtype) / 8.0;
}

std::size_t TensorType::storage_bytes() const {
  return static_cast<std::size_t>(storage_elements(shape(), layout)) * dtype_size(dtype);
}

std::string TensorType::text() const {
  std::string text{dtype_name(dtype)};
  if (!has_rank()) {
    text += "[*]";
  } else {
    text += '[';
    for (std::size_t i = 0; i < dims->size(); ++i) {
      if (i > 0) text += ',';
      text += (*dims)[i].text();
    }
    text += ']';
  }
  if (layout != Layout::kPlain) text += fmt::format("@{}", layout_name(layout));
  if (device != DeviceId()) text += "@" + device.text();
  switch (kind) {
    case TypeKind::kTensor:
      return text;
    case TypeKind::kSequence:
      return "sequence(" + text + ")";
    case TypeKind::kOptional:
      return "optional(" + text + ")";
    case TypeKind::kNone:
      return "none";
  }
  return text;
}

TensorType tensor_type(DType dtype, Dims dims) {
  TensorType type;
  type.dtype = dtype;
  type.dims = std::move(dims);
  return type;
}

TensorType tensor_type(DType dtype, const Shape& shape) { return tensor_type(dtype, to_dims(shape)); }

TensorType unranked(DType dtype) {
  TensorType type;
  type.dtype = dtype;
  return type;
}

Dims to_dims(const Shape& shape) { return Dims(shape.begin(), shape.end()); }

Result<Dims> broadcast_dims(const Dims& a, const Dims& b) {
  const Dims& longer = a.size() >= b.size() ? a : b;
  const Dims& shorter = a.size() >= b.size() ? b : a;
  Dims result = longer;
  const std::size_t offset = longer.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    const Dim& x = longer[offset + i];
    const Dim& y = shorter[i];
    Dim& out = result[offset + i];
    if (x.known() && y.known()) {
      if (x.extent() != y.extent() && x.extent() != 1 && y.extent() != 1) {
        return invalid(fmt::format("shapes {} and {} do not broadcast: {} against {} at axis {}",
                                   tensor_type(DType::kUndefined, a).text().substr(9),
                                   tensor_type(DType::kUndefined, b).text().substr(9), x.text(), y.text(),
                                   offset + i));
      }
      out = x.extent() == 1 ? y : x;
    } else if (x.known()) {
      out = x.extent() == 1 ? y : x;  // an unknown extent beside one that is not 1 must be it, or 1
    } else if (y.known()) {
      out = y.extent() == 1 ? x : y;
    } else {
      out = x.same_as(y) ? x : Dim();
    }
  }
  return result;
}

namespace {

Result<Dim> merge_dim(const Dim& declared, const Dim& inferred) {
  if (declared.known() && inferred.known() && declared.extent() != inferred.extent()) {
    return invalid(fmt::format("extent {} against {}", declared.text(), inferred.text()));
  }
  if (inferred.known()) return inferred;
  if (declared.known()) return declared;
  return inferred.symbolic() ? inferred : declared;
}

}  // namespace

Result<TensorType> merge_types(const TensorType& declared, const TensorType& inferred) {
  auto contradiction = [&](const std::string& what) {
    return invalid(
        fmt::format("declared as {}, but inference finds {} ({})", declared.text(), inferred.text(), what));
  };
  if (declared.dtype == DType::kUndefined && !declared.has_rank()) return inferred;
  if (inferred.dtype == DType::kUndefined && !inferred.has_rank()) return declared;
  TensorType merged = inferred;
  if (declared.kind != inferred.kind) return contradiction("another kind");
  if (declared.device != inferred.device) return contradiction("another device");
  if (inferred.dtype == DType::kUndefined) merged.dtype = declared.dtype;
  if (declared.dtype != DType::kUndefined && merged.dtype != declared.dtype)
    return contradiction("another dtype");
  if (!inferred.has_rank()) {
    merged.dims = declared.dims;
    return merged;
  }
  if (!declared.has_rank()) return merged;
  if (declared.rank() != inferred.rank()) return contradiction("another rank");
  for (std::size_t i = 0; i < merged.dims->size(); ++i) {
    auto dim = merge_dim((*declared.dims)[i], (*inferred.dims)[i]);
    if (!dim.ok()) return contradiction(dim.error().message);
    (*merged.dims)[i] = *dim;
  }
  return merged;
}

}  // namespace hone::graph

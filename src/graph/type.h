// Types of values in a graph: element type plus a shape whose extents may be known, named by a symbol, or
// unknown.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/device_id.h"
#include "core/dtype.h"
#include "core/layout.h"
#include "core/shape.h"

namespace hone::graph {

// One extent of a shape: a number, a symbol ("batch"; equal symbols are equal extents), or unknown.
class Dim {
 public:
  Dim() = default;                          // unknown
  Dim(int64_t extent) : extent_(extent) {}  // NOLINT: a number is an extent
  static Dim symbol(std::string name);      // name must not be empty

  bool known() const { return extent_ >= 0; }
  bool symbolic() const { return !known() && !symbol_.empty(); }
  int64_t extent() const { return extent_; }           // only when known()
  const std::string& name() const { return symbol_; }  // only when symbolic()
  std::string text() const;                            // "64", "batch", "?"

  // Equal for certain: the same number or the same symbol. Two unknown extents are not known to be equal.
  bool same_as(const Dim& other) const;
  friend bool operator==(const Dim&, const Dim&) = default;

 private:
  int64_t extent_ = -1;
  std::string symbol_;
};

using Dims = std::vector<Dim>;

enum class TypeKind : uint8_t { kTensor, kSequence, kOptional, kNone };

// The type of a value. Rank may be unknown (dims == nullopt). `layout` says how a tensor's elements lie in
// memory; it changes only through hone.Reorder nodes and layout-aware operators, never the meaning of dims.
// `device` says in whose memory; it changes only through hone.CopyTo. A constant's is device 0: known data
// are brought wherever they are read.
struct TensorType {
  DType dtype = DType::kUndefined;
  std::optional<Dims> dims;
  Layout layout = Layout::kPlain;
  DeviceId device = {};
  TypeKind kind = TypeKind::kTensor;  // sequence or optional *of* this tensor type

  bool has_rank() const { return dims.has_value(); }
  int64_t rank() const { return static_cast<int64_t>(dims->size()); }  // only when has_rank()
  bool is_static() const;                                              // rank and every extent known
  Shape shape() const;                                                 // only when is_static()
  double bytes() const;  // of the tensor as stored, counted in bits of its dtype; 0 when not static
  // Bytes of the memory that holds it: elements of less than a byte take one each. Only when is_static().
  std::size_t storage_bytes() const;
  // "f32[batch,3,256,256]", "f32[*]"; "@blocked16" where not plain, "@host" where not on device 0.
  std::string text() const;
  friend bool operator==(const TensorType&, const TensorType&) = default;
};

TensorType tensor_type(DType dtype, Dims dims);
TensorType tensor_type(DType dtype, const Shape& shape);
TensorType unranked(DType dtype);
Dims to_dims(const Shape& shape);

// NumPy broadcasting of possibly unknown shapes: an error only where the extents certainly clash.
Result<Dims> broadcast_dims(const Dims& a, const Dims& b);
// The more specific of two descriptions of one value; an error where they contradict each other.
Result<TensorType> merge_types(const TensorType& declared, const TensorType& inferred);

}  // namespace hone::graph

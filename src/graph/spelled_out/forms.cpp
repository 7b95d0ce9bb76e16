#include "graph/spelled_out/forms.h"

#include <fmt/core.h>

namespace hone::graph::spelling {

int64_t extent_or_open(const TensorType& type, std::size_t axis) {
  const Dim& dim = (*type.dims)[axis];
  return dim.known() ? dim.extent() : -1;
}

bool may_have(const TensorType& type, const Shape& extents) {
  if (!type.has_rank()) return true;
  if (type.dims->size() != extents.size()) return false;
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    const int64_t known = extent_or_open(type, axis);
    if (known >= 0 && extents[axis] >= 0 && known != extents[axis]) return false;
  }
  return true;
}

ValueId reshaped(NodeEmitter& e, ValueId value, const Shape& shape) {
  if (e.type(value).is_static() && e.type(value).shape() == shape) return value;
  return e.add("Reshape", {value, e.ints(shape)});
}

ValueId transposed(NodeEmitter& e, ValueId value, const Ints& perm) {
  for (std::size_t i = 0; i < perm.size(); ++i)
    if (perm[i] != static_cast<int64_t>(i)) return e.add("Transpose", {value}, {{"perm", perm}});
  return value;
}

ValueId sliced(NodeEmitter& e, ValueId value, int64_t axis, int64_t begin, int64_t end) {
  const TensorType& type = e.type(value);
  if (type.is_static() && begin == 0 && end == type.shape()[static_cast<std::size_t>(axis)]) return value;
  return e.add("Slice", {value, e.ints({begin}), e.ints({end}), e.ints({axis})});
}

std::vector<ValueId> slices(NodeEmitter& e, ValueId value, int64_t axis) {
  if (!e.status().ok()) return {};
  const int64_t extent = e.type(value).shape()[static_cast<std::size_t>(axis)];
  if (extent == 1) return {value};
  const Ints ones(static_cast<std::size_t>(extent), 1);
  return e.add_many("Split", {value, e.ints(ones)}, ones.size(), {{"axis", axis}});
}

ValueId joined(NodeEmitter& e, std::vector<ValueId> parts, int64_t axis) {
  return parts.size() == 1 ? parts[0] : e.add("Concat", std::move(parts), {{"axis", axis}});
}

ValueId numbers(NodeEmitter& e, DType dtype, Shape shape, const std::vector<double>& values) {
  if (dtype == DType::kF64)
    return e.tensor(Tensor::of(dtype, std::move(shape), std::span<const double>(values)));
  const std::vector<float> rounded(values.begin(), values.end());
  return e.tensor(Tensor::f32(std::move(shape), rounded));
}

Result<Ints> known_ints(const NodeEmitter& e, SpelledInputs inputs, std::size_t i, std::string_view what) {
  const Tensor* const data = given(inputs, i) ? e.constant_of(inputs[i]) : nullptr;
  if (data == nullptr || !is_integer(data->dtype()))
    return unsupported(fmt::format("{} is not known before the graph runs", what));
  return data->to_ints();
}

Result<int64_t> known_int(const NodeEmitter& e, SpelledInputs inputs, std::size_t i, std::string_view what) {
  HONE_ASSIGN(const Ints all, known_ints(e, inputs, i, what));
  if (all.size() != 1)
    return invalid(fmt::format("{} has {} elements, must be one number", what, all.size()));
  return all[0];
}

bool next_place(Ints& place, const Shape& extents) {
  for (std::size_t axis = place.size(); axis-- > 0;) {
    if (++place[axis] < extents[axis]) return true;
    place[axis] = 0;
  }
  return false;
}

}  // namespace hone::graph::spelling

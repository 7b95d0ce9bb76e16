// Operators that work on shapes or only change them. Views share the buffer of their input.
#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "kernels/ref/arithmetic.h"
#include "kernels/ref/elements.h"

namespace hone::kernels::ref {
namespace {

using Outputs = Result<std::vector<Tensor>>;

Outputs shape(const RefCall& call) {
  HONE_CHECK(expect_inputs(call, 1));
  const Shape& extents = call.inputs[0].shape();
  const auto rank = static_cast<int64_t>(extents.size());
  auto bound = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank); };
  const int64_t start = bound(call.attributes.integer("start", 0));
  const int64_t end = std::max(start, bound(call.attributes.integer("end", rank)));
  const Shape part(extents.begin() + start, extents.begin() + end);
  return one(Tensor::i64({end - start}, part));
}

Outputs size(const RefCall& call) {
  HONE_CHECK(expect_inputs(call, 1));
  return one(Tensor::scalar_i64(call.inputs[0].size()));
}

Outputs view(const RefCall& call, Shape shape) {
  const Tensor& x = call.inputs[0];
  const auto count = checked_element_count(shape);
  if (count.ok() && *count == x.size()) return one(x.reshaped(std::move(shape)));
  return bad_call(call,
                  fmt::format("the elements of {} do not fit {}", shape_text(x.shape()), shape_text(shape)));
}

Outputs reshape(const RefCall& call) {
  HONE_CHECK(expect_inputs(call, 2));
  const Tensor& x = call.inputs[0];
  const bool allow_zero = call.attributes.integer("allowzero", 0) != 0;
  Shape shape = call.inputs[1].to_ints();
  std::size_t missing = shape.size();
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0 && !allow_zero) {
      if (i >= x.shape().size()) return bad_call(call, fmt::format("extent {} has nothing to copy", i));
      shape[i] = x.shape()[i];
    } else if (shape[i] == -1) {
      if (missing != shape.size()) return bad_call(call, "the shape has more than one -1");
      missing = i;
    }
  }
  if (missing != shape.size()) {
    shape[missing] = 1;
    HONE_ASSIGN(const int64_t others, checked_element_count(shape));
    shape[missing] = others == 0 ? 0 : x.size() / others;
  }
  return view(call, std::move(shape));
}

Outputs flatten(const RefCall& call) {
  HONE_CHECK(expect_inputs(call, 1));
  const Shape& extents = call.inputs[0].shape();
  const auto rank = static_cast<int64_t>(extents.size());
  int64_t axis = call.attributes.integer("axis", 1);
  if (axis < -rank || axis > rank) return bad_call(call, fmt::format("axis {} is out of range", axis));
  if (axis < 0) axis += rank;
  const std::span<const int64_t> all(extents);
  const auto at = static_cast<std::size_t>(axis);
  return view(call, {element_count(all.first(at)), element_count(all.subspan(at))});
}

Outputs squeeze(const RefCall& call) {
  HONE_CHECK(expect_inputs(call, 1));
  const Shape& extents = call.inputs[0].shape();
  std::vector<bool> drop(extents.size());
  if (call.has(1)) {
    for (int64_t axis : call.inputs[1].to_ints()) {
      HONE_ASSIGN(const int64_t at, normalize_axis(axis, static_cast<int64_t>(extents.size())));
      drop[static_cast<std::size_t>(at)] = true;
    }
  } else {
    for (std::size_t i = 0; i < extents.size(); ++i) drop[i] = extents[i] == 1;
  }
  Shape shape;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    if (!drop[i]) shape.push_back(extents[i]);
  }
  return view(call, std::move(shape));
}

Outputs unsqueeze(const RefCall& call) {
  HONE_CHECK(expect_inputs(call, 2));
  Shape shape = call.inputs[0].shape();
  Ints axes = call.inputs[1].to_ints();
  const auto rank = static_cast<int64_t>(shape.size() + axes.size());
  for (int64_t& axis : axes) {
    HONE_ASSIGN(axis, normalize_axis(axis, rank));
  }
  std::sort(axes.begin(), axes.end());
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end())
    return bad_call(call, "an axis is named twice");
  for (int64_t axis : axes) shape.insert(shape.begin() + axis, 1);
  return view(call, std::move(shape));
}

Outputs identity(const RefCall& call) {
  HONE_CHECK(expect_inputs(call, 1));
  return one(call.inputs[0]);
}

// The other inputs only had to be there.
Outputs recompute(const RefCall& call) {
  if (!call.has(0)) return bad_call(call, "input 0 is absent");
  return one(call.inputs[0]);
}

Outputs constant_of_shape(const RefCall& call) {
  HONE_CHECK(expect_inputs(call, 1));
  Tensor value = call.attributes.tensor("value");
  if (!value.defined()) value = Tensor::scalar_f32(0);
  if (value.size() != 1) return bad_call(call, "attribute value must hold one element");
  HONE_ASSIGN(Tensor result, make_tensor(call, value.dtype(), call.inputs[0].to_ints()));
  with_storage(value.dtype(), [&]<typename T>(T) {
    const auto to = elements<T>(result);
    std::fill(to.begin(), to.end(), elements<T>(value)[0]);
  });
  return one(std::move(result));
}

// start + i · delta, each element computed from its index, so that errors do not add up.
Outputs range(const RefCall& call) {
  HONE_CHECK(expect_inputs(call, 3));
  const DType dtype = call.inputs[0].dtype();
  for (const Tensor& input : call.inputs) {
    HONE_CHECK(expect_real(call, input.dtype()));
    if (input.size() != 1 || input.dtype() != dtype)
      return bad_call(call, "needs three scalars of one dtype");
  }
  if (call.inputs[2].at(0) == 0) return bad_call(call, "the step is 0");
  const auto length = range_length(call.inputs[0].at(0), call.inputs[1].at(0), call.inputs[2].at(0));
  if (!length.ok()) return bad_call(call, length.error().message);
  const int64_t count = *length;
  HONE_CHECK(make_tensor(call, dtype, {count}));
  return with_wide(dtype, [&]<typename W>(W) -> Outputs {
    const W start = widen<W>(call.inputs[0])[0];
    const W delta = widen<W>(call.inputs[2])[0];
    std::vector<W> values(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = add(start, multiply(static_cast<W>(i), delta));
    return one(narrow(dtype, {count}, values));
  });
}

}  // namespace

void add_shape_kernels(RefTable& table) {
  table.add("Shape", shape);
  table.add("Size", size);
  table.add("Reshape", reshape);
  table.add("Flatten", flatten);
  table.add("Squeeze", squeeze);
  table.add("Unsqueeze", unsqueeze);
  table.add("Identity", identity);
  table.add("hone.Recompute", recompute);
  table.add("ConstantOfShape", constant_of_shape);
  table.add("Range", range);
}

}  // namespace hone::kernels::ref

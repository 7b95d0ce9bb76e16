// Movement driven by index tensors or by the data: gathers, scatters, OneHot, Compress, NonZero, Unique.
#include <algorithm>
#include <numeric>

#include <fmt/core.h>

#include "kernels/ref/arithmetic.h"
#include "kernels/ref/elements.h"
#include "kernels/ref/parts.h"

namespace hone::kernels::ref {
namespace {

using Outputs = Result<std::vector<Tensor>>;

// Index tensors may count from the end.
Result<int64_t> position(const RefCall& call, int64_t index, int64_t extent) {
  if (index < -extent || index >= extent) {
    return bad_call(call, fmt::format("index {} is outside an axis of {}", index, extent));
  }
  return index < 0 ? index + extent : index;
}

Outputs gather(const RefCall& call) {
  HONE_CHECK(expect_inputs(call, 2));
  const Tensor& data = call.inputs[0];
  HONE_ASSIGN(const int64_t axis, axis_attribute(call, "axis", 0, data.rank()));
  const AxisView view = around_axis(data.shape(), axis);
  Ints rows = call.inputs[1].to_ints();
  for (int64_t& row : rows) {
    HONE_ASSIGN(row, position(call, row, view.extent));
  }
  Shape shape(data.shape().begin(), data.shape().begin() + axis);
  shape.insert(shape.end(), call.inputs[1].shape().begin(), call.inputs[1].shape().end());
  shape.insert(shape.end(), data.shape().begin() + axis + 1, data.shape().end());
  HONE_CHECK(make_tensor(call, data.dtype(), shape));
  std::vector<int64_t> source;
  for (int64_t outer = 0; outer < view.outer; ++outer) {
    for (int64_t row : rows) {
      for (int64_t i = 0; i < view.inner; ++i) {
        source.push_back((outer * view.extent + row) * view.inner + i);
      }
    }
  }
  return one(gather_elements(data, std::move(shape), source));
}

// For each element of an index tensor of the data's rank: the offset of the element of `shape` that it names.
Result<std::vector<int64_t>> element_offsets(const RefCall& call, const Shape& shape, const Tensor& indices) {
  if (indices.shape().size() != shape.size()) return bad_call(call, "data and indices differ in rank");
  HONE_ASSIGN(const int64_t axis, axis_attribute(call, "axis", 0, static_cast<int64_t>(shape.size())));
  const auto at = static_cast<std::size_t>(axis);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i != at && indices.shape()[i] > shape[i]) {
      return bad_call(
          call, fmt::format("indices {} do not fit into {}", shape_text(indices.shape()), shape_text(shape)));
    }
  }
  const auto strides = row_major_strides(shape);
  auto offsets = strided_offsets(indices.shape(), strides);
  const auto along = strided_offsets(indices.shape(), [&] {
    std::vector<int64_t> only(shape.size(), 0);
    only[at] = strides[at];
    return only;
  }());
  const Ints values = indices.to_ints();
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    HONE_ASSIGN(const int64_t chosen, position(call, values[i], shape[at]));
    offsets[i] += chosen * strides[at] - along[i];
  }
  return offsets;
}

Outputs gather_elements_kernel(const RefCall& call) {
  HONE_CHECK(expect_inputs(call, 2));
  HONE_ASSIGN(const auto source, element_offsets(call, call.inputs[0].shape(), call.inputs[1]));
  return one(gather_elements(call.inputs[0], call.inputs[1].shape(), source));
}

// Slices of data named by index tuples: the offset of each slice's first element, and a slice's elements.
struct Slices {
  std::vector<int64_t> starts;
  int64_t size = 1;
};

Result<Slices> slices(const RefCall& call, const Tensor& data, const Tensor& indices, int64_t batch_dims) {
  if (indices.rank() < 1 || batch_dims < 0 || batch_dims >= indices.rank()) {
    return bad_call(call, "the indices have no axis of tuples after the batch axes");
  }
  const int64_t width = indices.shape().back();
  const int64_t used = batch_dims + width;
  if (used > data.rank()) {
    return bad_call(call, fmt::format("tuples of {} reach beyond {}", width, shape_text(data.shape())));
  }
  const std::span<const int64_t> extents(data.shape());
  const std::span<const int64_t> tuples =
      std::span<const int64_t>(indices.shape()).first(indices.shape().size() - 1);
  const auto batch = static_cast<std::size_t>(batch_dims);
  if (!std::equal(extents.begin(), extents.begin() + batch_dims, tuples.begin())) {
    return bad_call(call, "data and indices differ in their batch axes");
  }
  Slices result;
  result.size = element_count(extents.subspan(static_cast<std::size_t>(used)));
  const int64_t tuples_a_batch = element_count(tuples.subspan(batch));
  const auto strides = row_major_strides(data.shape());
  const int64_t batch_stride = element_count(extents.subspan(batch));
  const Ints values = indices.to_ints();
  const int64_t count = element_count(tuples);
  for (int64_t tuple = 0; tuple < count; ++tuple) {
    int64_t offset = tuple / tuples_a_batch * batch_stride;
    for (int64_t i = 0; i < width; ++i) {
      const auto axis = static_cast<std::size_t>(batch_dims + i);
      HONE_ASSIGN(const int64_t at,
                  position(call, values[static_cast<std::size_t>(tuple * width + i)], data.shape()[axis]));
      offset += at * strides[axis];
    }
    result.starts.push_back(offset);
  }
  return result;
}

std::vector<int64_t> offsets_of(const Slices& slices) {
  std::vector<int64_t> offsets;
  for (int64_t start : slices.starts) {
    for (int64_t i = 0; i < slices.size; ++i) offsets.push_back(start + i);
  }
  return offsets;
}

Outputs gather_nd(const RefCall& call) {
  HONE_CHECK(expect_inputs(call, 2));
  const Tensor& data = call.inputs[0];
  const Tensor& indices = call.inputs[1];
  const int64_t batch_dims = call.attributes.integer("batch_dims", 0);
  HONE_ASSIGN(const Slices chosen, slices(call, data, indices, batch_dims));
  Shape shape(indices.shape().begin(), indices.shape().end() - 1);
  shape.insert(shape.end(), data.shape().begin() + batch_dims + indices.shape().back(), data.shape().end());
  HONE_CHECK(make_tensor(call, data.dtype(), shape));
  return one(gather_elements(data, std::move(shape), offsets_of(chosen)));
}

// A copy of data in which element offsets[i] is replaced by update i, or combined with it.
Outputs scatter(const RefCall& call, const Tensor& data, const std::vector<int64_t>& offsets,
                const Tensor& updates) {
  if (updates.dtype() != data.dtype() || updates.size() != static_cast<int64_t>(offsets.size())) {
    return bad_call(call, fmt::format("updates {} do not fit the indices", shape_text(updates.shape())));
  }
  const std::string reduction = call.attributes.text("reduction", "none");
  if (reduction == "none") {
    Tensor result = data.clone();
    with_storage(data.dtype(), [&]<typename T>(T) {
      for (std::size_t i = 0; i < offsets.size(); ++i) {
        elements<T>(result)[static_cast<std::size_t>(offsets[i])] = elements<T>(updates)[i];
      }
    });
    return one(std::move(result));
  }
  HONE_CHECK(expect_real(call, data.dtype()));
  return with_wide(data.dtype(), [&]<typename W>(W) -> Outputs {
    W (*combine)(W, W) = nullptr;
    if (reduction == "add") combine = add<W>;
    if (reduction == "mul") combine = multiply<W>;
    if (reduction == "max") combine = maximum<W>;
    if (reduction == "min") combine = minimum<W>;
    if (combine == nullptr) return bad_call(call, fmt::format("reduction '{}' is not known", reduction));
    auto values = widen<W>(data);
    const auto changes = widen<W>(updates);
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      W& value = values[static_cast<std::size_t>(offsets[i])];
      value = combine(value, changes[i]);
    }
    return one(narrow(data.dtype(), data.shape(), values));
  });
}

Outputs scatter_elements(const RefCall& call) {
  HONE_CHECK(expect_inputs(call, 3));
  if (call.inputs[1].shape() != call.inputs[2].shape())
    return bad_call(call, "indices and updates differ in shape");
  HONE_ASSIGN(const auto offsets, element_offsets(call, call.inputs[0].shape(), call.inputs[1]));
  return scatter(call, call.inputs[0], offsets, call.inputs[2]);
}

Outputs scatter_nd(const RefCall& call) {
  HONE_CHECK(expect_inputs(call, 3));
  HONE_ASSIGN(const Slices chosen, slices(call, call.inputs[0], call.inputs[1], 0));
  return scatter(call, call.inputs[0], offsets_of(chosen), call.inputs[2]);
}

Outputs tensor_scatter(const RefCall& call) {
  HONE_CHECK(expect_inputs(call, 2));
  const Tensor& cache = call.inputs[0];
  const Tensor& update = call.inputs[1];
  HONE_ASSIGN(const int64_t axis, axis_attribute(call, "axis", -2, cache.rank()));
  const auto at = static_cast<std::size_t>(axis);
  if (axis == 0) return bad_call(call, "axis is the batch axis");
  Shape wanted = cache.shape();
  if (update.shape().size() == wanted.size()) wanted[at] = update.shape()[at];
  const Ints starts =
      call.has(2) ? call.inputs[2].to_ints() : Ints(static_cast<std::size_t>(cache.shape()[0]), 0);
  if (wanted != update.shape() || static_cast<int64_t>(starts.size()) != cache.shape()[0]) {
    return bad_call(call, fmt::format("update {} does not fit cache {}", shape_text(update.shape()),
                                      shape_text(cache.shape())));
  }
  const bool circular = call.attributes.text("mode", "linear") == "circular";
  const int64_t extent = cache.shape()[at];
  const auto strides = row_major_strides(cache.shape());
  std::vector<int64_t> offsets;
  std::vector<int64_t> index(wanted.size(), 0);
  for (int64_t i = 0; i < update.size(); ++i, next_index(index, wanted)) {
    int64_t slot = starts[static_cast<std::size_t>(index[0])];
    if (circular)
      slot = (slot % extent + extent + index[at]) % extent;
    else if (slot < 0 || slot > extent - 1 - index[at])
      return bad_call(call, "the update does not fit behind its index");
    else
      slot += index[at];
    int64_t offset = 0;
    for (std::size_t d = 0; d < index.size(); ++d) offset += (d == at ? slot : index[d]) * strides[d];
    offsets.push_back(offset);
  }
  return scatter(call, cache, offsets, update);
}

Outputs compress(const RefCall& call) {
  HONE_CHECK(expect_inputs(call, 2));
  Tensor x = call.inputs[0];
  HONE_CHECK(expect_real(call, call.inputs[1].dtype()));
  const bool flat = !call.attributes.has("axis");
  if (flat) x = x.reshaped({x.size()});
  HONE_ASSIGN(const int64_t axis, axis_attribute(call, "axis", 0, x.rank()));
  const AxisView view = around_axis(x.shape(), axis);
  const auto condition = widen<uint64_t>(call.inputs[1]);
  std::vector<int64_t> kept;
  for (std::size_t i = 0; i < condition.size() && static_cast<int64_t>(i) < view.extent; ++i) {
    if (condition[i] != 0) kept.push_back(static_cast<int64_t>(i));
  }
  Shape shape = x.shape();
  shape[static_cast<std::size_t>(axis)] = static_cast<int64_t>(kept.size());
  std::vector<int64_t> source;
  for (int64_t outer = 0; outer < view.outer; ++outer) {
    for (int64_t row : kept) {
      for (int64_t i = 0; i < view.inner; ++i) source.push_back((outer * view.extent + row) * view.inner + i);
    }
  }
  return one(gather_elements(x, std::move(shape), source));
}

Outputs non_zero(const RefCall& call) {
  HONE_CHECK(expect_inputs(call, 1));
  const Tensor& x = call.inputs[0];
  HONE_CHECK(expect_real(call, x.dtype()));
  const auto values = widen<double>(x);
  std::vector<std::vector<int64_t>> found;
  std::vector<int64_t> index(x.shape().size(), 0);
  for (double value : values) {
    if (value != 0) found.push_back(index);
    next_index(index, x.shape());
  }
  std::vector<int64_t> result;
  for (std::size_t axis = 0; axis < index.size(); ++axis) {
    for (const auto& where : found) result.push_back(where[axis]);
  }
  return one(Tensor::i64({x.rank(), static_cast<int64_t>(found.size())}, result));
}

// Orders any elements, NaN last and equal to itself.
template <typename E>
int compare_elements(const E& a, const E& b) {
  if constexpr (std::is_floating_point_v<E>) {
    if (not_a_number(a) || not_a_number(b))
      return static_cast<int>(not_a_number(a)) - static_cast<int>(not_a_number(b));
  }
  return a < b ? -1 : b < a ? 1 : 0;
}

// The slices of `values` along the axis: which are distinct (by first occurrence), and which each one equals.
struct Distinct {
  std::vector<int64_t> first;    // slice of the first occurrence, for each distinct one
  std::vector<int64_t> inverse;  // for each slice, which distinct one it is
  std::vector<int64_t> counts;
};

template <typename E>
Distinct distinct_slices(std::span<const E> values, const AxisView& view, bool sorted) {
  auto compare = [&](int64_t a, int64_t b) {
    for (int64_t outer = 0; outer < view.outer; ++outer) {
      for (int64_t i = 0; i < view.inner; ++i) {
        const auto base = outer * view.extent * view.inner + i;
        const int order = compare_elements(values[static_cast<std::size_t>(base + a * view.inner)],
                                           values[static_cast<std::size_t>(base + b * view.inner)]);
        if (order != 0) return order;
      }
    }
    return 0;
  };
  std::vector<int64_t> order(static_cast<std::size_t>(view.extent));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return compare(a, b) < 0; });
  std::vector<std::vector<int64_t>> sets;  // equal slices, the first occurrence first
  for (int64_t slice : order) {
    if (sets.empty() || compare(sets.back()[0], slice) != 0) sets.emplace_back();
    sets.back().push_back(slice);
  }
  if (!sorted) std::sort(sets.begin(), sets.end(), [](const auto& a, const auto& b) { return a[0] < b[0]; });
  Distinct result;
  result.inverse.resize(order.size());
  for (const auto& set : sets) {
    for (int64_t slice : set)
      result.inverse[static_cast<std::size_t>(slice)] = static_cast<int64_t>(result.first.size());
    result.first.push_back(set[0]);
    result.counts.push_back(static_cast<int64_t>(set.size()));
  }
  return result;
}

Outputs unique(const RefCall& call) {
  HONE_CHECK(expect_inputs(call, 1));
  Tensor x = call.inputs[0];
  if (!call.attributes.has("axis")) x = x.reshaped({x.size()});
  HONE_ASSIGN(const int64_t axis, axis_attribute(call, "axis", 0, x.rank()));
  const AxisView view = around_axis(x.shape(), axis);
  const bool sorted = call.attributes.integer("sorted", 1) != 0;
  Distinct found;
  if (x.dtype() == DType::kString) {
    found = distinct_slices(std::span<const std::string>(x.strings()), view, sorted);
  } else {
    HONE_CHECK(expect_real(call, x.dtype()));
    with_wide(x.dtype(), [&]<typename W>(W) {
      const auto values = widen<W>(x);
      found = distinct_slices(std::span<const W>(values), view, sorted);
    });
  }
  const auto count = static_cast<int64_t>(found.first.size());
  Shape shape = x.shape();
  shape[static_cast<std::size_t>(axis)] = count;
  std::vector<int64_t> source;
  for (int64_t outer = 0; outer < view.outer; ++outer) {
    for (int64_t slice : found.first) {
      for (int64_t i = 0; i < view.inner; ++i)
        source.push_back((outer * view.extent + slice) * view.inner + i);
    }
  }
  std::vector<Tensor> outputs = one(gather_elements(x, std::move(shape), source));
  if (call.output_count > 1) outputs.push_back(Tensor::i64({count}, found.first));
  if (call.output_count > 2) outputs.push_back(Tensor::i64({view.extent}, found.inverse));
  if (call.output_count > 3) outputs.push_back(Tensor::i64({count}, found.counts));
  return outputs;
}

Outputs one_hot(const RefCall& call) {
  HONE_CHECK(expect_inputs(call, 3));
  const Tensor& indices = call.inputs[0];
  HONE_CHECK(expect_real(call, indices.dtype()));
  HONE_CHECK(expect_real(call, call.inputs[1].dtype()));
  const int64_t depth = call.inputs[1].size() == 1 ? call.inputs[1].int_at(0) : -1;
  if (depth < 0) return bad_call(call, "the depth must be one number, not negative");
  if (call.inputs[2].size() != 2) return bad_call(call, "values must hold the off and the on value");
  HONE_ASSIGN(const int64_t axis, axis_attribute(call, "axis", -1, indices.rank() + 1));
  Shape shape = indices.shape();
  shape.insert(shape.begin() + axis, depth);
  HONE_CHECK(make_tensor(call, call.inputs[2].dtype(), shape));
  const AxisView view = around_axis(shape, axis);
  std::vector<int64_t> source(static_cast<std::size_t>(element_count(shape)), 0);
  const auto classes = widen<int64_t>(indices);
  for (std::size_t i = 0; i < classes.size(); ++i) {
    if (classes[i] < -depth || classes[i] >= depth) continue;
    const int64_t hot = classes[i] < 0 ? classes[i] + depth : classes[i];
    const int64_t outer = static_cast<int64_t>(i) / view.inner;
    const int64_t inner = static_cast<int64_t>(i) % view.inner;
    source[static_cast<std::size_t>((outer * depth + hot) * view.inner + inner)] = 1;
  }
  return one(gather_elements(call.inputs[2], std::move(shape), source));
}

}  // namespace

void add_indexing_kernels(RefTable& table) {
  table.add("Gather", gather);
  table.add("GatherElements", gather_elements_kernel);
  table.add("GatherND", gather_nd);
  table.add("ScatterElements", scatter_elements);
  table.add("ScatterND", scatter_nd);
  table.add("TensorScatter", tensor_scatter);
  table.add("Compress", compress);
  table.add("NonZero", non_zero);
  table.add("Unique", unique);
  table.add("OneHot", one_hot);
}

}  // namespace hone::kernels::ref

// Operators that work on shapes or only change them: Shape, Reshape, Squeeze, ConstantOfShape, Range, …
#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "graph/ops/infer_helpers.h"

namespace hone::graph {
namespace {

Status infer_shape(InferContext& context) {
  const TensorType& x = context.input(0);
  if (!x.has_rank()) {
    context.set_output(0, tensor_type(DType::kI64, Dims{Dim()}));
    return {};
  }
  auto bound = [&](int64_t value) {
    return std::clamp<int64_t>(value < 0 ? value + x.rank() : value, 0, x.rank());
  };
  const int64_t start = bound(context.attributes().integer("start", 0));
  const int64_t end = bound(context.attributes().integer("end", x.rank()));
  context.set_output(0, tensor_type(DType::kI64, Dims{std::max<int64_t>(end - start, 0)}));
  return {};
}

Status infer_size(InferContext& context) {
  context.set_output(0, tensor_type(DType::kI64, Dims{}));
  return {};
}

// The elements of a shape as a number times symbols; nothing where an extent is unknown.
struct Factors {
  int64_t number = 1;
  std::vector<std::string> symbols;
};
std::optional<Factors> factors(const Dims& dims) {
  Factors result;
  for (const Dim& dim : dims) {
    if (dim.symbolic()) {
      result.symbols.push_back(dim.name());
    } else if (!dim.known() || __builtin_mul_overflow(result.number, dim.extent(), &result.number)) {
      return std::nullopt;
    }
  }
  return result;
}

// The extent that makes `dims` times it hold as many elements as `source`; unknown where symbols are left
// over on either side. An error where numbers cannot fit.
Result<Dim> missing_extent(const Dims& source, const Dims& dims) {
  auto all = factors(source);
  auto given = factors(dims);
  if (!all || !given) return Dim();
  for (const std::string& symbol : given->symbols) {
    auto at = std::find(all->symbols.begin(), all->symbols.end(), symbol);
    if (at == all->symbols.end()) return Dim();
    all->symbols.erase(at);
  }
  if (given->number == 0) return Dim();
  if (all->number % given->number != 0) {
    if (!all->symbols.empty()) return Dim();
    return invalid(fmt::format("{} elements do not divide into {}", all->number, given->number));
  }
  const int64_t number = all->number / given->number;
  if (all->symbols.empty()) return Dim(number);
  if (all->symbols.size() == 1 && number == 1) return Dim::symbol(all->symbols[0]);
  return Dim();
}

Result<Dims> reshaped_dims(const InferContext& context, const Ints& wanted) {
  const TensorType& x = context.input(0);
  const bool allow_zero = context.attributes().integer("allowzero", 0) != 0;
  Dims dims;
  std::optional<std::size_t> missing;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] == -1) {
      if (missing) return context.error("the shape has more than one -1");
      missing = i;
      dims.emplace_back(1);  // replaced below
    } else if (wanted[i] == 0 && !allow_zero) {
      if (x.has_rank() && i >= x.dims->size()) {
        return context.error(fmt::format("the shape copies extent {} of {}, which has none", i, x.text()));
      }
      dims.push_back(x.has_rank() ? (*x.dims)[i] : Dim());
    } else if (wanted[i] < 0) {
      return context.error(fmt::format("the shape has the extent {}", wanted[i]));
    } else {
      dims.emplace_back(wanted[i]);
    }
  }
  if (missing) {
    dims[*missing] = Dim(1);
    if (x.has_rank()) {
      HONE_ASSIGN(dims[*missing], missing_extent(*x.dims, dims));
    } else {
      dims[*missing] = Dim();
    }
  } else if (x.is_static()) {
    const auto given = factors(dims);
    if (given && given->symbols.empty() && given->number != element_count(x.shape())) {
      return context.error(
          fmt::format("{} does not hold the elements of {}", tensor_type(x.dtype, dims).text(), x.text()));
    }
  }
  return dims;
}

Status infer_reshape(InferContext& context) {
  TensorType type = unranked(context.input(0).dtype);
  if (const auto wanted = context.ints(1)) {
    HONE_ASSIGN(type.dims, reshaped_dims(context, *wanted));
  } else if (const auto dims = infer::dims_input(context, 1)) {
    type.dims = infer::unknown_dims(static_cast<int64_t>(dims->size()));
  }
  context.set_output(0, std::move(type));
  return {};
}

Status infer_flatten(InferContext& context) {
  const TensorType& x = context.input(0);
  TensorType type = tensor_type(x.dtype, infer::unknown_dims(2));
  if (x.has_rank()) {
    int64_t axis = context.attributes().integer("axis", 1);
    if (axis < -x.rank() || axis > x.rank()) {
      return context.error(fmt::format("axis {} is outside {}", axis, x.text()));
    }
    if (axis < 0) axis += x.rank();
    const auto at = static_cast<std::size_t>(axis);
    type.dims = Dims{infer::product(*x.dims, 0, at), infer::product(*x.dims, at, x.dims->size())};
  }
  context.set_output(0, std::move(type));
  return {};
}

Status infer_squeeze(InferContext& context) {
  const TensorType& x = context.input(0);
  TensorType type = unranked(x.dtype);
  if (x.has_rank() && context.has_input(1)) {
    if (const auto given = context.ints(1)) {
      HONE_ASSIGN(const Ints axes, infer::normalized_axes(*given, x.rank()));
      for (int64_t axis : axes) {
        const Dim& dim = (*x.dims)[static_cast<std::size_t>(axis)];
        if (dim.known() && dim.extent() != 1) {
          return context.error(fmt::format("axis {} of {} is not 1", axis, x.text()));
        }
      }
      type.dims = infer::reduced(*x.dims, axes, false);
    }
  } else if (x.has_rank() &&
             std::all_of(x.dims->begin(), x.dims->end(), [](const Dim& d) { return d.known(); })) {
    type.dims = *x.dims;
    std::erase_if(*type.dims, [](const Dim& dim) { return dim.extent() == 1; });
  }
  context.set_output(0, std::move(type));
  return {};
}

Status infer_unsqueeze(InferContext& context) {
  const TensorType& x = context.input(0);
  TensorType type = unranked(x.dtype);
  if (const auto given = context.ints(1); given && x.has_rank()) {
    const auto rank = x.rank() + static_cast<int64_t>(given->size());
    HONE_ASSIGN(const Ints axes, infer::normalized_axes(*given, rank));
    type.dims = *x.dims;
    for (int64_t axis : axes) type.dims->insert(type.dims->begin() + axis, Dim(1));
  } else if (const auto dims = infer::dims_input(context, 1); dims && x.has_rank()) {
    type.dims = infer::unknown_dims(x.rank() + static_cast<int64_t>(dims->size()));
  }
  context.set_output(0, std::move(type));
  return {};
}

Status infer_constant_of_shape(InferContext& context) {
  const Tensor value = context.attributes().tensor("value");
  TensorType type = unranked(value.defined() ? value.dtype() : DType::kF32);
  if (value.defined() && value.size() != 1) return context.error("attribute value must hold one element");
  if (const auto shape = context.ints(0)) {
    for (int64_t extent : *shape) {
      if (extent < 0) return context.error(fmt::format("the shape has the extent {}", extent));
    }
  }
  type.dims = infer::dims_input(context, 0);
  context.set_output(0, std::move(type));
  return {};
}

Status infer_range(InferContext& context) {
  Dim count;
  const Tensor* start = context.constant(0);
  const Tensor* limit = context.constant(1);
  const Tensor* delta = context.constant(2);
  for (std::size_t i : {std::size_t{1}, std::size_t{2}}) HONE_CHECK(infer::expect_same_dtype(context, 0, i));
  if (start != nullptr && limit != nullptr && delta != nullptr && start->size() == 1 && limit->size() == 1 &&
      delta->size() == 1) {
    if (delta->at(0) == 0) return context.error("the step (input 2) is 0");
    const auto length = range_length(start->at(0), limit->at(0), delta->at(0));
    if (!length.ok()) return context.error(length.error().message);
    count = *length;
  }
  context.set_output(0, tensor_type(context.input(0).dtype, Dims{count}));
  return {};
}

OpEntry view(std::string_view name, int min_inputs, int max_inputs, InferFunction rule,
             std::vector<AttributeSpec> attributes, std::string_view summary) {
  return {.name = name,
          .op_class = OpClass::kView,
          .min_inputs = min_inputs,
          .max_inputs = max_inputs,
          .attributes = std::move(attributes),
          .infer = rule,
          .bytes = infer::no_bytes,
          .summary = summary};
}

OpEntry shape_op(std::string_view name, int inputs, InferFunction rule, std::vector<AttributeSpec> attributes,
                 std::string_view summary) {
  return {.name = name,
          .op_class = OpClass::kShape,
          .min_inputs = inputs,
          .max_inputs = inputs,
          .attributes = std::move(attributes),
          .infer = rule,
          .bytes = infer::written_bytes,
          .summary = summary};
}

}  // namespace

void add_shape_ops(OpTable& table) {
  using enum AttributeKind;
  table.add(
      view("Reshape", 2, 2, infer_reshape, {{"allowzero", kInt}}, "the same elements in another shape"));
  table.add(
      view("Flatten", 1, 1, infer_flatten, {{"axis", kInt}}, "a matrix: axes before `axis`, and after"));
  table.add(view("Squeeze", 1, 2, infer_squeeze, {}, "axes of extent 1 removed"));
  table.add(view("Unsqueeze", 2, 2, infer_unsqueeze, {}, "axes of extent 1 added"));
  OpEntry identity = view("Identity", 1, 1, infer::same_as_first, {}, "its input");
  identity.layouts = LayoutRule::kKept;
  table.add(std::move(identity));
  table.add(shape_op("Shape", 1, infer_shape, {{"start", kInt}, {"end", kInt}}, "the extents of a tensor"));
  table.add(shape_op("Size", 1, infer_size, {}, "the number of elements of a tensor"));
  table.add(shape_op("ConstantOfShape", 1, infer_constant_of_shape, {{"value", kTensor}},
                     "one value in every element"));
  table.add(shape_op("Range", 3, infer_range, {{"stash_type", kInt}}, "start, start + delta, … below limit"));
}

}  // namespace hone::graph

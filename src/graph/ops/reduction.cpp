// Operators over axes: Reduce*, ArgMax, ArgMin, cumulative sums, TopK, softmax and its relatives.
#include <cmath>
#include <numeric>

#include <fmt/core.h>

#include "graph/ops/infer_helpers.h"

namespace hone::graph {
namespace {

Status infer_reduce_as(InferContext& context, DType result) {
  const TensorType& x = context.input(0);
  const bool keepdims = context.attributes().integer("keepdims", 1) != 0;
  const bool noop = context.attributes().integer("noop_with_empty_axes", 0) != 0;
  TensorType type = unranked(result);
  std::optional<Ints> axes = context.has_input(1) ? context.ints(1) : Ints{};
  if (axes && x.has_rank()) {
    if (axes->empty() && !noop) {
      axes->resize(x.dims->size());
      std::iota(axes->begin(), axes->end(), 0);
    }
    HONE_ASSIGN(const Ints normalized, infer::normalized_axes(*axes, x.rank()));
    type.dims = infer::reduced(*x.dims, normalized, keepdims);
  } else if (x.has_rank() && keepdims) {
    type.dims = infer::unknown_dims(x.rank());
  } else if (const auto dims = infer::dims_input(context, 1); dims && x.has_rank() && !dims->empty()) {
    type.dims = infer::unknown_dims(x.rank() - static_cast<int64_t>(dims->size()));
  }
  context.set_output(0, std::move(type));
  return {};
}

Status infer_reduce(InferContext& context) { return infer_reduce_as(context, context.input(0).dtype); }

Status infer_reduce_to_f32(InferContext& context) {
  HONE_CHECK(infer::expect_dtype(context, 0, infer::is_general_float, "a floating-point type"));
  return infer_reduce_as(context, DType::kF32);
}

Status infer_arg(InferContext& context) {
  const TensorType& x = context.input(0);
  TensorType type = unranked(DType::kI64);
  if (x.has_rank()) {
    HONE_ASSIGN(const int64_t axis, infer::axis(context, "axis", 0, x.rank()));
    type.dims = infer::reduced(*x.dims, {axis}, context.attributes().integer("keepdims", 1) != 0);
  }
  context.set_output(0, std::move(type));
  return {};
}

Status infer_cumulative(InferContext& context) {
  const TensorType& x = context.input(0);
  if (const auto axis = context.ints(1); axis && x.has_rank()) {
    if (axis->size() != 1) return context.error("the axis (input 1) must be a scalar");
    HONE_CHECK(normalize_axis((*axis)[0], x.rank()));
  }
  return infer::same_as_first_numeric(context);
}

Status infer_softmax(InferContext& context) {
  const TensorType& x = context.input(0);
  if (x.has_rank() && x.rank() > 0) HONE_CHECK(infer::axis(context, "axis", -1, x.rank()));
  return infer::same_as_first_float(context);
}

Status infer_top_k(InferContext& context) {
  const TensorType& x = context.input(0);
  TensorType values = unranked(x.dtype);
  if (x.has_rank()) {
    HONE_ASSIGN(const int64_t axis, infer::axis(context, "axis", -1, x.rank()));
    Dim count;
    if (const auto k = context.ints(1)) {
      if (k->size() != 1 || (*k)[0] < 0) return context.error("k (input 1) must be one number, not negative");
      count = (*k)[0];
      const Dim& extent = (*x.dims)[static_cast<std::size_t>(axis)];
      if (extent.known() && extent.extent() < count.extent()) {
        return context.error(fmt::format("k is {}, but axis {} of {} is shorter", (*k)[0], axis, x.text()));
      }
    }
    Dims dims = *x.dims;
    dims[static_cast<std::size_t>(axis)] = count;
    values.dims = std::move(dims);
  }
  TensorType indices = values;
  indices.dtype = DType::kI64;
  context.set_output(0, std::move(values));
  context.set_output(1, std::move(indices));
  return {};
}

// Selecting k of n costs about log2(k) comparisons an element.
double top_k_flops(const CostContext& context) {
  const double kept = infer::elements(context.out(0));
  const double all = infer::elements(context.in(0));
  return all > 0 ? all * std::max(1.0, std::log2(std::max(kept, 2.0))) : 0;
}

struct ReductionRow {
  std::string_view name;
  FlopsFunction flops;  // operations an input element: the fold's, and the map's before it
  std::string_view summary;
  LayoutRule layouts = LayoutRule::kPlain;
};

void add_reduce(OpTable& table) {
  using enum AttributeKind;
  const std::vector<ReductionRow> rows = {
      {"ReduceL1", infer::per_input<2>, "the sum of absolute values over axes"},
      {"ReduceL2", infer::per_input<2>, "the root of the sum of squares over axes"},
      {"ReduceLogSum", infer::per_input<1>, "the logarithm of the sum over axes"},
      {"ReduceLogSumExp", infer::per_input<4>, "the logarithm of the sum of exponentials over axes"},
      {"ReduceMax", infer::per_input<1>, "the largest element over axes"},
      {"ReduceMean", infer::per_input<1>, "the mean over axes"},
      {"ReduceMin", infer::per_input<1>, "the smallest element over axes"},
      {"ReduceProd", infer::per_input<1>, "the product over axes"},
      {"ReduceSum", infer::per_input<1>, "the sum over axes", LayoutRule::kReads},
      {"ReduceSumSquare", infer::per_input<2>, "the sum of squares over axes"},
  };
  for (const ReductionRow& row : rows) {
    table.add({.name = row.name,
               .op_class = OpClass::kReduction,
               .min_inputs = 1,
               .max_inputs = 2,
               .attributes = {{"keepdims", kInt}, {"noop_with_empty_axes", kInt}},
               .infer = infer_reduce,
               .flops = row.flops,
               .layouts = row.layouts,
               .summary = row.summary});
  }
}

}  // namespace

void add_reduction_ops(OpTable& table) {
  using enum AttributeKind;
  add_reduce(table);
  table.add({.name = "hone.ReduceSum",
             .op_class = OpClass::kReduction,
             .min_inputs = 1,
             .max_inputs = 2,
             .attributes = {{"keepdims", kInt}, {"noop_with_empty_axes", kInt}},
             .infer = infer_reduce_to_f32,
             .flops = infer::per_input<1>,
             .layouts = LayoutRule::kReads,
             .summary = "ReduceSum whose result is f32, whatever float type its input has"});
  for (auto [name, summary] : {std::pair{"ArgMax", "the index of the largest element along an axis"},
                               std::pair{"ArgMin", "the index of the smallest element along an axis"}}) {
    table.add({.name = name,
               .op_class = OpClass::kReduction,
               .min_inputs = 1,
               .max_inputs = 1,
               .attributes = {{"axis", kInt}, {"keepdims", kInt}, {"select_last_index", kInt}},
               .infer = infer_arg,
               .flops = infer::per_input<1>,
               .summary = summary});
  }
  for (auto [name, summary] : {std::pair{"CumSum", "running sums along an axis"},
                               std::pair{"CumProd", "running products along an axis"}}) {
    table.add({.name = name,
               .op_class = OpClass::kReduction,
               .min_inputs = 2,
               .max_inputs = 2,
               .attributes = {{"exclusive", kInt}, {"reverse", kInt}},
               .infer = infer_cumulative,
               .flops = infer::per_input<1>,
               .summary = summary});
  }
  const std::vector<ReductionRow> rows = {
      {"Softmax", infer::per_input<5>, "exp(x) normalized along an axis"},
      {"LogSoftmax", infer::per_input<5>, "the logarithm of Softmax"},
      {"Hardmax", infer::per_input<1>, "1 at the first largest element along an axis, 0 elsewhere"},
  };
  for (const ReductionRow& row : rows) {
    table.add({.name = row.name,
               .op_class = OpClass::kReduction,
               .min_inputs = 1,
               .max_inputs = 1,
               .attributes = {{"axis", kInt}},
               .infer = infer_softmax,
               .flops = row.flops,
               .summary = row.summary});
  }
  table.add({.name = "TopK",
             .op_class = OpClass::kReduction,
             .min_inputs = 2,
             .max_inputs = 2,
             .min_outputs = 2,
             .max_outputs = 2,
             .attributes = {{"axis", kInt}, {"largest", kInt}, {"sorted", kInt}},
             .infer = infer_top_k,
             .flops = top_k_flops,
             .summary = "the k largest or smallest elements along an axis, and their indices"});
}

}  // namespace hone::graph

// Movement driven by index tensors or by the data: gathers, scatters, OneHot, Compress, NonZero, Unique.
#include <fmt/core.h>

#include "graph/ops/infer_helpers.h"
#include "graph/ops/parts.h"

namespace hone::graph {
namespace {

bool is_index(DType dtype) { return dtype == DType::kI32 || dtype == DType::kI64; }

Status expect_indices(const InferContext& context, std::size_t input) {
  return infer::expect_dtype(context, input, is_index, "i32 or i64");
}

Status infer_gather(InferContext& context) {
  HONE_CHECK(expect_indices(context, 1));
  HONE_CHECK(infer::expect_rank_at_least(context, 0, 1));
  const TensorType& data = context.input(0);
  const TensorType& indices = context.input(1);
  TensorType type = unranked(data.dtype);
  if (data.has_rank()) {
    HONE_ASSIGN(const int64_t axis, infer::axis(context, "axis", 0, data.rank()));
    if (indices.has_rank()) {
      type.dims = Dims(data.dims->begin(), data.dims->begin() + axis);
      type.dims->insert(type.dims->end(), indices.dims->begin(), indices.dims->end());
      type.dims->insert(type.dims->end(), data.dims->begin() + axis + 1, data.dims->end());
    }
  }
  context.set_output(0, std::move(type));
  return {};
}

Status infer_gather_elements(InferContext& context) {
  HONE_CHECK(expect_indices(context, 1));
  TensorType type = unranked(context.input(0).dtype);
  type.dims = context.input(1).dims;
  if (type.has_rank()) HONE_CHECK(infer::expect_rank(context, 0, type.rank()));
  if (type.has_rank()) HONE_CHECK(infer::axis(context, "axis", 0, type.rank()));
  context.set_output(0, std::move(type));
  return {};
}

Status infer_gather_nd(InferContext& context) {
  HONE_CHECK(expect_indices(context, 1));
  HONE_CHECK(infer::expect_rank_at_least(context, 0, 1));
  HONE_CHECK(infer::expect_rank_at_least(context, 1, 1));
  const TensorType& data = context.input(0);
  const TensorType& indices = context.input(1);
  const int64_t batch = context.attributes().integer("batch_dims", 0);
  TensorType type = unranked(data.dtype);
  if (data.has_rank() && indices.has_rank() && indices.dims->back().known()) {
    const int64_t first = batch + indices.dims->back().extent();
    if (batch < 0 || batch >= indices.rank() || first > data.rank()) {
      return context.error(
          fmt::format("indices {} with batch_dims {} reach beyond {}", indices.text(), batch, data.text()));
    }
    type.dims = Dims(indices.dims->begin(), indices.dims->end() - 1);
    type.dims->insert(type.dims->end(), data.dims->begin() + first, data.dims->end());
  }
  context.set_output(0, std::move(type));
  return {};
}

Status check_reduction(const InferContext& context) {
  const std::string reduction = context.attributes().text("reduction", "none");
  for (std::string_view known : {"none", "add", "mul", "max", "min"}) {
    if (reduction == known) return {};
  }
  return context.error(fmt::format("reduction '{}' is not none, add, mul, max or min", reduction));
}

Status infer_scatter_elements(InferContext& context) {
  HONE_CHECK(expect_indices(context, 1));
  HONE_CHECK(infer::expect_same_dtype(context, 0, 2));
  HONE_CHECK(check_reduction(context));
  const TensorType& data = context.input(0);
  if (data.has_rank()) {
    HONE_CHECK(infer::expect_rank(context, 1, data.rank()));
    HONE_CHECK(infer::expect_rank(context, 2, data.rank()));
    HONE_CHECK(infer::axis(context, "axis", 0, data.rank()));
  }
  return infer::same_as_first(context);
}

Status infer_scatter_nd(InferContext& context) {
  HONE_CHECK(expect_indices(context, 1));
  HONE_CHECK(infer::expect_rank_at_least(context, 1, 1));
  HONE_CHECK(infer::expect_same_dtype(context, 0, 2));
  HONE_CHECK(check_reduction(context));
  return infer::same_as_first(context);
}

Status infer_tensor_scatter(InferContext& context) {
  HONE_CHECK(infer::expect_same_dtype(context, 0, 1));
  const TensorType& cache = context.input(0);
  if (cache.has_rank()) {
    HONE_CHECK(infer::expect_rank(context, 1, cache.rank()));
    HONE_ASSIGN(const int64_t axis, infer::axis(context, "axis", -2, cache.rank()));
    if (axis == 0) return context.error("axis is the batch axis");
  }
  const std::string mode = context.attributes().text("mode", "linear");
  if (mode != "linear" && mode != "circular") {
    return context.error(fmt::format("mode '{}' is not linear or circular", mode));
  }
  return infer::same_as_first(context);
}

Status infer_compress(InferContext& context) {
  HONE_CHECK(infer::expect_rank(context, 1, 1));
  const TensorType& x = context.input(0);
  if (!context.attributes().has("axis")) {
    context.set_output(0, tensor_type(x.dtype, Dims{Dim()}));
    return {};
  }
  TensorType type = unranked(x.dtype);
  if (x.has_rank()) {
    HONE_ASSIGN(const int64_t axis, infer::axis(context, "axis", 0, x.rank()));
    type.dims = x.dims;
    (*type.dims)[static_cast<std::size_t>(axis)] = Dim();
  }
  context.set_output(0, std::move(type));
  return {};
}

Status infer_non_zero(InferContext& context) {
  const TensorType& x = context.input(0);
  const Dim rank = x.has_rank() ? Dim(x.rank()) : Dim();
  context.set_output(0, tensor_type(DType::kI64, Dims{rank, Dim()}));
  return {};
}

Status infer_unique(InferContext& context) {
  const TensorType& x = context.input(0);
  TensorType type = tensor_type(x.dtype, Dims{Dim()});
  if (context.attributes().has("axis")) {
    type.dims = x.dims;
    if (x.has_rank()) {
      HONE_ASSIGN(const int64_t axis, infer::axis(context, "axis", 0, x.rank()));
      (*type.dims)[static_cast<std::size_t>(axis)] = Dim();
    }
  }
  context.set_output(0, std::move(type));
  for (std::size_t i = 1; i < context.output_count(); ++i) {
    context.set_output(i, tensor_type(DType::kI64, Dims{Dim()}));
  }
  return {};
}

Status infer_one_hot(InferContext& context) {
  const TensorType& indices = context.input(0);
  TensorType type = unranked(context.input(2).dtype);
  Dim depth;
  if (const Tensor* constant = context.constant(1); constant != nullptr && constant->size() == 1) {
    if (constant->int_at(0) < 0) return context.error("the depth (input 1) is negative");
    depth = constant->int_at(0);
  }
  if (indices.has_rank()) {
    HONE_ASSIGN(const int64_t axis, infer::axis(context, "axis", -1, indices.rank() + 1));
    type.dims = indices.dims;
    type.dims->insert(type.dims->begin() + axis, depth);
  }
  context.set_output(0, std::move(type));
  return {};
}

// A gather reads the indices and the rows that they name.
void gather_bytes(const CostContext& context, Cost& cost) {
  cost.bytes_read = context.in(1).bytes() + context.out(0).bytes();
  cost.bytes_written = context.out(0).bytes();
}

OpEntry indexing(std::string_view name, int inputs, InferFunction rule, std::vector<AttributeSpec> attributes,
                 std::string_view summary, BytesFunction bytes = nullptr) {
  return {.name = name,
          .op_class = OpClass::kMovement,
          .min_inputs = inputs,
          .max_inputs = inputs,
          .attributes = std::move(attributes),
          .infer = rule,
          .bytes = bytes,
          .summary = summary};
}

}  // namespace

void add_indexing_ops(OpTable& table) {
  using enum AttributeKind;
  const AttributeSpec axis{"axis", kInt};
  const AttributeSpec reduction{"reduction", kString};
  table.add(
      indexing("Gather", 2, infer_gather, {axis}, "slices along an axis, chosen by index", gather_bytes));
  table.add(indexing("GatherElements", 2, infer_gather_elements, {axis},
                     "elements along an axis, chosen by an index each", gather_bytes));
  table.add(indexing("GatherND", 2, infer_gather_nd, {{"batch_dims", kInt}}, "slices chosen by index tuples",
                     gather_bytes));
  table.add(indexing("ScatterElements", 3, infer_scatter_elements, {axis, reduction},
                     "the data with elements along an axis replaced or reduced"));
  table.add(indexing("ScatterND", 3, infer_scatter_nd, {reduction},
                     "the data with slices at index tuples replaced or reduced"));
  OpEntry tensor_scatter = indexing("TensorScatter", 3, infer_tensor_scatter, {axis, {"mode", kString}},
                                    "a key/value cache with new entries written at an offset per sample");
  tensor_scatter.min_inputs = 2;
  table.add(std::move(tensor_scatter));
  table.add(indexing("Compress", 2, infer_compress, {axis}, "slices along an axis where a condition holds"));
  table.add(indexing("NonZero", 1, infer_non_zero, {}, "the indices of the elements that are not 0"));
  OpEntry unique = indexing("Unique", 1, infer_unique, {axis, {"sorted", kInt}},
                            "the distinct elements or slices, where they stand and how often");
  unique.max_outputs = 4;
  table.add(std::move(unique));
  table.add(
      indexing("OneHot", 3, infer_one_hot, {axis}, "a new axis that is on at the index, off elsewhere"));
}

}  // namespace hone::graph

// Changes of element type: casts, and linear quantization per tensor, per axis and per block.
#include <fmt/core.h>

#include "graph/ops/infer_helpers.h"
#include "graph/ops/parts.h"

namespace hone::graph {
namespace {

Status with_dtype(InferContext& context, DType dtype) {
  TensorType type = context.input(0);
  type.dtype = dtype;
  context.set_output(0, std::move(type));
  return {};
}

Status infer_cast(InferContext& context) {
  HONE_ASSIGN(const DType to, infer::dtype_attribute(context, "to", DType::kUndefined));
  return with_dtype(context, to);
}

Status infer_cast_like(InferContext& context) { return with_dtype(context, context.input(1).dtype); }

Status infer_bit_cast(InferContext& context) {
  HONE_ASSIGN(const DType to, infer::dtype_attribute(context, "to", DType::kUndefined));
  const DType from = context.input(0).dtype;
  if (from != DType::kUndefined && (dtype_bits(from) != dtype_bits(to) || dtype_bits(to) == 0)) {
    return context.error(fmt::format("{} and {} differ in width", dtype_name(from), dtype_name(to)));
  }
  return with_dtype(context, to);
}

// The scale is a scalar, a vector along `axis`, or (block_size > 0) of the rank of x; the zero point is
// shaped like the scale.
Status check_granularity(const InferContext& context) {
  const TensorType& x = context.input(0);
  const TensorType& scale = context.input(1);
  const TensorType& zero_point = context.input(2);
  // A scalar and a vector of one element mean the same.
  const bool comparable = zero_point.is_static() && scale.is_static();
  if (comparable && element_count(zero_point.shape()) != element_count(scale.shape())) {
    return context.error(
        fmt::format("zero point {} and scale {} differ in shape", zero_point.text(), scale.text()));
  }
  if (!x.has_rank() || !scale.has_rank() || scale.rank() == 0) return {};
  if (context.attributes().integer("block_size", 0) > 0) {
    if (scale.rank() == x.rank()) return {};
    return context.error(
        fmt::format("scale {} of blocked quantization must have the rank of {}", scale.text(), x.text()));
  }
  if (scale.rank() > 1) {
    return context.error(fmt::format("scale {} must be a scalar or a vector", scale.text()));
  }
  const Dim& count = (*scale.dims)[0];
  if (x.rank() == 1 || (count.known() && count.extent() == 1)) return {};
  HONE_ASSIGN(const int64_t axis, infer::axis(context, "axis", 1, x.rank()));
  const Dim& extent = (*x.dims)[static_cast<std::size_t>(axis)];
  if (count.known() && extent.known() && count.extent() != extent.extent()) {
    return context.error(fmt::format("scale {} does not fit axis {} of {}", scale.text(), axis, x.text()));
  }
  return {};
}

Status infer_quantize(InferContext& context) {
  HONE_CHECK(check_granularity(context));
  const DType given = context.has_input(2) ? context.input(2).dtype : DType::kU8;
  HONE_ASSIGN(const DType dtype, infer::dtype_attribute(context, "output_dtype", given));
  if (context.has_input(2) && given != DType::kUndefined && dtype != given) {
    return context.error(fmt::format("output_dtype {} and the zero point's dtype {} differ",
                                     dtype_name(dtype), dtype_name(given)));
  }
  return with_dtype(context, dtype);
}

Status infer_dequantize(InferContext& context) {
  HONE_CHECK(check_granularity(context));
  if (context.has_input(2)) HONE_CHECK(infer::expect_same_dtype(context, 0, 2));
  HONE_ASSIGN(const DType dtype, infer::dtype_attribute(context, "output_dtype", context.input(1).dtype));
  return with_dtype(context, dtype);
}

Status infer_dynamic_quantize(InferContext& context) {
  HONE_CHECK(infer::expect_dtype(context, 0, infer::is_general_float, "a floating-point type"));
  HONE_CHECK(with_dtype(context, DType::kU8));
  context.set_output(1, tensor_type(context.input(0).dtype, Dims{}));
  context.set_output(2, tensor_type(DType::kU8, Dims{}));
  return {};
}

}  // namespace

void add_quantization_ops(OpTable& table) {
  using enum AttributeKind;
  table.add({.name = "Cast",
             .op_class = OpClass::kPointwise,
             .min_inputs = 1,
             .max_inputs = 1,
             .attributes = {{"to", kInt, true}, {"saturate", kInt}, {"round_mode", kString}},
             .infer = infer_cast,
             .summary = "the same numbers in another element type"});
  table.add({.name = "CastLike",
             .op_class = OpClass::kPointwise,
             .min_inputs = 2,
             .max_inputs = 2,
             .attributes = {{"saturate", kInt}, {"round_mode", kString}},
             .infer = infer_cast_like,
             .summary = "the same numbers in the element type of the second input"});
  table.add({.name = "BitCast",
             .op_class = OpClass::kView,
             .min_inputs = 1,
             .max_inputs = 1,
             .attributes = {{"to", kInt, true}},
             .infer = infer_bit_cast,
             .bytes = infer::no_bytes,
             .summary = "the same bits read as another element type of the same width"});
  table.add({.name = "QuantizeLinear",
             .op_class = OpClass::kPointwise,
             .min_inputs = 2,
             .max_inputs = 3,
             .attributes = {{"axis", kInt},
                            {"saturate", kInt},
                            {"block_size", kInt},
                            {"output_dtype", kInt},
                            {"precision", kInt}},
             .infer = infer_quantize,
             .flops = infer::per_output<3>,
             .summary = "saturate(round(x / scale) + zero point)"});
  table.add({.name = "DequantizeLinear",
             .op_class = OpClass::kPointwise,
             .min_inputs = 2,
             .max_inputs = 3,
             .attributes = {{"axis", kInt}, {"block_size", kInt}, {"output_dtype", kInt}},
             .infer = infer_dequantize,
             .flops = infer::per_output<2>,
             .summary = "(x - zero point) · scale"});
  table.add({.name = "DynamicQuantizeLinear",
             .op_class = OpClass::kPointwise,
             .min_inputs = 1,
             .max_inputs = 1,
             .min_outputs = 3,
             .max_outputs = 3,
             .infer = infer_dynamic_quantize,
             .flops = infer::per_input<5>,
             .summary = "x quantized to u8 by its own range, with scale and zero point"});
}

}  // namespace hone::graph

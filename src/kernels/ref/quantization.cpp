// Changes of element type: casts, and linear quantization per tensor, per axis and per block.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include <fmt/core.h>

#include "core/onnx_dtype.h"
#include "kernels/ref/elements.h"
#include "kernels/ref/parts.h"

namespace hone::kernels::ref {
namespace {

using Outputs = Result<std::vector<Tensor>>;

// A number as ONNX's Cast reads it: decimal or scientific, or INF, +INF, -INF, NaN in any case.
Result<double> parse_number(const RefCall& call, std::string_view text) {
  std::string_view digits = text;
  while (!digits.empty() && digits.front() == ' ') digits.remove_prefix(1);
  while (!digits.empty() && digits.back() == ' ') digits.remove_suffix(1);
  if (!digits.empty() && digits.front() == '+') digits.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc() && end == digits.data() + digits.size() && !digits.empty()) return value;
  return bad_call(call, fmt::format("'{}' is not a number", text));
}

Outputs cast_from_strings(const RefCall& call, DType to, bool saturate) {
  const Tensor& x = call.inputs[0];
  if (is_integer(to)) {
    std::vector<int64_t> values;
    for (const std::string& text : x.strings()) {
      int64_t whole = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), whole);
      if (error == std::errc() && end == text.data() + text.size()) {
        values.push_back(whole);
        continue;
      }
      HONE_ASSIGN(const double value, parse_number(call, text));
      values.push_back(std::isfinite(value) && std::fabs(value) < 0x1p63 ? static_cast<int64_t>(value) : 0);
    }
    return one(narrow(to, x.shape(), values));
  }
  std::vector<double> values;
  for (const std::string& text : x.strings()) {
    HONE_ASSIGN(const double value, parse_number(call, text));
    values.push_back(value);
  }
  return one(narrow(to, x.shape(), values, saturate));
}

// The shortest text that reads back as the same number, as numpy writes it.
Outputs cast_to_strings(const RefCall& call) {
  const Tensor& x = call.inputs[0];
  HONE_CHECK(expect_real(call, x.dtype()));
  Tensor result(DType::kString, x.shape());
  auto& strings = result.strings();
  for (int64_t i = 0; i < x.size(); ++i) {
    auto& text = strings[static_cast<std::size_t>(i)];
    if (x.dtype() == DType::kF64) {
      text = fmt::format("{}", x.at(i));
    } else if (is_float(x.dtype())) {
      text = fmt::format("{}", static_cast<float>(x.at(i)));
    } else if (x.dtype() == DType::kBool) {
      text = x.int_at(i) != 0 ? "True" : "False";
    } else if (is_signed(x.dtype())) {
      text = fmt::format("{}", x.int_at(i));
    } else {
      text = fmt::format("{}", static_cast<uint64_t>(x.int_at(i)));
    }
  }
  return one(std::move(result));
}

Outputs cast_to_e8m0(const RefCall& call, bool saturate) {
  const std::string mode = call.attributes.text("round_mode", "up");
  E8M0Rounding rounding = E8M0Rounding::kUp;
  if (mode == "down") {
    rounding = E8M0Rounding::kDown;
  } else if (mode == "nearest") {
    rounding = E8M0Rounding::kNearest;
  } else if (mode != "up") {
    return bad_call(call, fmt::format("round_mode '{}' is not up, down or nearest", mode));
  }
  const Tensor& x = call.inputs[0];
  Tensor result(DType::kF8E8M0, x.shape());
  const auto values = widen<double>(x);
  std::transform(values.begin(), values.end(), elements<uint8_t>(result).begin(),
                 [&](double value) { return f32_to_e8m0(static_cast<float>(value), rounding, saturate); });
  return one(std::move(result));
}

Outputs cast_to(const RefCall& call, DType to) {
  const Tensor& x = call.inputs[0];
  const bool saturate = call.attributes.integer("saturate", 1) != 0;
  if (to == x.dtype()) return one(x);
  if (to == DType::kString) return cast_to_strings(call);
  HONE_CHECK(expect_real(call, to));
  if (x.dtype() == DType::kString) return cast_from_strings(call, to, saturate);
  HONE_CHECK(expect_real(call, x.dtype()));
  if (to == DType::kF8E8M0) return cast_to_e8m0(call, saturate);
  return with_wide(
      x.dtype(), [&]<typename W>(W) -> Outputs { return one(narrow(to, x.shape(), widen<W>(x), saturate)); });
}

Outputs cast(const RefCall& call) {
  HONE_CHECK(expect_inputs(call, 1));
  HONE_ASSIGN(const DType to, dtype_attribute(call, "to", DType::kUndefined));
  if (to == DType::kUndefined) return bad_call(call, "attribute to is missing");
  return cast_to(call, to);
}

Outputs cast_like(const RefCall& call) {
  HONE_CHECK(expect_inputs(call, 2));
  return cast_to(call, call.inputs[1].dtype());
}

Outputs bit_cast(const RefCall& call) {
  HONE_CHECK(expect_inputs(call, 1));
  HONE_ASSIGN(const DType to, dtype_attribute(call, "to", DType::kUndefined));
  const Tensor& x = call.inputs[0];
  if (dtype_bits(to) != dtype_bits(x.dtype()) || dtype_bits(to) == 0) {
    return bad_call(call, fmt::format("{} and {} differ in width", dtype_name(x.dtype()), dtype_name(to)));
  }
  if (dtype_bits(to) < 8) {  // held as numbers, one a byte: the pattern is the low bits
    std::vector<int64_t> bits;
    for (const uint8_t element : elements<uint8_t>(x)) bits.push_back(element & ((1 << dtype_bits(to)) - 1));
    if (is_integer(to)) return one(narrow(to, x.shape(), bits));
    return one(
        Tensor::of(to, x.shape(), std::span<const uint8_t>(std::vector<uint8_t>(bits.begin(), bits.end()))));
  }
  Tensor result(to, x.shape());
  with_storage(to, [&]<typename T>(T) {
    std::copy(elements<T>(x).begin(), elements<T>(x).end(), elements<T>(result).begin());
  });
  return one(std::move(result));
}

// For each element of x, the element of the scale (and zero point) that applies to it.
Result<std::vector<int64_t>> scale_offsets(const RefCall& call) {
  const Shape& shape = call.inputs[0].shape();
  const Tensor& scale = call.inputs[1];
  if (call.has(2) && call.inputs[2].size() != scale.size()) {
    return bad_call(call, "scale and zero point differ in shape");
  }
  if (scale.size() == 1) return strided_offsets(shape, Shape(shape.size(), 0));
  HONE_ASSIGN(const int64_t axis, axis_attribute(call, "axis", 1, static_cast<int64_t>(shape.size())));
  const auto at = static_cast<std::size_t>(axis);
  const int64_t block = call.attributes.integer("block_size", 0);
  Shape wanted = shape;
  if (block > 0) {
    wanted[at] = (shape[at] + block - 1) / block;
    if (scale.shape() != wanted) {
      return bad_call(call, fmt::format("scale {} of blocks of {} must be {}", shape_text(scale.shape()),
                                        block, shape_text(wanted)));
    }
  } else if (scale.rank() != 1 || scale.shape()[0] != shape[at]) {
    return bad_call(call, fmt::format("scale {} does not fit axis {} of {}", shape_text(scale.shape()), axis,
                                      shape_text(shape)));
  }
  auto strides = block > 0 ? row_major_strides(wanted) : Shape(shape.size(), 0);
  if (block == 0) strides[at] = 1;
  std::vector<int64_t> offsets;
  std::vector<int64_t> index(shape.size(), 0);
  if (element_count(shape) == 0) return offsets;
  do {
    int64_t offset = 0;
    for (std::size_t i = 0; i < index.size(); ++i) {
      offset += (i == at && block > 0 ? index[i] / block : index[i]) * strides[i];
    }
    offsets.push_back(offset);
  } while (next_index(index, shape));
  return offsets;
}

// What `value` becomes when it is stored as `dtype`.
double rounded_to(DType dtype, double value) {
  switch (dtype) {
    case DType::kF16:
      return f16_to_f32(f32_to_f16(round_to_odd(value)));
    case DType::kBF16:
      return bf16_to_f32(f32_to_bf16(round_to_odd(value)));
    case DType::kF64:
      return value;
    default:
      return static_cast<float>(value);
  }
}

std::pair<int64_t, int64_t> integer_limits(DType dtype) {
  const int bits = dtype_bits(dtype);
  if (is_signed(dtype)) return {-(int64_t{1} << (bits - 1)), (int64_t{1} << (bits - 1)) - 1};
  return {0, (int64_t{1} << bits) - 1};
}

double to_integer_range(DType dtype, double value) {
  const auto [low, high] = integer_limits(dtype);
  if (std::isnan(value)) return 0;
  return std::clamp(value, static_cast<double>(low), static_cast<double>(high));
}

Outputs quantize_linear(const RefCall& call) {
  HONE_CHECK(expect_inputs(call, 2));
  const Tensor& x = call.inputs[0];
  const Tensor& scale = call.inputs[1];
  HONE_CHECK(expect_real(call, x.dtype()));
  HONE_CHECK(expect_real(call, scale.dtype()));
  HONE_ASSIGN(const DType to,
              dtype_attribute(call, "output_dtype", call.has(2) ? call.inputs[2].dtype() : DType::kU8));
  if (!is_float(to) && (!is_integer(to) || dtype_bits(to) > 16)) {
    return unsupported(fmt::format("{} to {}", call.op, dtype_name(to)));
  }
  HONE_ASSIGN(const DType precision, dtype_attribute(call, "precision", scale.dtype()));
  HONE_ASSIGN(const auto from, scale_offsets(call));
  auto values = widen<double>(x);
  const auto scales = widen<double>(scale);
  const auto zeros = call.has(2) ? widen<double>(call.inputs[2]) : std::vector<double>(scales.size(), 0.0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto at = static_cast<std::size_t>(from[i]);
    const double quotient =
        rounded_to(precision, rounded_to(precision, values[i]) / rounded_to(precision, scales[at]));
    values[i] =
        is_float(to) ? quotient + zeros[at] : to_integer_range(to, std::nearbyint(quotient) + zeros[at]);
  }
  return one(narrow(to, x.shape(), values, call.attributes.integer("saturate", 1) != 0));
}

Outputs dequantize_linear(const RefCall& call) {
  HONE_CHECK(expect_inputs(call, 2));
  const Tensor& x = call.inputs[0];
  HONE_CHECK(expect_real(call, x.dtype()));
  HONE_CHECK(expect_real(call, call.inputs[1].dtype()));
  HONE_ASSIGN(const DType to, dtype_attribute(call, "output_dtype", call.inputs[1].dtype()));
  HONE_CHECK(expect_real(call, to));
  HONE_ASSIGN(const auto from, scale_offsets(call));
  auto values = widen<double>(x);
  const auto scales = widen<double>(call.inputs[1]);
  const auto zeros = call.has(2) ? widen<double>(call.inputs[2]) : std::vector<double>(scales.size(), 0.0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto at = static_cast<std::size_t>(from[i]);
    values[i] = (values[i] - zeros[at]) * scales[at];
  }
  return one(narrow(to, x.shape(), values));
}

// In single precision throughout, as the operator defines it; a range of zero has scale 1.
Outputs dynamic_quantize_linear(const RefCall& call) {
  HONE_CHECK(expect_inputs(call, 1));
  const Tensor& x = call.inputs[0];
  HONE_CHECK(expect_real(call, x.dtype()));
  auto values = widen<double>(x);
  float low = 0;
  float high = 0;
  for (double value : values) {
    low = std::min(low, static_cast<float>(value));
    high = std::max(high, static_cast<float>(value));
  }
  const float scale = high > low ? (high - low) / 255.0F : 1.0F;
  const double zero_point = to_integer_range(DType::kU8, std::nearbyint(-low / scale));
  for (double& value : values) {
    const float quotient = static_cast<float>(value) / scale;
    value = to_integer_range(DType::kU8, static_cast<double>(std::nearbyint(quotient)) + zero_point);
  }
  std::vector<Tensor> outputs = one(narrow(DType::kU8, x.shape(), values));
  outputs.push_back(narrow(x.dtype(), {}, std::vector<double>{scale}));
  outputs.push_back(narrow(DType::kU8, {}, std::vector<double>{zero_point}));
  return outputs;
}

}  // namespace

void add_quantization_kernels(RefTable& table) {
  table.add("Cast", cast);
  table.add("CastLike", cast_like);
  table.add("BitCast", bit_cast);
  table.add("QuantizeLinear", quantize_linear);
  table.add("DequantizeLinear", dequantize_linear);
  table.add("DynamicQuantizeLinear", dynamic_quantize_linear);
}

}  // namespace hone::kernels::ref

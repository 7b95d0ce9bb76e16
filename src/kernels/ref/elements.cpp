#include "kernels/ref/elements.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <stdexcept>

#include <fmt/core.h>

#include "core/onnx_dtype.h"
#include "kernels/ref/arithmetic.h"

namespace hone::kernels::ref {

float round_to_odd(double value) {
  const auto nearest = static_cast<float>(value);
  const double back = nearest;
  if (back == value || std::isnan(value)) return nearest;
  if (std::isinf(nearest)) return std::nextafter(nearest, 0.0F);  // the largest finite float is odd
  const auto bits = std::bit_cast<uint32_t>(nearest);
  if ((bits & 1U) != 0) return nearest;
  return std::nextafter(nearest, value > back ? std::numeric_limits<float>::infinity()
                                              : -std::numeric_limits<float>::infinity());
}

namespace {

// Calls visit(i, element) for each element i, as the C++ type that holds it; narrow floats come as float. On all threads.
template <typename Visit>
void for_each_element(const Tensor& tensor, Visit visit) {
  auto walk = [&]<typename T>(T, auto decode) {
    const std::span<const T> all = elements<T>(tensor);
    each_range(all.size(), [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) visit(i, decode(all[i]));
    });
  };
  auto plain = [](auto element) { return element; };
  switch (tensor.dtype()) {
    case DType::kF16:
      return walk(uint16_t{}, f16_to_f32);
    case DType::kBF16:
      return walk(uint16_t{}, bf16_to_f32);
    case DType::kF32:
      return walk(float{}, plain);
    case DType::kF64:
      return walk(double{}, plain);
    case DType::kI8:
    case DType::kI4:
    case DType::kI2:
      return walk(int8_t{}, plain);
    case DType::kI16:
      return walk(int16_t{}, plain);
    case DType::kI32:
      return walk(int32_t{}, plain);
    case DType::kI64:
      return walk(int64_t{}, plain);
    case DType::kU8:
    case DType::kU4:
    case DType::kU2:
      return walk(uint8_t{}, plain);
    case DType::kU16:
      return walk(uint16_t{}, plain);
    case DType::kU32:
      return walk(uint32_t{}, plain);
    case DType::kU64:
      return walk(uint64_t{}, plain);
    case DType::kBool:
      return walk(uint8_t{}, [](uint8_t element) { return static_cast<uint8_t>(element != 0); });
    default:
      if (!is_float(tensor.dtype())) {
        throw std::logic_error("widen: elements of " + std::string(dtype_name(tensor.dtype())));
      }
      return walk(uint8_t{},
                  [dtype = tensor.dtype()](uint8_t element) { return narrow_to_f32(dtype, element); });
  }
}

// The low `bits` bits, as a signed or unsigned number.
template <typename T>
T low_bits(int64_t value, int bits) {
  const auto shifted = static_cast<uint64_t>(value) << (64 - bits);
  return std::is_signed_v<T> ? static_cast<T>(static_cast<int64_t>(shifted) >> (64 - bits))
                             : static_cast<T>(shifted >> (64 - bits));
}

}  // namespace

template <typename W>
std::vector<W> widen(const Tensor& tensor) {
  std::vector<W> values(static_cast<std::size_t>(tensor.size()));
  for_each_element(tensor, [&](std::size_t i, auto element) { values[i] = convert<W>(element); });
  return values;
}

template <typename W>
Tensor narrow(DType dtype, Shape shape, std::span<const W> values, bool saturate) {
  Tensor tensor(dtype, std::move(shape));
  auto fill = [&]<typename T>(T, auto encode) {
    const std::span<T> to = elements<T>(tensor);
    each_range(values.size(), [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) to[i] = encode(values[i]);
    });
  };
  auto integer = [&]<typename T>(T) {
    fill(T{}, [bits = dtype_bits(dtype)](W value) { return low_bits<T>(convert<int64_t>(value), bits); });
  };
  auto odd = [](W value) { return round_to_odd(static_cast<double>(value)); };
  switch (dtype) {
    case DType::kF16:
      fill(uint16_t{}, [&](W value) { return f32_to_f16(odd(value)); });
      break;
    case DType::kBF16:
      fill(uint16_t{}, [&](W value) { return f32_to_bf16(odd(value)); });
      break;
    case DType::kF32:
      fill(float{}, [](W value) { return static_cast<float>(value); });
      break;
    case DType::kF64:
      fill(double{}, [](W value) { return static_cast<double>(value); });
      break;
    case DType::kI8:
    case DType::kI4:
    case DType::kI2:
      integer(int8_t{});
      break;
    case DType::kI16:
      integer(int16_t{});
      break;
    case DType::kI32:
      integer(int32_t{});
      break;
    case DType::kI64:
      integer(int64_t{});
      break;
    case DType::kU8:
    case DType::kU4:
    case DType::kU2:
      integer(uint8_t{});
      break;
    case DType::kU16:
      integer(uint16_t{});
      break;
    case DType::kU32:
      integer(uint32_t{});
      break;
    case DType::kU64:
      fill(uint64_t{}, [](W value) { return convert<uint64_t>(value); });
      break;
    case DType::kBool:
      fill(uint8_t{}, [](W value) { return static_cast<uint8_t>(value != 0 ? 1 : 0); });
      break;
    default:
      if (!is_float(dtype)) throw std::logic_error("narrow: elements of " + std::string(dtype_name(dtype)));
      fill(uint8_t{}, [&](W value) { return f32_to_narrow(dtype, odd(value), saturate); });
  }
  return tensor;
}

template std::vector<double> widen(const Tensor&);
template std::vector<int64_t> widen(const Tensor&);
template std::vector<uint64_t> widen(const Tensor&);
template Tensor narrow(DType, Shape, std::span<const double>, bool);
template Tensor narrow(DType, Shape, std::span<const int64_t>, bool);
template Tensor narrow(DType, Shape, std::span<const uint64_t>, bool);

Status expect_real(const RefCall& call, DType dtype) {
  if (is_float(dtype) || is_integer(dtype) || dtype == DType::kBool) return {};
  return unsupported(fmt::format("{} of {}", call.op, dtype_name(dtype)));
}

Tensor gather_elements(const Tensor& tensor, Shape shape, std::span<const int64_t> source,
                       const Tensor& fill) {
  Tensor result(tensor.dtype(), std::move(shape));
  with_storage(tensor.dtype(), [&]<typename T>(T) {
    const auto from = elements<T>(tensor);
    const auto to = elements<T>(result);
    const T blank = fill.defined() ? elements<T>(fill)[0] : T{};
    for (std::size_t i = 0; i < source.size(); ++i) {
      to[i] = source[i] < 0 ? blank : from[static_cast<std::size_t>(source[i])];
    }
  });
  return result;
}

bool next_index(std::span<int64_t> index, std::span<const int64_t> shape) {
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    if (++index[axis] < shape[axis]) return true;
    index[axis] = 0;
  }
  return false;
}

std::vector<int64_t> broadcast_strides(std::span<const int64_t> shape, std::span<const int64_t> target) {
  const auto own = row_major_strides(shape);
  std::vector<int64_t> strides(target.size(), 0);
  const std::size_t missing = target.size() - shape.size();
  for (std::size_t i = 0; i < shape.size(); ++i) strides[missing + i] = shape[i] == 1 ? 0 : own[i];
  return strides;
}

std::vector<int64_t> strided_offsets(std::span<const int64_t> target, std::span<const int64_t> strides,
                                     int64_t start) {
  std::vector<int64_t> offsets(static_cast<std::size_t>(element_count(target)));
  each_range(offsets.size(), [&](std::size_t begin, std::size_t end) {
    std::vector<int64_t> index(target.size(), 0);
    auto rest = static_cast<int64_t>(begin);
    for (std::size_t axis = target.size(); axis-- > 0;) {
      index[axis] = rest % target[axis];
      rest /= target[axis];
    }
    for (std::size_t at = begin; at < end; ++at) {
      int64_t offset = start;
      for (std::size_t i = 0; i < index.size(); ++i) offset += index[i] * strides[i];
      offsets[at] = offset;
      next_index(index, target);
    }
  });
  return offsets;
}

std::vector<int64_t> broadcast_offsets(std::span<const int64_t> shape, std::span<const int64_t> target) {
  return strided_offsets(target, broadcast_strides(shape, target));
}

AxisView around_axis(std::span<const int64_t> shape, int64_t axis) {
  const auto at = static_cast<std::size_t>(axis);
  return {element_count(shape.first(at)), shape[at], element_count(shape.subspan(at + 1))};
}

Error bad_call(const RefCall& call, std::string_view what) {
  return invalid(fmt::format("{}: {}", call.op, what));
}

Result<int64_t> axis_attribute(const RefCall& call, std::string_view name, int64_t otherwise, int64_t rank) {
  auto axis = normalize_axis(call.attributes.integer(name, otherwise), rank);
  if (!axis.ok()) return axis.error().within(std::string(call.op));
  return axis;
}

Result<DType> dtype_attribute(const RefCall& call, std::string_view name, DType otherwise) {
  const int64_t code = call.attributes.integer(name, 0);
  if (code == 0) return otherwise;
  if (auto dtype = dtype_from_onnx(code)) return *dtype;
  return bad_call(call, fmt::format("attribute {} is {}, which is no ONNX element type", name, code));
}

Status expect_inputs(const RefCall& call, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (!call.has(i)) return bad_call(call, fmt::format("input {} is missing", i));
  }
  return {};
}

Result<Tensor> make_tensor(const RefCall& call, DType dtype, Shape shape) {
  auto tensor = Tensor::try_make(dtype, std::move(shape));
  if (!tensor.ok()) return tensor.error().within(std::string(call.op));
  return tensor;
}

std::vector<Tensor> one(Tensor tensor) {
  std::vector<Tensor> outputs;
  outputs.push_back(std::move(tensor));
  return outputs;
}

}  // namespace hone::kernels::ref

// What the reference kernels of all families share: elements of every numeric dtype as one of three wide
// types (and back, with one rounding), dispatch for kernels that only move elements, walking of shapes,
// arguments. Tensors given to reference kernels are aligned to their element size (Tensor::aligned()).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/as_f32.h"
#include "core/dtype.h"
#include "core/result.h"
#include "core/tensor.h"
#include "kernels/cpu/parallel.h"
#include "kernels/ref/ref.h"

namespace hone::kernels::ref {

// Calls f(begin, end) on ranges that cover [0, count), on all threads where there are many.
template <typename F>
void each_range(std::size_t count, const F& f) {
  constexpr int64_t kWorthAThread = 1 << 15;
  parallel_for(static_cast<int64_t>(count), kWorthAThread, [&f](int64_t begin, int64_t end, int) {
    f(static_cast<std::size_t>(begin), static_cast<std::size_t>(end));
  });
}

// --- wide elements: W is double, int64_t or uint64_t ---
// All elements as W. Any real dtype; floats become integers by truncation, out of range clamped, NaN as 0.
template <typename W>
std::vector<W> widen(const Tensor& tensor);
// A tensor of `dtype` from wide values: floats rounded once to nearest even, integers modulo 2^bits, bool by
// "is not 0". `saturate` matters to the 8- and 4-bit floats only (core/dtype.h).
template <typename W>
Tensor narrow(DType dtype, Shape shape, std::span<const W> values, bool saturate = true);
template <typename W>
Tensor narrow(DType dtype, Shape shape, const std::vector<W>& values, bool saturate = true) {
  return narrow<W>(dtype, std::move(shape), std::span<const W>(values), saturate);
}

// An error for dtypes that are no real numbers (strings, complex).
Status expect_real(const RefCall& call, DType dtype);

// `kernel` on a first input that was converted to f32.
template <RefKernel kernel>
Result<std::vector<Tensor>> of_f32(const RefCall& call) {
  std::vector<Tensor> inputs(call.inputs.begin(), call.inputs.end());
  if (call.has(0)) inputs[0] = as_f32(inputs[0]);
  return kernel(RefCall{call.op, call.attributes, inputs, call.output_count});
}

// Calls f(W{}) with the wide type that holds every value of `dtype`: double for floats, int64_t for
// signed integers, uint64_t for unsigned ones and bool. expect_real() must have passed.
template <typename F>
decltype(auto) with_wide(DType dtype, F&& f) {
  if (is_float(dtype)) return f(double{});
  if (is_integer(dtype) && is_signed(dtype)) return f(int64_t{});
  return f(uint64_t{});
}

// A double as a float whose last bit remembers that something was cut off (round to odd): rounding it again,
// to a type of 22 bits of precision or fewer, gives what rounding the double at once would give.
float round_to_odd(double value);

// --- elements by size, for kernels that only move them ---
struct Bytes16 {
  uint64_t low = 0;
  uint64_t high = 0;
};

// The elements of a tensor as storage type T (std::string for strings).
template <typename T>
std::span<const T> elements(const Tensor& tensor) {
  if constexpr (std::is_same_v<T, std::string>) {
    return tensor.strings();
  } else {
    return {static_cast<const T*>(tensor.data()), static_cast<std::size_t>(tensor.size())};
  }
}
template <typename T>
std::span<T> elements(Tensor& tensor) {
  if constexpr (std::is_same_v<T, std::string>) {
    return tensor.strings();
  } else {
    return {static_cast<T*>(tensor.data()), static_cast<std::size_t>(tensor.size())};
  }
}

// Calls f(T{}) with a storage type of the size of `dtype`: every dtype works, strings included.
template <typename F>
decltype(auto) with_storage(DType dtype, F&& f) {
  if (dtype == DType::kString) return f(std::string{});
  switch (dtype_size(dtype)) {
    case 2:
      return f(uint16_t{});
    case 4:
      return f(uint32_t{});
    case 8:
      return f(uint64_t{});
    case 16:
      return f(Bytes16{});
    default:
      return f(uint8_t{});
  }
}

// A tensor of `shape` whose element i is element `source[i]` of `tensor`; -1 takes the only element of
// `fill`, or zero (an empty string) where `fill` is undefined.
Tensor gather_elements(const Tensor& tensor, Shape shape, std::span<const int64_t> source,
                       const Tensor& fill = {});

// --- walking ---
// Steps `index` to the next position in `shape`, row-major; false after the last.
bool next_index(std::span<int64_t> index, std::span<const int64_t> shape);

// Strides, in elements, that read a tensor of `shape` as if it were broadcast to `target`: 0 along repeated
// axes. `shape` must broadcast to `target`.
std::vector<int64_t> broadcast_strides(std::span<const int64_t> shape, std::span<const int64_t> target);

// For each element of `target` in row-major order, the offset that `strides` (as many as target has axes)
// give it, plus `start`.
std::vector<int64_t> strided_offsets(std::span<const int64_t> target, std::span<const int64_t> strides,
                                     int64_t start = 0);

// For each element of `target` in row-major order, the offset of the element of `shape` broadcast there.
std::vector<int64_t> broadcast_offsets(std::span<const int64_t> shape, std::span<const int64_t> target);

// A shape seen around one axis: outer × extent × inner.
struct AxisView {
  int64_t outer = 1;
  int64_t extent = 1;
  int64_t inner = 1;
};
AxisView around_axis(std::span<const int64_t> shape, int64_t axis);

// --- arguments ---
// "<op>: <what>" as an error about the call's data or attributes.
Error bad_call(const RefCall& call, std::string_view what);
// The attribute made non-negative for `rank`.
Result<int64_t> axis_attribute(const RefCall& call, std::string_view name, int64_t otherwise, int64_t rank);
// An attribute that holds ONNX's number of an element type; `otherwise` where it is absent or 0.
Result<DType> dtype_attribute(const RefCall& call, std::string_view name, DType otherwise);
// An error unless the call has at least `count` inputs that are there.
Status expect_inputs(const RefCall& call, std::size_t count);
// The uninitialised tensor, or an error for a shape that is negative or too large for memory.
Result<Tensor> make_tensor(const RefCall& call, DType dtype, Shape shape);
// What a kernel of one output returns.
std::vector<Tensor> one(Tensor tensor);

}  // namespace hone::kernels::ref

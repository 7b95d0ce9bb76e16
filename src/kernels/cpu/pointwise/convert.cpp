// Between memory and the values of the pointwise interpreter: loads, stores, splats, and folding into
// reductions.
#include <bit>
#include <cstring>

#include "kernels/cpu/pointwise/interpret.h"

namespace hone::kernels::internal {
namespace {

template <typename From, typename To, typename F>
void convert(const void* from, int64_t stride, void* to, int64_t n, const F& f) {
  const From* in = static_cast<const From*>(from);
  To* out = static_cast<To*>(to);
  if (stride == 1) {
    for (int64_t i = 0; i < n; ++i) out[i] = static_cast<To>(f(in[i]));
  } else {
    for (int64_t i = 0; i < n; ++i) out[i] = static_cast<To>(f(in[i * stride]));
  }
}

template <typename From, typename To>
void convert(const void* from, int64_t stride, void* to, int64_t n) {
  convert<From, To>(from, stride, to, n, [](From x) { return x; });
}

template <typename T, typename A>
void reduce(ReduceOp op, const T* in, int64_t n, A& accumulator) {
  A total = accumulator;
  switch (op) {
    case ReduceOp::kSum:
    case ReduceOp::kMean:
      for (int64_t i = 0; i < n; ++i) total += static_cast<A>(in[i]);
      break;
    case ReduceOp::kSumSquare:
      for (int64_t i = 0; i < n; ++i) total += static_cast<A>(in[i]) * static_cast<A>(in[i]);
      break;
    case ReduceOp::kL1:
      for (int64_t i = 0; i < n; ++i) total += in[i] < 0 ? -static_cast<A>(in[i]) : static_cast<A>(in[i]);
      break;
    case ReduceOp::kProd:
      for (int64_t i = 0; i < n; ++i) total *= static_cast<A>(in[i]);
      break;
    case ReduceOp::kMax:
      for (int64_t i = 0; i < n; ++i)
        total = static_cast<A>(in[i]) > total || in[i] != in[i] ? static_cast<A>(in[i]) : total;
      break;
    case ReduceOp::kMin:
      for (int64_t i = 0; i < n; ++i)
        total = static_cast<A>(in[i]) < total || in[i] != in[i] ? static_cast<A>(in[i]) : total;
      break;
    case ReduceOp::kNone:
      break;
  }
  accumulator = total;
}

}  // namespace

void load_held(const void* from, DType dtype, int64_t stride, void* to, int64_t n) noexcept {
  switch (dtype) {
    case DType::kF16:
      return convert<uint16_t, float>(from, stride, to, n, f16_to_f32);
    case DType::kBF16:
      if (stride == 1) return widen_bf16(static_cast<const uint16_t*>(from), static_cast<float*>(to), n);
      return convert<uint16_t, float>(from, stride, to, n, from_bf16);
    case DType::kF32:
      return convert<float, float>(from, stride, to, n);
    case DType::kF64:
      return convert<double, double>(from, stride, to, n);
    case DType::kI8:
      return convert<int8_t, int32_t>(from, stride, to, n);
    case DType::kU8:
      return convert<uint8_t, int32_t>(from, stride, to, n);
    case DType::kI16:
      return convert<int16_t, int32_t>(from, stride, to, n);
    case DType::kU16:
      return convert<uint16_t, int32_t>(from, stride, to, n);
    case DType::kI32:
      return convert<int32_t, int32_t>(from, stride, to, n);
    case DType::kU32:
      return convert<uint32_t, int64_t>(from, stride, to, n);
    case DType::kI64:
      return convert<int64_t, int64_t>(from, stride, to, n);
    default:
      return convert<uint8_t, uint8_t>(from, stride, to, n, [](uint8_t x) { return x != 0; });
  }
}

void store_held(const void* from, DType dtype, void* to, int64_t n) noexcept {
  switch (dtype) {
    case DType::kF16:
      return convert<float, uint16_t>(from, 1, to, n, f32_to_f16);
    case DType::kBF16:
      return narrow_to_bf16(static_cast<const float*>(from), static_cast<uint16_t*>(to), n);
    case DType::kF32:
      return convert<float, float>(from, 1, to, n);
    case DType::kF64:
      return convert<double, double>(from, 1, to, n);
    case DType::kI8:
      return convert<int32_t, int8_t>(from, 1, to, n);
    case DType::kU8:
      return convert<int32_t, uint8_t>(from, 1, to, n);
    case DType::kI16:
      return convert<int32_t, int16_t>(from, 1, to, n);
    case DType::kU16:
      return convert<int32_t, uint16_t>(from, 1, to, n);
    case DType::kI32:
      return convert<int32_t, int32_t>(from, 1, to, n);
    case DType::kU32:
      return convert<int64_t, uint32_t>(from, 1, to, n);
    case DType::kI64:
      return convert<int64_t, int64_t>(from, 1, to, n);
    default:
      return convert<uint8_t, uint8_t>(from, 1, to, n);
  }
}

void fill_held(const void* from, DType held, void* to, int64_t n) noexcept {
  switch (held) {
    case DType::kF32:
      return convert<float, float>(from, 0, to, n);
    case DType::kF64:
      return convert<double, double>(from, 0, to, n);
    case DType::kI32:
      return convert<int32_t, int32_t>(from, 0, to, n);
    case DType::kI64:
      return convert<int64_t, int64_t>(from, 0, to, n);
    default:
      return convert<uint8_t, uint8_t>(from, 0, to, n);
  }
}

void reduce_held(ReduceOp op, DType held, const void* from, int64_t n, void* accumulator) noexcept {
  double& real = *static_cast<double*>(accumulator);
  int64_t& whole = *static_cast<int64_t*>(accumulator);
  switch (held) {
    case DType::kF32:
      return reduce_f32(op, static_cast<const float*>(from), n, &real);
    case DType::kF64:
      return reduce(op, static_cast<const double*>(from), n, real);
    case DType::kI32:
      return reduce(op, static_cast<const int32_t*>(from), n, whole);
    default:
      return reduce(op, static_cast<const int64_t*>(from), n, whole);
  }
}

}  // namespace hone::kernels::internal

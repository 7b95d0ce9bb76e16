// Order along an axis: plain loops, parallel over the other axes.
#include "kernels/cpu/reduction/order.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>

#include <fmt/core.h>

#include "kernels/cpu/parallel.h"

namespace hone::kernels {
namespace {

constexpr int64_t kParallelOrderElements = 16384;

Status check(const char* name, int64_t outer, int64_t length, int64_t inner, DType dtype) {
  if (outer < 0 || length < 0 || inner < 0) return invalid(fmt::format("{}: negative extent", name));
  const bool known =
      dtype == DType::kF32 || dtype == DType::kF64 || dtype == DType::kI32 || dtype == DType::kI64;
  if (!known) return unsupported(fmt::format("{}: elements of type {}", name, dtype_name(dtype)));
  return {};
}

// Calls f with a value of the C++ type of dtype.
template <typename F>
void with_type(DType dtype, const F& f) {
  switch (dtype) {
    case DType::kF64:
      return f(double{});
    case DType::kI32:
      return f(int32_t{});
    case DType::kI64:
      return f(int64_t{});
    default:
      return f(float{});
  }
}

// A strict order in which NaN is above everything and equal to itself.
template <typename T>
bool above(T a, T b) {
  if (a != a) return b == b;
  return a > b;
}

template <typename T>
int64_t arg_extremum(const T* x, const ArgExtremumDesc& d) {
  int64_t best = 0;
  for (int64_t i = 1; i < d.length; ++i) {
    const T candidate = x[i * d.inner], holder = x[best * d.inner];
    const bool better = d.min ? above(holder, candidate) : above(candidate, holder);
    const bool worse = d.min ? above(candidate, holder) : above(holder, candidate);
    if (better || (d.last && !worse)) best = i;
  }
  return best;
}

template <typename T>
void cumulative_sum(const T* x, T* y, const CumulativeSumDesc& d) {
  // Integers wrap, as everywhere; f32 is carried in double, so that long axes keep their digits.
  using Sum = std::conditional_t<std::is_floating_point_v<T>, double, uint64_t>;
  Sum sum = 0;
  for (int64_t i = 0; i < d.length; ++i) {
    const int64_t at = (d.reverse ? d.length - 1 - i : i) * d.inner;
    const T value = x[at];
    if (d.exclusive) y[at] = static_cast<T>(sum);
    sum += static_cast<Sum>(value);
    if (!d.exclusive) y[at] = static_cast<T>(sum);
  }
}

template <typename T>
void top_k(const T* x, T* values, int64_t* indices, int64_t* order, const TopKDesc& d) {
  std::iota(order, order + d.length, int64_t{0});
  const auto before = [&](int64_t a, int64_t b) {
    const T va = x[a * d.inner], vb = x[b * d.inner];
    if (d.largest ? above(va, vb) : above(vb, va)) return true;
    if (d.largest ? above(vb, va) : above(va, vb)) return false;
    return a < b;
  };
  if (d.sorted) {
    std::partial_sort(order, order + d.k, order + d.length, before);
  } else {
    if (d.k < d.length) std::nth_element(order, order + d.k, order + d.length, before);
    std::sort(order, order + d.k);
  }
  for (int64_t i = 0; i < d.k; ++i) {
    values[i * d.inner] = x[order[i] * d.inner];
    indices[i * d.inner] = order[i];
  }
}

}  // namespace

Result<ArgExtremum> ArgExtremum::create(const ArgExtremumDesc& desc) {
  HONE_CHECK(check("arg max", desc.outer, desc.length, desc.inner, desc.dtype));
  if (desc.length == 0 && desc.outer * desc.inner > 0) return invalid("arg max: the axis is empty");
  ArgExtremum kernel;
  kernel.desc_ = desc;
  return kernel;
}

void ArgExtremum::execute(const void* in, int64_t* out) const noexcept {
  const ArgExtremumDesc& d = desc_;
  with_type(d.dtype, [&](auto zero) {
    using T = decltype(zero);
    const int64_t grain = kParallelOrderElements / std::max<int64_t>(d.length, 1) + 1;
    parallel_for(d.outer * d.inner, grain, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        out[i] = arg_extremum(static_cast<const T*>(in) + i / d.inner * d.length * d.inner + i % d.inner, d);
      }
    });
  });
}

Result<CumulativeSum> CumulativeSum::create(const CumulativeSumDesc& desc) {
  HONE_CHECK(check("cumulative sum", desc.outer, desc.length, desc.inner, desc.dtype));
  CumulativeSum kernel;
  kernel.desc_ = desc;
  return kernel;
}

void CumulativeSum::execute(const void* in, void* out) const noexcept {
  const CumulativeSumDesc& d = desc_;
  with_type(d.dtype, [&](auto zero) {
    using T = decltype(zero);
    const int64_t grain = kParallelOrderElements / std::max<int64_t>(d.length, 1) + 1;
    parallel_for(d.outer * d.inner, grain, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t at = i / d.inner * d.length * d.inner + i % d.inner;
        cumulative_sum(static_cast<const T*>(in) + at, static_cast<T*>(out) + at, d);
      }
    });
  });
}

Result<TopK> TopK::create(const TopKDesc& desc) {
  HONE_CHECK(check("top k", desc.outer, desc.length, desc.inner, desc.dtype));
  if (desc.k < 0 || desc.k > desc.length) {
    return invalid(fmt::format("top k: {} of {} elements", desc.k, desc.length));
  }
  TopK kernel;
  kernel.desc_ = desc;
  kernel.threads_ = thread_count();
  kernel.scratch_per_thread_ = (static_cast<std::size_t>(desc.length) * sizeof(int64_t) + 63) / 64 * 64;
  return kernel;
}

void TopK::execute(const void* in, void* values, int64_t* indices, void* scratch) const noexcept {
  const TopKDesc& d = desc_;
  with_type(d.dtype, [&](auto zero) {
    using T = decltype(zero);
    const int64_t rows = d.outer * d.inner;
    const int64_t grain =
        grain_within(rows, kParallelOrderElements / 8 / std::max<int64_t>(d.length, 1) + 1, threads_);
    parallel_for(rows, grain, [&](int64_t begin, int64_t end, int thread) {
      auto* order = reinterpret_cast<int64_t*>(static_cast<std::byte*>(scratch) +
                                               static_cast<std::size_t>(thread) * scratch_per_thread_);
      for (int64_t i = begin; i < end; ++i) {
        const int64_t from = i / d.inner * d.length * d.inner + i % d.inner;
        const int64_t to = i / d.inner * d.k * d.inner + i % d.inner;
        top_k(static_cast<const T*>(in) + from, static_cast<T*>(values) + to, indices + to, order, d);
      }
    });
  });
}

}  // namespace hone::kernels

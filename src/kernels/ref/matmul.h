// The plain matrix product that the matrix, convolution and recurrent families share.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/parallel.h"
#include "kernels/ref/inner_loops.h"

namespace hone::kernels::ref {

// The same for integers.
template <typename T>
void multiply_add_rows(int64_t m, int64_t k, int64_t n, const T* a, int64_t a_stride, const T* b,
                       int64_t b_stride, T* out, int64_t out_stride) {
  for (int64_t i = 0; i < m; ++i)
    for (int64_t p = 0; p < k; ++p)
      for (int64_t j = 0; j < n; ++j) out[i * out_stride + j] += a[i * a_stride + p] * b[p * b_stride + j];
}

// out[m,n] += a[m,k] * b[k,n], all row-major and dense, on all threads. Each element is summed in one order.
template <typename T>
void multiply_add(int64_t m, int64_t k, int64_t n, const T* a, const T* b, T* out) {
  constexpr int64_t kWorthAThread = 1 << 18;
  parallel_for(m, kWorthAThread / std::max<int64_t>(1, k * n) + 1, [&](int64_t begin, int64_t end, int) {
    multiply_add_rows(end - begin, k, n, a + begin * k, k, b, n, out + begin * n, n);
  });
}

// out[m,n] += a[m,k] * transposed(b[n,k]).
template <typename T>
void multiply_add_transposed(int64_t m, int64_t k, int64_t n, const T* a, const T* b, T* out) {
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      T sum = 0;
      for (int64_t p = 0; p < k; ++p) sum += a[i * k + p] * b[j * k + p];
      out[i * n + j] += sum;
    }
  }
}

}  // namespace hone::kernels::ref

// The plain matrix product that the matrix, convolution and recurrent families share.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/parallel.h"

namespace hone::kernels::ref {

// out[m,n] += a[m,k] * b[k,n], all row-major and dense, on all threads. The inner loop runs along rows of b
// and out; a row of b, once in the cache, serves several rows of out. Each element is summed in one order.
template <typename T>
void multiply_add(int64_t m, int64_t k, int64_t n, const T* a, const T* b, T* out) {
  constexpr int64_t kRowsTogether = 8, kWorthAThread = 1 << 16;
  parallel_for(m, kWorthAThread / std::max<int64_t>(1, k * n) + 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t first = begin; first < end; first += kRowsTogether) {
      const int64_t last = std::min(end, first + kRowsTogether);
      for (int64_t p = 0; p < k; ++p) {
        const T* from = b + p * n;
        for (int64_t i = first; i < last; ++i) {
          const T factor = a[i * k + p];
          T* row = out + i * n;
          for (int64_t j = 0; j < n; ++j) row[j] += factor * from[j];
        }
      }
    }
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

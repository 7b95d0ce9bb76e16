// The loops that the reference's products and convolutions spend their time in, vectorised.
#pragma once

#include <cstdint>

namespace hone::kernels::ref {

// Adds `count` numbers to each of `rows` rows: to[r][i] += weights[r] * from[i], with to[r] at to + r * to_stride and weights[r] at
// weights + r * weight_stride.
void add_scaled(const double* from, int64_t count, const double* weights, int64_t weight_stride, double* to,
                int64_t to_stride, int64_t rows) noexcept;

// out[m,n] += a[m,k] * b[k,n], whose rows are so far apart. Each element is summed in the order of k.
void multiply_add_rows(int64_t m, int64_t k, int64_t n, const double* a, int64_t a_stride, const double* b,
                       int64_t b_stride, double* out, int64_t out_stride) noexcept;

}  // namespace hone::kernels::ref

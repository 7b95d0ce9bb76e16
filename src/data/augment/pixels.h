// The inner loops of augmentation, vectorised for the CPU at hand: rows of pixels in, rows of pixels out.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hone::data {

// out[i] = the plane at (x[i], y[i]), between its four neighbours. The plane has `height` rows of `width`, each at
// least 2; coordinates are in pixels and kept within it.
void sample_bilinear(const float* plane, int64_t width, int64_t height, const float* x, const float* y,
                     std::size_t n, float* out);

// out[i] = index into a plane of the pixel nearest to (x[i], y[i]); halves go up.
void nearest_indices(int64_t width, int64_t height, const float* x, const float* y, std::size_t n,
                     int32_t* out);

// values[i] = values[i] * gain + offset.
void scale_and_shift(float* values, std::size_t n, float gain, float offset);

// values[i] = max(values[i], 0) to the power of `gamma`.
void apply_gamma(float* values, std::size_t n, float gamma);

// values[i] += deviation * z: number 4 b + k from block first + b of the Philox stream of (seed, stream), as pairs of
// Box and Muller: words 0 and 1 give k = 0 (cosine) and 1 (sine), words 2 and 3 give 2 and 3.
void add_noise(float* values, std::size_t n, float deviation, uint64_t seed, uint64_t stream, uint64_t first);

double sum_of(const float* values, std::size_t n);

// Numbers of a file as f32, times `gain`, plus `offset`.
template <typename T>
void convert_row(const T* from, std::size_t n, float gain, float offset, float* to) {
  for (std::size_t i = 0; i < n; ++i) to[i] = static_cast<float>(from[i]) * gain + offset;
}

}  // namespace hone::data

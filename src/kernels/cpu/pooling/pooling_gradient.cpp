#include "kernels/cpu/pooling/pooling_gradient.h"

#include <algorithm>

#include "kernels/cpu/parallel.h"

namespace hone::kernels {

Result<PoolingGradient> PoolingGradient::create(const PoolingGradientDesc& desc) {
  const std::size_t rank = desc.axes.size();
  if (rank < 1 || rank > 3 || desc.input.size() != rank || desc.output.size() != rank)
    return unsupported("pooling gradients work over 1 to 3 axes");
  PoolingGradient made;
  made.planes_ = desc.planes;
  made.maximum_ = desc.maximum;
  for (std::size_t missing = 0; missing < 3 - rank; ++missing) made.ranges_[missing] = {{0, 1, 1}};
  for (std::size_t i = 0; i < rank; ++i) {
    const std::size_t axis = 3 - rank + i;
    const Window& window = desc.axes[i];
    made.extents_[axis] = desc.input[i];
    made.steps_[axis] = window.dilation;
    made.in_size_ *= desc.input[i];
    made.out_size_ *= desc.output[i];
    for (int64_t place = 0; place < desc.output[i]; ++place) {
      const int64_t first = place * window.stride - window.pad_begin;
      const int64_t last = first + window.reach();  // one past
      const int64_t skipped = first < 0 ? (-first + window.dilation - 1) / window.dilation : 0;
      Range range{first + skipped * window.dilation, std::min(last, desc.input[i]), 0};
      const auto taps = [&](int64_t begin, int64_t end) {
        return end > begin ? (end - begin + window.dilation - 1) / window.dilation : 0;
      };
      range.counted = desc.counts_pads ? taps(first, std::min(last, desc.input[i] + window.pad_end))
                                       : taps(range.begin, range.end);
      made.ranges_[axis].push_back(range);
    }
  }
  return made;
}

void PoolingGradient::plane_of_maximum(const float* g, const float* x, float* dx) const noexcept {
  for (const Range& depth : ranges_[0])
    for (const Range& rows : ranges_[1])
      for (const Range& columns : ranges_[2]) {
        if (depth.begin >= depth.end || rows.begin >= rows.end || columns.begin >= columns.end) {
          ++g;  // nothing but padding
          continue;
        }
        // Chosen without a branch: which tap is the largest cannot be foreseen.
        int64_t best_at = (depth.begin * extents_[1] + rows.begin) * extents_[2] + columns.begin;
        float best = x[best_at];
        for (int64_t z = depth.begin; z < depth.end; z += steps_[0])
          for (int64_t y = rows.begin; y < rows.end; y += steps_[1]) {
            const int64_t row = (z * extents_[1] + y) * extents_[2];
            for (int64_t at = row + columns.begin; at < row + columns.end; at += steps_[2]) {
              const bool larger = x[at] > best || x[at] != x[at];  // NaN is taken, and stays
              best_at = larger ? at : best_at;
              best = larger ? x[at] : best;
            }
          }
        dx[best_at] += *g;
        ++g;
      }
}

void PoolingGradient::plane_of_average(const float* g, float* dx) const noexcept {
  for (const Range& depth : ranges_[0])
    for (const Range& rows : ranges_[1])
      for (const Range& columns : ranges_[2]) {
        const int64_t count = depth.counted * rows.counted * columns.counted;
        const float share = *g++ / static_cast<float>(std::max<int64_t>(count, 1));
        for (int64_t z = depth.begin; z < depth.end; z += steps_[0])
          for (int64_t y = rows.begin; y < rows.end; y += steps_[1]) {
            float* row = dx + (z * extents_[1] + y) * extents_[2];
            for (int64_t at = columns.begin; at < columns.end; at += steps_[2]) row[at] += share;
          }
      }
}

void PoolingGradient::execute(const float* g, const float* x, float* dx) const noexcept {
  const int64_t grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(in_size_, 1));
  parallel_for(planes_, grain, [&](int64_t begin, int64_t end, int) {
    for (int64_t plane = begin; plane < end; ++plane) {
      float* to = dx + plane * in_size_;
      std::fill(to, to + in_size_, 0.0F);
      if (maximum_) {
        plane_of_maximum(g + plane * out_size_, x + plane * in_size_, to);
      } else {
        plane_of_average(g + plane * out_size_, to);
      }
    }
  });
}

}  // namespace hone::kernels

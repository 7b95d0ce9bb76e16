#include "kernels/cpu/pooling/pooling_gradient.h"

#include <algorithm>

#include "kernels/cpu/parallel.h"

namespace hone::kernels {

Result<PoolingGradient> PoolingGradient::create(const PoolingGradientDesc& desc) {
  const std::size_t rank = desc.axes.size();
  if (rank < 1 || rank > 3 || desc.input.size() != rank || desc.output.size() != rank)
    return unsupported("pooling gradients work over 1 to 3 axes");
  if (desc.width != 1 && !desc.maximum) return unsupported("gradients of averages work on plain tensors");
  PoolingGradient made;
  made.width_ = desc.width;
  made.in_size_ = made.out_size_ = desc.width;
  made.planes_ = desc.planes;
  made.maximum_ = desc.maximum;
  for (std::size_t missing = 0; missing < 3 - rank; ++missing) made.places_.ranges[missing] = {{0, 1, 1}};
  for (std::size_t i = 0; i < rank; ++i) {
    const std::size_t axis = 3 - rank + i;
    const Window& window = desc.axes[i];
    made.places_.extents[axis] = desc.input[i];
    made.places_.steps[axis] = window.dilation;
    made.in_size_ *= desc.input[i];
    made.out_size_ *= desc.output[i];
    for (int64_t place = 0; place < desc.output[i]; ++place) {
      const int64_t first = place * window.stride - window.pad_begin;
      const int64_t last = first + window.reach();  // one past
      const int64_t skipped = first < 0 ? (-first + window.dilation - 1) / window.dilation : 0;
      PoolingRange range{first + skipped * window.dilation, std::min(last, desc.input[i]), 0};
      const auto taps = [&](int64_t begin, int64_t end) {
        return end > begin ? (end - begin + window.dilation - 1) / window.dilation : 0;
      };
      range.counted = desc.counts_pads ? taps(first, std::min(last, desc.input[i] + window.pad_end))
                                       : taps(range.begin, range.end);
      made.places_.ranges[axis].push_back(range);
    }
  }
  return made;
}

void PoolingGradient::plane_of_maximum(const float* g, const float* x, float* dx) const noexcept {
  for (const PoolingRange& depth : places_.ranges[0])
    for (const PoolingRange& rows : places_.ranges[1])
      for (const PoolingRange& columns : places_.ranges[2]) {
        if (depth.begin >= depth.end || rows.begin >= rows.end || columns.begin >= columns.end) {
          ++g;  // nothing but padding
          continue;
        }
        // Chosen without a branch: which tap is the largest cannot be foreseen.
        int64_t best_at =
            (depth.begin * places_.extents[1] + rows.begin) * places_.extents[2] + columns.begin;
        float best = x[best_at];
        for (int64_t z = depth.begin; z < depth.end; z += places_.steps[0])
          for (int64_t y = rows.begin; y < rows.end; y += places_.steps[1]) {
            const int64_t row = (z * places_.extents[1] + y) * places_.extents[2];
            for (int64_t at = row + columns.begin; at < row + columns.end; at += places_.steps[2]) {
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
  for (const PoolingRange& depth : places_.ranges[0])
    for (const PoolingRange& rows : places_.ranges[1])
      for (const PoolingRange& columns : places_.ranges[2]) {
        const int64_t count = depth.counted * rows.counted * columns.counted;
        const float share = *g++ / static_cast<float>(std::max<int64_t>(count, 1));
        for (int64_t z = depth.begin; z < depth.end; z += places_.steps[0])
          for (int64_t y = rows.begin; y < rows.end; y += places_.steps[1]) {
            float* row = dx + (z * places_.extents[1] + y) * places_.extents[2];
            for (int64_t at = columns.begin; at < columns.end; at += places_.steps[2]) row[at] += share;
          }
      }
}

void PoolingGradient::execute(const float* g, const float* x, float* dx) const noexcept {
  const int64_t grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(in_size_, 1));
  parallel_for(planes_, grain, [&](int64_t begin, int64_t end, int) {
    for (int64_t plane = begin; plane < end; ++plane) {
      float* to = dx + plane * in_size_;
      std::fill(to, to + in_size_, 0.0F);
      if (width_ > 1) {
        max_pool_gradient_columns(places_, width_, g + plane * out_size_, x + plane * in_size_, to);
      } else if (maximum_) {
        plane_of_maximum(g + plane * out_size_, x + plane * in_size_, to);
      } else {
        plane_of_average(g + plane * out_size_, to);
      }
    }
  });
}

}  // namespace hone::kernels

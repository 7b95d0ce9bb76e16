// Resizing row by row: the source rows of an output row are mixed into one (linear) or taken as they are
// (nearest), then the row is resampled along its length. Output rows with the same source row are copied.
#include "kernels/cpu/resize/resize.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/core.h>

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/resize/resize.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/simd/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hone::kernels {
namespace HWY_NAMESPACE {

// out = Σ weights[k]·rows[k], `count` rows of n floats.
void MixRows(const float* const* rows, const float* weights, int64_t count, int64_t n, float* out) {
  for (int64_t i = 0; i < n; i += kLanes) {
    const int64_t left = std::min(kLanes, n - i);
    VF sum = hn::Zero(kF32);
    for (int64_t k = 0; k < count; ++k) {
      sum = hn::MulAdd(load_up_to(rows[k] + i, left), splat(weights[k]), sum);
    }
    store_up_to(sum, out + i, left);
  }
}

HWY_INLINE void mix_position(const float* a, const float* b, float weight, int64_t n, float* out) {
  const VF w = splat(weight);
  for (int64_t i = 0; i < n; i += kLanes) {
    const int64_t left = std::min(kLanes, n - i);
    if (left == kLanes) {
      const VF x = hn::LoadU(kF32, a + i);
      hn::StoreU(hn::MulAdd(w, hn::Sub(hn::LoadU(kF32, b + i), x), x), kF32, out + i);
    } else {
      const VF x = load_first(a + i, left);
      store_first(hn::MulAdd(w, hn::Sub(load_first(b + i, left), x), x), out + i, left);
    }
  }
}

// Row elements at `from`: where kLanes neighbouring outputs draw on no more than a vector of the source, as
// in all enlarging, a load and a permutation; a gather otherwise.
struct Lookup {
  const float* row;
  int64_t length;

  // The start of a vector of the row that holds [low, high]; -1 if there is none.
  HWY_INLINE int64_t window([[maybe_unused]] int32_t low, [[maybe_unused]] int32_t high) const {
#if HWY_TARGET != HWY_SCALAR
    const int64_t start = std::min<int64_t>(low, length - kLanes);
    if (start >= 0 && high - start < kLanes) return start;
#endif
    return -1;
  }
  HWY_INLINE VF at(const int32_t* from, [[maybe_unused]] int64_t start) const {
    const VI indices = hn::LoadU(kI32, from);
#if HWY_TARGET != HWY_SCALAR
    if (start >= 0) {
      const VI relative = hn::Sub(indices, hn::Set(kI32, static_cast<int32_t>(start)));
      return hn::TableLookupLanes(hn::LoadU(kF32, row + start), hn::IndicesFromVec(kF32, relative));
    }
#endif
    return hn::GatherIndex(kF32, row, indices);
  }
};

void LinearRow(const float* row, int64_t length, const ResizeTable& table, int64_t inner, float* out) {
  const auto n = static_cast<int64_t>(table.low.size());
  if (inner > 1) {
    for (int64_t i = 0; i < n; ++i) {
      const auto k = static_cast<size_t>(i);
      mix_position(row + table.low[k] * inner, row + table.high[k] * inner, table.weight[k], inner,
                   out + i * inner);
    }
    return;
  }
  const Lookup lookup{row, length};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const auto last = static_cast<size_t>(i + kLanes - 1);
    const int64_t start = lookup.window(table.low[static_cast<size_t>(i)], table.high[last]);
    const VF low = lookup.at(table.low.data() + i, start);
    const VF high = lookup.at(table.high.data() + i, start);
    hn::StoreU(hn::MulAdd(hn::LoadU(kF32, table.weight.data() + i), hn::Sub(high, low), low), kF32, out + i);
  }
  for (; i < n; ++i) {
    const auto k = static_cast<size_t>(i);
    const float low = row[table.low[k]];
    out[i] = low + table.weight[k] * (row[table.high[k]] - low);
  }
}

void NearestRow(const float* row, int64_t length, const ResizeTable& table, int64_t inner, float* out) {
  const auto n = static_cast<int64_t>(table.low.size());
  const int32_t* HWY_RESTRICT from = table.low.data();
  if (inner == 1) {
    const Lookup lookup{row, length};
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      const int64_t start = lookup.window(from[i], from[i + kLanes - 1]);
      hn::StoreU(lookup.at(from + i, start), kF32, out + i);
    }
    for (; i < n; ++i) out[i] = row[from[i]];
  } else if (inner == 16) {  // a blocked layout: a constant size is a few moves
    for (int64_t i = 0; i < n; ++i) std::memcpy(out + i * 16, row + from[i] * 16, 64);
  } else {
    const size_t bytes = static_cast<size_t>(inner) * sizeof(float);
    for (int64_t i = 0; i < n; ++i) std::memcpy(out + i * inner, row + from[i] * inner, bytes);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace hone::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hone::kernels {
namespace {

HWY_EXPORT(MixRows);
HWY_EXPORT(LinearRow);
HWY_EXPORT(NearestRow);

}  // namespace

Result<Resize> Resize::create(const ResizeDesc& desc) {
  Resize kernel;
  kernel.in_spatial_ = desc.in_spatial;
  kernel.out_spatial_ = desc.out_spatial;
  kernel.linear_ = desc.mode == ResizeMode::kLinear;
  HONE_ASSIGN(kernel.tables_, resize_tables(desc));
  switch (desc.layout) {
    case Layout::kPlain:
      kernel.images_ = desc.batch * desc.channels;
      break;
    case Layout::kChannelsLast:
      kernel.images_ = desc.batch;
      kernel.inner_ = desc.channels;
      break;
    default:
      kernel.inner_ = channel_block(desc.layout);
      kernel.images_ = desc.batch * ((desc.channels + kernel.inner_ - 1) / kernel.inner_);
  }
  kernel.threads_ = thread_count();
  const auto row = static_cast<std::size_t>(desc.in_spatial.back() * kernel.inner_) * sizeof(float);
  kernel.row_bytes_ = kernel.linear_ ? (row + 63) / 64 * 64 : 0;
  return kernel;
}

void Resize::execute(const float* in, float* out, void* scratch) const noexcept {
  const std::size_t rank = out_spatial_.size();
  const int64_t in_row = in_spatial_.back() * inner_, out_row = out_spatial_.back() * inner_;
  const int64_t depth = rank > 2 ? out_spatial_[0] : 1, height = rank > 1 ? out_spatial_[rank - 2] : 1;
  const int64_t in_depth = rank > 2 ? in_spatial_[0] : 1, in_height = rank > 1 ? in_spatial_[rank - 2] : 1;
  const int64_t rows = images_ * depth * height;
  if (rows == 0 || out_row == 0) return;
  // Low, high and weight of an axis; 0 where there is none.
  const auto along = [&](std::size_t from_end, int64_t i) {
    struct Source {
      int64_t low = 0, high = 0;
      float weight = 0;
    } source;
    if (rank >= from_end) {
      const ResizeTable& table = tables_[rank - from_end];
      const auto k = static_cast<std::size_t>(i);
      source = {table.low[k], table.high[k], table.weight[k]};
    }
    return source;
  };
  const int64_t grain = grain_within(rows, 16384 / out_row + 1, threads_);
  parallel_for(rows, grain, [&](int64_t begin, int64_t end, int thread) {
    float* mixed = reinterpret_cast<float*>(static_cast<std::byte*>(scratch) +
                                            static_cast<std::size_t>(thread) * row_bytes_);
    const float* last_source = nullptr;
    for (int64_t index = begin; index < end; ++index) {
      const auto y = along(2, index % height);
      const auto z = along(3, index / height % depth);
      const float* image = in + index / height / depth * in_depth * in_height * in_row;
      const auto row = [&](int64_t zz, int64_t yy) { return image + (zz * in_height + yy) * in_row; };
      float* to = out + index * out_row;
      if (!linear_) {
        const float* source = row(z.low, y.low);
        if (source == last_source) {
          std::memcpy(to, to - out_row, static_cast<std::size_t>(out_row) * sizeof(float));
        } else {
          HWY_DYNAMIC_DISPATCH(NearestRow)(source, in_spatial_.back(), tables_.back(), inner_, to);
        }
        last_source = source;
        continue;
      }
      const float* sources[4];
      float weights[4];
      int64_t count = 0;
      const auto add = [&](const float* source, float weight) {
        if (weight != 0) sources[count] = source, weights[count++] = weight;
      };
      add(row(z.low, y.low), (1 - z.weight) * (1 - y.weight));
      add(row(z.low, y.high), (1 - z.weight) * y.weight);
      add(row(z.high, y.low), z.weight * (1 - y.weight));
      add(row(z.high, y.high), z.weight * y.weight);
      const float* source = sources[0];
      if (count > 1) {
        HWY_DYNAMIC_DISPATCH(MixRows)(sources, weights, count, in_row, mixed);
        source = mixed;
      }
      HWY_DYNAMIC_DISPATCH(LinearRow)(source, in_spatial_.back(), tables_.back(), inner_, to);
    }
  });
}

}  // namespace hone::kernels
#endif

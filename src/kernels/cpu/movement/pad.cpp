// Padding by one table an axis that says where each output position comes from.
#include "kernels/cpu/movement/pad.h"

#include <algorithm>
#include <cstring>

#include <fmt/core.h>

#include "kernels/cpu/parallel.h"

namespace hone::kernels {
namespace {

int64_t source(int64_t position, int64_t extent, PadMode mode) {
  if (position >= 0 && position < extent) return position;
  if (mode == PadMode::kConstant || extent == 0) return -1;
  if (mode == PadMode::kEdge) return std::clamp<int64_t>(position, 0, extent - 1);
  if (mode == PadMode::kWrap) return ((position % extent) + extent) % extent;
  if (extent == 1) return 0;
  const int64_t period = 2 * (extent - 1);
  const int64_t within = ((position % period) + period) % period;
  return within < extent ? within : period - within;
}

}  // namespace

Result<Pad> Pad::create(const PadDesc& desc) {
  const std::size_t rank = desc.shape.size();
  if (desc.before.size() != rank || desc.after.size() != rank) {
    return invalid(
        fmt::format("pad: {} and {} amounts for rank {}", desc.before.size(), desc.after.size(), rank));
  }
  Pad kernel;
  kernel.element_ = desc.element_size;
  kernel.strides_ = row_major_strides(desc.shape);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const int64_t extent = desc.shape[axis] + desc.before[axis] + desc.after[axis];
    if (extent < 0) return invalid(fmt::format("pad: axis {} would have a negative extent", axis));
    kernel.out_shape_.push_back(extent);
  }
  HONE_CHECK(checked_element_count(kernel.out_shape_));
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const int64_t extent = kernel.out_shape_[axis];
    std::vector<int64_t>& table = kernel.sources_.emplace_back(static_cast<std::size_t>(extent));
    for (int64_t i = 0; i < extent; ++i) {
      table[static_cast<std::size_t>(i)] = source(i - desc.before[axis], desc.shape[axis], desc.mode);
    }
  }
  if (rank > 0) {
    kernel.run_begin_ = std::clamp<int64_t>(desc.before[rank - 1], 0, kernel.out_shape_.back());
    kernel.run_end_ =
        std::clamp(desc.before[rank - 1] + desc.shape[rank - 1], kernel.run_begin_, kernel.out_shape_.back());
  }
  return kernel;
}

// One row of the last axis; `outside`: all of it is the constant.
void Pad::row(const std::byte* in, const std::byte* value, std::byte* out, bool outside) const noexcept {
  const int64_t length = out_shape_.back();
  const auto put = [&](int64_t i) {
    const int64_t from = outside ? -1 : sources_.back()[static_cast<std::size_t>(i)];
    std::memcpy(out + static_cast<std::size_t>(i) * element_,
                from < 0 ? value : in + static_cast<std::size_t>(from) * element_, element_);
  };
  const int64_t begin = outside ? length : run_begin_;
  const int64_t end = outside ? length : run_end_;
  for (int64_t i = 0; i < begin; ++i) put(i);
  if (end > begin) {
    const auto first = static_cast<std::size_t>(sources_.back()[static_cast<std::size_t>(begin)]);
    std::memcpy(out + static_cast<std::size_t>(begin) * element_, in + first * element_,
                static_cast<std::size_t>(end - begin) * element_);
  }
  for (int64_t i = end; i < length; ++i) put(i);
}

void Pad::execute(const void* in, const void* value, void* out) const noexcept {
  if (out_shape_.empty()) {
    std::memcpy(out, in, element_);
    return;
  }
  const int64_t length = out_shape_.back();
  const int64_t total = element_count(out_shape_);
  if (total == 0) return;
  parallel_for(total / length, 16384 / length + 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t index = begin; index < end; ++index) {
      int64_t rest = index, offset = 0;
      bool outside = false;
      for (std::size_t axis = out_shape_.size() - 1; axis-- > 0; rest /= out_shape_[axis]) {
        const int64_t from = sources_[axis][static_cast<std::size_t>(rest % out_shape_[axis])];
        outside = outside || from < 0;
        offset += from * strides_[axis];
      }
      row(static_cast<const std::byte*>(in) + (outside ? 0 : offset) * static_cast<int64_t>(element_),
          static_cast<const std::byte*>(value),
          static_cast<std::byte*>(out) + index * length * static_cast<int64_t>(element_), outside);
    }
  });
}

}  // namespace hone::kernels

// Strided copies: merging axes until what is left is a run, a 2-D transpose, or a plain strided loop.
#include "kernels/cpu/movement/strided_copy.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <fmt/core.h>

#include "kernels/cpu/movement/transpose2d.h"
#include "kernels/cpu/parallel.h"

namespace hone::kernels {
namespace {

constexpr std::size_t kMaxAxes = 16;
constexpr int64_t kParallelBytes = 1 << 16;

// Strides in elements of kSize bytes. memcpy of a constant size is one move, whatever the alignment.
template <int64_t kSize>
void copy_strided(const std::byte* in, int64_t in_stride, std::byte* out, int64_t out_stride, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    std::memcpy(out + i * out_stride * kSize, in + i * in_stride * kSize, kSize);
}

void copy_strided(std::size_t element, const std::byte* in, int64_t in_stride, std::byte* out,
                  int64_t out_stride, int64_t n) {
  switch (element) {
    case 1:
      return copy_strided<1>(in, in_stride, out, out_stride, n);
    case 2:
      return copy_strided<2>(in, in_stride, out, out_stride, n);
    case 4:
      return copy_strided<4>(in, in_stride, out, out_stride, n);
    case 8:
      return copy_strided<8>(in, in_stride, out, out_stride, n);
    default:
      return copy_strided<16>(in, in_stride, out, out_stride, n);
  }
}

}  // namespace

// A short contiguous run is one wider element, if everything else steps in whole runs.
void StridedCopy::widen_element(std::vector<Axis>& axes) {
  if (axes.size() < 2 || axes.back().in != 1 || axes.back().out != 1) return;
  const int64_t run = axes.back().extent;
  const bool power = (run & (run - 1)) == 0 && run * static_cast<int64_t>(element_) <= 16;
  const bool whole = std::all_of(axes.begin(), axes.end() - 1,
                                 [&](const Axis& axis) { return axis.in % run == 0 && axis.out % run == 0; });
  // Pointers must be aligned to the wider element too: x86 does not mind, and copies are through memory
  // types.
  if (!power || !whole || in_offset_ % run != 0 || out_offset_ % run != 0) return;
  axes.pop_back();
  for (Axis& axis : axes) axis.in /= run, axis.out /= run;
  element_ *= static_cast<std::size_t>(run);
  in_offset_ /= run;
  out_offset_ /= run;
}

// Takes the row, and for a transpose the column, out of `axes`; long ones leave pieces there, which threads
// can share.
void StridedCopy::choose_inner(std::vector<Axis>& axes) {
  if (axes.empty()) axes.push_back({1, 1, 1});
  row_ = axes.back();
  axes.pop_back();
  if (row_.in == 1 && row_.out == 1) {
    inner_ = Inner::kRun;
    constexpr int64_t kPiece = 1 << 13;
    if (axes.empty() && row_.extent > 2 * kPiece && row_.extent % kPiece == 0) {
      axes.push_back({row_.extent / kPiece, kPiece, kPiece});
      row_.extent = kPiece;
    }
    return;
  }
  inner_ = Inner::kStrided;
  const auto unit = std::find_if(axes.begin(), axes.end(), [](const Axis& axis) { return axis.in == 1; });
  if (element_ != 4 || row_.out != 1 || unit == axes.end()) return;
  inner_ = Inner::kTranspose;
  column_ = *unit;
  axes.erase(unit);
  constexpr int64_t kPiece = 64;  // whole cache lines of the input
  if (column_.extent % kPiece == 0 && column_.extent > kPiece) {
    axes.push_back({column_.extent / kPiece, kPiece, kPiece * column_.out});
    column_.extent = kPiece;
  }
}

Result<StridedCopy> StridedCopy::create(const StridedCopyDesc& desc) {
  const std::size_t rank = desc.shape.size();
  if (desc.in_strides.size() != rank || desc.out_strides.size() != rank || rank > kMaxAxes) {
    return invalid(fmt::format("strided copy: {} axes with {} and {} strides (at most {} axes)", rank,
                               desc.in_strides.size(), desc.out_strides.size(), kMaxAxes));
  }
  if (desc.element_size == 0 || desc.element_size > 16 ||
      (desc.element_size & (desc.element_size - 1)) != 0) {
    return unsupported(fmt::format("strided copy: elements of {} bytes", desc.element_size));
  }
  HONE_CHECK(checked_element_count(desc.shape));
  StridedCopy kernel;
  kernel.element_ = desc.element_size;
  kernel.in_offset_ = desc.in_offset;
  kernel.out_offset_ = desc.out_offset;
  if (element_count(desc.shape) == 0) return kernel;  // rows_ 0: nothing to do
  std::vector<Axis> axes = merged_axes(desc);
  kernel.widen_element(axes);
  kernel.choose_inner(axes);
  kernel.rows_ = 1;
  for (const Axis& axis : axes) kernel.rows_ *= axis.extent;
  kernel.outer_ = std::move(axes);
  return kernel;
}

void StridedCopy::copy_rows(const std::byte* in, std::byte* out, int64_t begin, int64_t end) const noexcept {
  std::array<int64_t, kMaxAxes + 1> position{};
  int64_t in_at = in_offset_, out_at = out_offset_, rest = begin;
  for (std::size_t axis = outer_.size(); axis-- > 0; rest /= outer_[axis].extent) {
    position[axis] = rest % outer_[axis].extent;
    in_at += position[axis] * outer_[axis].in;
    out_at += position[axis] * outer_[axis].out;
  }
  const auto size = static_cast<int64_t>(element_);
  for (int64_t row = begin; row < end; ++row) {
    const std::byte* from = in + in_at * size;
    std::byte* to = out + out_at * size;
    if (inner_ == Inner::kRun) {
      std::memcpy(to, from, static_cast<std::size_t>(row_.extent * size));
    } else if (inner_ == Inner::kTranspose) {
      internal::transpose_2d(reinterpret_cast<const float*>(from), row_.in, row_.extent, column_.extent,
                             reinterpret_cast<float*>(to), column_.out);
    } else {
      copy_strided(element_, from, row_.in, to, row_.out, row_.extent);
    }
    for (std::size_t axis = outer_.size(); axis-- > 0;) {
      in_at += outer_[axis].in;
      out_at += outer_[axis].out;
      if (++position[axis] < outer_[axis].extent) break;
      in_at -= outer_[axis].in * outer_[axis].extent;
      out_at -= outer_[axis].out * outer_[axis].extent;
      position[axis] = 0;
    }
  }
}

void StridedCopy::execute(const void* in, void* out) const noexcept {
  const int64_t row_bytes = row_.extent * column_.extent * static_cast<int64_t>(element_);
  parallel_for(rows_, kParallelBytes / std::max<int64_t>(row_bytes, 1) + 1,
               [&](int64_t begin, int64_t end, int) {
                 copy_rows(static_cast<const std::byte*>(in), static_cast<std::byte*>(out), begin, end);
               });
}

}  // namespace hone::kernels

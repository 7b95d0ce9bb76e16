#include "kernels/cpu/movement/scatter_add.h"

#include <algorithm>
#include <atomic>

#include "kernels/cpu/parallel.h"

namespace hone::kernels {
namespace {

constexpr int64_t kGrain = 16384;  // additions worth a thread

// The index counted from the front; -1 if it lies outside.
int64_t from_front(int64_t index, int64_t extent) noexcept {
  const int64_t at = index < 0 ? index + extent : index;
  return at >= 0 && at < extent ? at : -1;
}

}  // namespace

Result<ScatterAdd> ScatterAdd::slices(const Shape& data, int64_t tuples, int64_t width) {
  if (width < 0 || width > static_cast<int64_t>(data.size()) || tuples < 0)
    return invalid("scatter: tuples reach beyond the data");
  ScatterAdd made;
  made.extents_.assign(data.begin(), data.begin() + width);
  const std::vector<int64_t> strides = row_major_strides(data);
  made.strides_.assign(strides.begin(), strides.begin() + width);
  made.slice_ = element_count(std::span(data).subspan(static_cast<std::size_t>(width)));
  made.tuples_ = tuples;
  return made;
}

Result<ScatterAdd> ScatterAdd::elements(const Shape& data, const Shape& indices, int64_t axis) {
  const auto at = static_cast<std::size_t>(axis);
  if (indices.size() != data.size() || at >= data.size())
    return invalid("scatter: data and indices differ in rank");
  for (std::size_t i = 0; i < data.size(); ++i)
    if (i != at && indices[i] != data[i]) return unsupported("scatter: indices of a part of the data");
  ScatterAdd made;
  made.of_slices_ = false;
  made.outer_ = element_count(std::span(data).first(at));
  made.inner_ = element_count(std::span(data).subspan(at + 1));
  made.extent_ = data[at];
  made.picked_ = indices[at];
  return made;
}

int64_t ScatterAdd::start_of(const int64_t* tuple) const noexcept {
  int64_t start = 0;
  for (std::size_t i = 0; i < extents_.size(); ++i) {
    const int64_t at = from_front(tuple[i], extents_[i]);
    if (at < 0) return -1;
    start += at * strides_[i];
  }
  return start;
}

// Each thread has some columns of all slices.
bool ScatterAdd::add_slices(const float* updates, const int64_t* indices, float* out) const noexcept {
  const auto width = static_cast<int64_t>(extents_.size());
  std::atomic<bool> inside{true};
  parallel_for(slice_, std::max<int64_t>(16, kGrain / std::max<int64_t>(tuples_, 1)),
               [&](int64_t begin, int64_t end, int) {
                 for (int64_t tuple = 0; tuple < tuples_; ++tuple) {
                   const int64_t start = start_of(indices + tuple * width);
                   if (start < 0) {
                     inside = false;
                     return;
                   }
                   const float* from = updates + tuple * slice_;
                   float* to = out + start;
                   for (int64_t i = begin; i < end; ++i) to[i] += from[i];
                 }
               });
  return inside;
}

// Each thread has some of the outer places.
bool ScatterAdd::add_elements(const float* updates, const int64_t* indices, float* out) const noexcept {
  std::atomic<bool> inside{true};
  const int64_t lines = picked_ * inner_;
  parallel_for(outer_, kGrain / std::max<int64_t>(lines, 1) + 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t o = begin; o < end; ++o)
      for (int64_t k = 0; k < lines; ++k) {
        const int64_t at = from_front(indices[o * lines + k], extent_);
        if (at < 0) {
          inside = false;
          return;
        }
        out[(o * extent_ + at) * inner_ + k % inner_] += updates[o * lines + k];
      }
  });
  return inside;
}

bool ScatterAdd::execute(const float* updates, const int64_t* indices, float* out) const noexcept {
  return of_slices_ ? add_slices(updates, indices, out) : add_elements(updates, indices, out);
}

}  // namespace hone::kernels

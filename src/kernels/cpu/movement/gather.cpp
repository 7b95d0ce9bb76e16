// Gathers and scatters.
#include "kernels/cpu/movement/gather.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "kernels/cpu/parallel.h"

namespace hone::kernels {
namespace {

constexpr int64_t kParallelGatherBytes = 1 << 16;
constexpr std::size_t kMaxGatherAxes = 16;

int64_t index_at(const void* indices, DType type, int64_t i) {
  return type == DType::kI32 ? static_cast<const int32_t*>(indices)[i]
                             : static_cast<const int64_t*>(indices)[i];
}

Status check_index_type(DType type) {
  if (type == DType::kI32 || type == DType::kI64) return {};
  return unsupported("gather: indices of type " + std::string(dtype_name(type)));
}

// Copies of the common sizes without a call.
void copy_element(std::byte* to, const std::byte* from, std::size_t size) {
  if (size == 4) {
    std::memcpy(to, from, 4);
  } else if (size == 8) {
    std::memcpy(to, from, 8);
  } else {
    std::memcpy(to, from, size);
  }
}

}  // namespace

Result<Gather> Gather::create(const GatherDesc& desc) {
  HONE_CHECK(check_index_type(desc.index_type));
  if (desc.outer < 0 || desc.axis < 0 || desc.inner < 0 || desc.indices < 0)
    return invalid("gather: negative extent");
  Gather kernel;
  kernel.desc_ = desc;
  return kernel;
}

bool Gather::execute(const void* data, const void* indices, void* out) const noexcept {
  const GatherDesc& d = desc_;
  const auto run = static_cast<int64_t>(d.element_size) * d.inner;
  std::atomic<bool> in_range{true};
  const auto* from = static_cast<const std::byte*>(data);
  auto* to = static_cast<std::byte*>(out);
  parallel_for(d.outer * d.indices, kParallelGatherBytes / std::max<int64_t>(run, 1) + 1,
               [&](int64_t begin, int64_t end, int) {
                 for (int64_t item = begin; item < end; ++item) {
                   int64_t index = index_at(indices, d.index_type, item % d.indices);
                   if (index < 0) index += d.axis;
                   std::byte* target = to + item * run;
                   if (index < 0 || index >= d.axis) {
                     in_range.store(false, std::memory_order_relaxed);
                     std::memset(target, 0, static_cast<std::size_t>(run));
                   } else {
                     const std::byte* source = from + (item / d.indices * d.axis + index) * run;
                     copy_element(target, source, static_cast<std::size_t>(run));
                   }
                 }
               });
  return in_range.load();
}

Result<GatherElements> GatherElements::create(const ElementsDesc& desc) {
  HONE_CHECK(check_index_type(desc.index_type));
  const std::size_t rank = desc.data_shape.size();
  if (desc.index_shape.size() != rank || rank == 0 || rank > kMaxGatherAxes || desc.axis < 0 ||
      desc.axis >= static_cast<int64_t>(rank)) {
    return invalid("gather elements: ranks of data and indices differ, or the axis is none of theirs");
  }
  for (std::size_t axis = 0; axis < rank; ++axis) {
    if (static_cast<int64_t>(axis) != desc.axis && desc.index_shape[axis] > desc.data_shape[axis]) {
      return invalid("gather elements: indices " + shape_text(desc.index_shape) + " exceed data " +
                     shape_text(desc.data_shape));
    }
  }
  GatherElements kernel;
  kernel.desc_ = desc;
  kernel.strides_ = row_major_strides(desc.data_shape);
  HONE_ASSIGN(kernel.total_, checked_element_count(desc.index_shape));
  return kernel;
}

// Calls f(position among the indices, element of data, or -1 where out of range).
template <typename F>
bool GatherElements::walk(const void* indices, int64_t begin, int64_t end, const F& f) const noexcept {
  const Shape& shape = desc_.index_shape;
  const auto axis = static_cast<std::size_t>(desc_.axis);
  bool in_range = true;
  std::array<int64_t, kMaxGatherAxes> position{};
  int64_t rest = begin, offset = 0;  // offset: of the position, without the indexed axis
  for (std::size_t a = shape.size(); a-- > 0; rest /= shape[a]) {
    position[a] = rest % shape[a];
    if (a != axis) offset += position[a] * strides_[a];
  }
  for (int64_t i = begin; i < end; ++i) {
    int64_t index = index_at(indices, desc_.index_type, i);
    if (index < 0) index += desc_.data_shape[axis];
    const bool inside = index >= 0 && index < desc_.data_shape[axis];
    in_range = in_range && inside;
    f(i, inside ? offset + index * strides_[axis] : -1);
    for (std::size_t a = shape.size(); a-- > 0;) {
      if (a != axis) offset += strides_[a];
      if (++position[a] < shape[a]) break;
      if (a != axis) offset -= strides_[a] * shape[a];
      position[a] = 0;
    }
  }
  return in_range;
}

bool GatherElements::gather(const void* data, const void* indices, void* out) const noexcept {
  std::atomic<bool> in_range{true};
  const std::size_t size = desc_.element_size;
  parallel_for(total_, 8192, [&](int64_t begin, int64_t end, int) {
    const bool inside = walk(indices, begin, end, [&](int64_t i, int64_t element) {
      std::byte* to = static_cast<std::byte*>(out) + static_cast<std::size_t>(i) * size;
      if (element < 0) {
        std::memset(to, 0, size);
      } else {
        copy_element(to, static_cast<const std::byte*>(data) + static_cast<std::size_t>(element) * size,
                     size);
      }
    });
    if (!inside) in_range.store(false, std::memory_order_relaxed);
  });
  return in_range.load();
}

bool GatherElements::scatter(const void* updates, const void* indices, void* data) const noexcept {
  const std::size_t size = desc_.element_size;
  return walk(indices, 0, total_, [&](int64_t i, int64_t element) {
    if (element < 0) return;
    copy_element(static_cast<std::byte*>(data) + static_cast<std::size_t>(element) * size,
                 static_cast<const std::byte*>(updates) + static_cast<std::size_t>(i) * size, size);
  });
}

Result<GatherND> GatherND::create(const GatherNDDesc& desc) {
  HONE_CHECK(check_index_type(desc.index_type));
  GatherND kernel;
  kernel.desc_ = desc;
  HONE_ASSIGN(kernel.indexed_, checked_element_count(desc.indexed_shape));
  return kernel;
}

int64_t GatherND::locate(const void* indices, int64_t tuple) const noexcept {
  const auto depth = static_cast<int64_t>(desc_.indexed_shape.size());
  int64_t position = tuple / std::max<int64_t>(desc_.tuples, 1);
  for (int64_t k = 0; k < depth; ++k) {
    const int64_t extent = desc_.indexed_shape[static_cast<std::size_t>(k)];
    int64_t index = index_at(indices, desc_.index_type, tuple * depth + k);
    if (index < 0) index += extent;
    if (index < 0 || index >= extent) return -1;
    position = position * extent + index;
  }
  return position;
}

bool GatherND::gather(const void* data, const void* indices, void* out) const noexcept {
  const auto run = static_cast<int64_t>(desc_.element_size) * desc_.slice;
  std::atomic<bool> in_range{true};
  parallel_for(desc_.batch * desc_.tuples, kParallelGatherBytes / std::max<int64_t>(run, 1) + 1,
               [&](int64_t begin, int64_t end, int) {
                 for (int64_t tuple = begin; tuple < end; ++tuple) {
                   const int64_t position = locate(indices, tuple);
                   std::byte* to = static_cast<std::byte*>(out) + tuple * run;
                   if (position < 0) {
                     in_range.store(false, std::memory_order_relaxed);
                     std::memset(to, 0, static_cast<std::size_t>(run));
                   } else {
                     copy_element(to, static_cast<const std::byte*>(data) + position * run,
                                  static_cast<std::size_t>(run));
                   }
                 }
               });
  return in_range.load();
}

bool GatherND::scatter(const void* updates, const void* indices, void* data) const noexcept {
  const auto run = static_cast<int64_t>(desc_.element_size) * desc_.slice;
  bool in_range = true;
  for (int64_t tuple = 0; tuple < desc_.batch * desc_.tuples; ++tuple) {
    const int64_t position = locate(indices, tuple);
    in_range = in_range && position >= 0;
    if (position < 0) continue;
    copy_element(static_cast<std::byte*>(data) + position * run,
                 static_cast<const std::byte*>(updates) + tuple * run, static_cast<std::size_t>(run));
  }
  return in_range;
}

}  // namespace hone::kernels

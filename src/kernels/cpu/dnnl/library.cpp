// Memory descriptors from hone's layouts, and the library's errors as ours.
#include "kernels/cpu/dnnl/library.h"

#include <fmt/core.h>

namespace hone::kernels::onednn {
namespace {

using Tag = dnnl::memory::format_tag;

// Tensors of rank 3, 4 and 5: N, C and one to three spatial extents.
Tag layout_tag(std::size_t rank, Layout layout) {
  const std::size_t row = rank - 3;
  switch (layout) {
    case Layout::kPlain:
      break;
    case Layout::kChannelsLast: {
      constexpr Tag kTags[] = {Tag::nwc, Tag::nhwc, Tag::ndhwc};
      return kTags[row];
    }
    case Layout::kBlocked8: {
      constexpr Tag kTags[] = {Tag::nCw8c, Tag::nChw8c, Tag::nCdhw8c};
      return kTags[row];
    }
    case Layout::kBlocked16: {
      constexpr Tag kTags[] = {Tag::nCw16c, Tag::nChw16c, Tag::nCdhw16c};
      return kTags[row];
    }
  }
  return Tag::undef;
}

}  // namespace

Result<MemoryDesc> memory_desc(const Shape& shape, Layout layout) {
  if (layout == Layout::kPlain) return strided_desc(shape, row_major_strides(shape));
  if (shape.size() < 3 || shape.size() > 5) {
    return unsupported(
        fmt::format("oneDNN: layout {} of a tensor of shape {}", layout_name(layout), shape_text(shape)));
  }
  return MemoryDesc(shape, dnnl::memory::data_type::f32, layout_tag(shape.size(), layout));
}

MemoryDesc strided_desc(const Shape& shape, const Shape& strides) {
  if (shape.empty()) return MemoryDesc({1}, dnnl::memory::data_type::f32, Dims{1});
  return MemoryDesc(shape, dnnl::memory::data_type::f32, strides);
}

MemoryDesc any_desc(const Shape& shape) {
  return MemoryDesc(shape, dnnl::memory::data_type::f32, dnnl::memory::format_tag::any);
}

Error library_error(const std::string& what, const dnnl::error& error) {
  if (error.status == dnnl_unimplemented || error.status == dnnl_invalid_arguments) {
    return unsupported(fmt::format("{}: oneDNN cannot do this: {}", what, error.what()));
  }
  return {ErrorCode::kInvalidArgument, fmt::format("{}: oneDNN: {}", what, error.what())};
}

}  // namespace hone::kernels::onednn

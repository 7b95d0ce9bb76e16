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

dnnl::memory::data_type library_type(DType dtype) {
  return dtype == DType::kBF16 ? dnnl::memory::data_type::bf16 : dnnl::memory::data_type::f32;
}

Result<MemoryDesc> memory_desc(const Shape& shape, Layout layout, DType dtype) {
  if (layout == Layout::kPlain) return plain_desc(shape, dtype);
  if (shape.size() < 3 || shape.size() > 5) {
    return unsupported(
        fmt::format("oneDNN: layout {} of a tensor of shape {}", layout_name(layout), shape_text(shape)));
  }
  return MemoryDesc(shape, library_type(dtype), layout_tag(shape.size(), layout));
}

MemoryDesc strided_desc(const Shape& shape, const Shape& strides, DType dtype) {
  if (shape.empty()) return MemoryDesc({1}, library_type(dtype), Dims{1});
  return MemoryDesc(shape, library_type(dtype), strides);
}

MemoryDesc plain_desc(const Shape& shape, DType dtype) {
  return strided_desc(shape, row_major_strides(shape), dtype);
}

MemoryDesc any_desc(const Shape& shape, DType dtype) {
  return MemoryDesc(shape, library_type(dtype), dnnl::memory::format_tag::any);
}

Status check_types(const std::string& what, DType dtype, DType result) {
  if ((dtype == DType::kF32 || dtype == DType::kBF16) && (result == DType::kF32 || result == dtype))
    return {};
  return unsupported(fmt::format("{}: {} giving {}: only f32 and bf16 are, and f32 of bf16", what,
                                 dtype_name(dtype), dtype_name(result)));
}

Error library_error(const std::string& what, const dnnl::error& error) {
  if (error.status == dnnl_unimplemented || error.status == dnnl_invalid_arguments) {
    return unsupported(fmt::format("{}: oneDNN cannot do this: {}", what, error.what()));
  }
  return {ErrorCode::kInvalidArgument, fmt::format("{}: oneDNN: {}", what, error.what())};
}

}  // namespace hone::kernels::onednn

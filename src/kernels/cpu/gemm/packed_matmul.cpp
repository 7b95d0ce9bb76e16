#include "kernels/cpu/gemm/packed_matmul.h"

#include <fmt/core.h>

#include "kernels/cpu/gemm/split.h"
#include "kernels/cpu/gemm/tile.h"

namespace hone::kernels {

Status PackedMatMul::supports(const MatMulDesc& desc) {
  const auto refuse = [&](std::string_view reason) {
    return unsupported(fmt::format("product {} x {}: {} {}", shape_text(desc.a_shape),
                                   shape_text(desc.b_shape), kName, reason));
  };
  if (desc.dtype != DType::kF32) return refuse("takes f32 only");
  if (!desc.constant_b || desc.a_shape.size() != 2 || desc.b_shape.size() != 2)
    return refuse("takes two matrices, the right one constant");
  if (!desc.a_strides.empty() && desc.a_strides[1] != 1) return refuse("takes rows that lie together");
  if (element_count(desc.a_shape) == 0 || element_count(desc.b_shape) == 0)
    return refuse("takes no empty factor");
  if (!fuse_epilogue(desc.post_ops, {desc.a_shape[0], desc.b_shape[1]}, Layout::kPlain))
    return refuse("fuses none of these post-ops");
  return {};
}

Result<std::unique_ptr<PackedMatMul>> PackedMatMul::create(const MatMulDesc& desc, const void* b,
                                                           const void* bias) {
  HONE_CHECK(supports(desc));
  std::unique_ptr<PackedMatMul> made(new PackedMatMul());
  made->rows_ = desc.a_shape[0];
  made->depth_ = desc.a_shape[1];
  made->columns_ = desc.b_shape[1];
  made->a_row_ = desc.a_strides.empty() ? made->depth_ : desc.a_strides[0];
  made->epilogue_ = *fuse_epilogue(desc.post_ops, {made->rows_, made->columns_}, Layout::kPlain);
  const Shape strides = desc.b_strides.empty() ? Shape{made->columns_, 1} : desc.b_strides;
  made->panels_ =
      gemm::pack_panels(static_cast<const float*>(b), made->depth_, made->columns_, strides[0], strides[1]);
  made->bias_ = gemm::pack_bias(desc.has_bias ? static_cast<const float*>(bias) : nullptr, made->columns_);
  return made;
}

void PackedMatMul::execute(const float* a, const float* residual, float* dst) const noexcept {
  using gemm::kPanel;
  const gemm::Split split = gemm::split_product(rows_, depth_, columns_, gemm::tile_rows());
  const float* panels = panels_.as<float>().data();
  const float* bias = bias_.as<float>().data();
  const auto piece = [&](int64_t row, int64_t rows, int64_t panel, int64_t count) {
    const int64_t column = panel * kPanel;
    const int64_t at = row * columns_ + column;
    gemm::TileJob job;
    job.a = a + row * a_row_;
    job.panels = panels + column * depth_;
    job.bias = bias + column;
    job.residual = epilogue_.residual ? residual + at : nullptr;
    job.c = dst + at;
    job.a_strides = {0, a_row_, gemm::kBlock};
    job.c_strides = {0, columns_, gemm::kBlock};
    job.rows = rows;
    job.depth = depth_;
    job.columns = std::min(count * kPanel, columns_ - column);
    job.low = epilogue_.low;
    job.high = epilogue_.high;
    gemm::multiply(job);
    if (epilogue_.activations.empty()) return;
    for (int64_t i = 0; i < rows; ++i) activate(epilogue_.activations, job.c + i * columns_, job.columns);
  };
  gemm::for_each_piece(split, rows_, depth_, columns_, piece);
}

}  // namespace hone::kernels

#include "kernels/cpu/gemm/pointwise_convolution.h"

#include <algorithm>

#include "kernels/cpu/gemm/blocked_support.h"
#include "kernels/cpu/gemm/split.h"
#include "kernels/cpu/gemm/tile.h"

namespace hone::kernels {
Status PointwiseConvolution::supports(const ConvolutionDesc& desc) {
  HONE_CHECK(gemm::supports_blocked16(desc, kName));
  if (desc.transposed) return gemm::refuse(desc, kName, "takes no transposition");
  if (desc.input.empty() || desc.input.size() > 2)
    return gemm::refuse(desc, kName, "takes one or two spatial axes");
  if (!all_are(desc.kernel, 1) || !all_are(desc.pads_begin, 0) || !all_are(desc.pads_end, 0))
    return gemm::refuse(desc, kName, "takes a 1x1 kernel without padding");
  return {};
}

Result<std::unique_ptr<PointwiseConvolution>> PointwiseConvolution::create(const ConvolutionDesc& desc,
                                                                           const void* weights,
                                                                           const void* bias) {
  HONE_CHECK(supports(desc));
  std::unique_ptr<PointwiseConvolution> made(new PointwiseConvolution());
  made->epilogue_ = *fuse_epilogue(desc.post_ops, desc.dst_shape(), Layout::kBlocked16);
  made->batch_ = desc.batch;
  made->in_channels_ = desc.in_channels;
  made->out_channels_ = desc.out_channels;
  made->panels_ = gemm::pack_panels(static_cast<const float*>(weights), desc.in_channels, desc.out_channels,
                                    1, desc.in_channels);
  made->bias_ = gemm::pack_bias(desc.has_bias ? static_cast<const float*>(bias) : nullptr, desc.out_channels);
  const Shape out = desc.output();
  made->in_pixels_ = element_count(desc.input);
  if (all_are(desc.strides, 1)) {
    made->in_columns_ = made->out_columns_ = made->in_pixels_;
    made->out_rows_ = 1;
  } else {
    made->in_columns_ = desc.input.back();
    made->out_columns_ = out.back();
    made->out_rows_ = out.size() > 1 ? out[0] : 1;
    made->row_stride_ = out.size() > 1 ? desc.strides[0] : 1;
    made->column_stride_ = desc.strides.back();
  }
  return made;
}

void PointwiseConvolution::execute(const float* src, const float* residual, float* dst) const noexcept {
  using gemm::kBlock;
  using gemm::kPanel;
  const bool strided = out_rows_ > 1;
  const int64_t pixels = out_rows_ * out_columns_;
  const gemm::Split split =
      gemm::split_product(pixels, in_channels_, out_channels_, strided ? out_columns_ : gemm::tile_rows());
  const float* panels = panels_.as<float>().data();
  const float* bias = bias_.as<float>().data();
  const int64_t blocks = gemm::blocks_for(out_channels_);
  for (int64_t image = 0; image < batch_; ++image) {
    const float* from = src + image * gemm::blocks_for(in_channels_) * in_pixels_ * kBlock;
    const int64_t to = image * blocks * pixels * kBlock;
    const auto piece = [&](int64_t pixel, int64_t count, int64_t panel, int64_t panel_count) {
      const int64_t column = panel * kPanel;
      const int64_t at = to + column * pixels + pixel * kBlock;
      const int64_t y = strided ? pixel / out_columns_ : 0;
      const int64_t x = strided ? 0 : pixel;
      gemm::TileJob job;
      job.a = from + (y * row_stride_ * in_columns_ + x * column_stride_) * kBlock;
      job.panels = panels + column * in_channels_;
      job.bias = bias + column;
      job.residual = epilogue_.residual ? residual + at : nullptr;
      job.c = dst + at;
      job.a_strides = {row_stride_ * in_columns_ * kBlock, column_stride_ * kBlock, in_pixels_ * kBlock};
      job.c_strides = {out_columns_ * kBlock, kBlock, pixels * kBlock};
      job.groups = strided ? count / out_columns_ : 1;
      job.rows = strided ? out_columns_ : count;
      job.depth = in_channels_;
      job.columns = std::min(panel_count * kPanel, blocks * kBlock - column);
      job.low = epilogue_.low;
      job.high = epilogue_.high;
      gemm::multiply(job);
      if (epilogue_.activations.empty()) return;
      for (int64_t block = 0; block < job.columns; block += kBlock)
        activate(epilogue_.activations, job.c + block * pixels, count * kBlock, column + block);
    };
    gemm::for_each_piece(split, pixels, in_channels_, out_channels_, piece);
  }
}

}  // namespace hone::kernels

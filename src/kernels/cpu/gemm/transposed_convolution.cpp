#include "kernels/cpu/gemm/transposed_convolution.h"

#include <algorithm>

#include "kernels/cpu/gemm/blocked_support.h"
#include "kernels/cpu/gemm/split.h"
#include "kernels/cpu/gemm/tile.h"

namespace hone::kernels {
Status TransposedConvolution::supports(const ConvolutionDesc& desc) {
  HONE_CHECK(gemm::supports_blocked16(desc, kName));
  if (!desc.transposed) return gemm::refuse(desc, kName, "takes transposed convolutions only");
  if (desc.input.size() != 2) return gemm::refuse(desc, kName, "takes two spatial axes");
  const Shape strides = desc.strides.empty() ? Shape{1, 1} : desc.strides;
  if (desc.kernel != strides || !all_are(desc.dilations, 1) || !all_are(desc.pads_begin, 0) ||
      !all_are(desc.pads_end, 0) || !all_are(desc.output_padding, 0))
    return gemm::refuse(desc, kName, "takes strides as long as the kernel, without dilation and padding");
  return {};
}

Result<std::unique_ptr<TransposedConvolution>> TransposedConvolution::create(const ConvolutionDesc& desc,
                                                                             const void* weights,
                                                                             const void* bias) {
  HONE_CHECK(supports(desc));
  std::unique_ptr<TransposedConvolution> made(new TransposedConvolution());
  made->epilogue_ = *fuse_epilogue(desc.post_ops, desc.dst_shape(), Layout::kBlocked16);
  made->batch_ = desc.batch;
  made->in_channels_ = desc.in_channels;
  made->out_channels_ = desc.out_channels;
  made->in_rows_ = desc.input[0];
  made->in_columns_ = desc.input[1];
  made->row_stride_ = desc.kernel[0];
  made->column_stride_ = desc.kernel[1];
  const int64_t taps = element_count(desc.kernel);
  for (int64_t tap = 0; tap < taps; ++tap) {
    made->panels_.push_back(gemm::pack_panels(static_cast<const float*>(weights) + tap, desc.in_channels,
                                              desc.out_channels, desc.out_channels * taps, taps));
  }
  made->bias_ = gemm::pack_bias(desc.has_bias ? static_cast<const float*>(bias) : nullptr, desc.out_channels);
  return made;
}

std::size_t TransposedConvolution::packed_weight_bytes() const {
  return panels_.size() * panels_[0].bytes() + bias_.bytes();
}

void TransposedConvolution::execute(const float* src, const float* residual, float* dst) const noexcept {
  using gemm::kBlock;
  using gemm::kPanel;
  const int64_t in_pixels = in_rows_ * in_columns_;
  const int64_t out_row = in_columns_ * column_stride_ * kBlock;
  const int64_t out_block = in_rows_ * row_stride_ * out_row;
  const int64_t blocks = gemm::blocks_for(out_channels_);
  const auto taps = static_cast<int64_t>(panels_.size());
  const gemm::Split split = gemm::split_product(in_pixels, in_channels_, out_channels_, in_columns_);
  for (int64_t image = 0; image < batch_; ++image) {
    const float* from = src + image * gemm::blocks_for(in_channels_) * in_pixels * kBlock;
    const auto piece = [&](int64_t pixel, int64_t count, int64_t panel, int64_t panel_count) {
      const int64_t column = panel * kPanel;
      const int64_t at =
          (image * blocks + column / kBlock) * out_block + pixel / in_columns_ * row_stride_ * out_row;
      gemm::TileJob job;
      job.a = from + pixel * kBlock;
      job.bias = bias_.as<float>().data() + column;
      job.a_strides = {in_columns_ * kBlock, kBlock, in_pixels * kBlock};
      job.c_strides = {row_stride_ * out_row, column_stride_ * kBlock, out_block};
      job.groups = count / in_columns_;
      job.rows = in_columns_;
      job.depth = in_channels_;
      job.columns = std::min(panel_count * kPanel, blocks * kBlock - column);
      job.low = epilogue_.low;
      job.high = epilogue_.high;
      for (int64_t tap = 0; tap < taps; ++tap) {
        const int64_t to = at + tap / column_stride_ * out_row + tap % column_stride_ * kBlock;
        job.panels = panels_[static_cast<std::size_t>(tap)].as<float>().data() + column * in_channels_;
        job.residual = epilogue_.residual ? residual + to : nullptr;
        job.c = dst + to;
        gemm::multiply(job);
      }
      if (epilogue_.activations.empty()) return;
      for (int64_t block = 0; block < job.columns / kBlock; ++block) {
        activate(epilogue_.activations, dst + at + block * out_block, job.groups * row_stride_ * out_row,
                 column + block * kBlock);
      }
    };
    gemm::for_each_piece(split, in_pixels, in_channels_ * taps, out_channels_, piece);
  }
}

}  // namespace hone::kernels

#include "kernels/cpu/gemm/gathered_convolution.h"

#include <algorithm>

#include "kernels/cpu/gemm/blocked_support.h"
#include "kernels/cpu/gemm/tile.h"
#include "kernels/cpu/parallel.h"

namespace hone::kernels {
namespace {

using gemm::kBlock;
using gemm::kPanel;

int64_t or_one(const Shape& extents, std::size_t axis) { return extents.empty() ? 1 : extents[axis]; }

}  // namespace

Status GatheredConvolution::supports(const ConvolutionDesc& desc) {
  HONE_CHECK(gemm::supports_blocked16(desc, kName));
  if (desc.transposed) return gemm::refuse(desc, kName, "takes no transposition");
  if (desc.input.size() != 2) return gemm::refuse(desc, kName, "takes two spatial axes");
  return {};
}

Result<std::unique_ptr<GatheredConvolution>> GatheredConvolution::create(const ConvolutionDesc& desc,
                                                                         const void* weights,
                                                                         const void* bias) {
  HONE_CHECK(supports(desc));
  std::unique_ptr<GatheredConvolution> made(new GatheredConvolution());
  made->epilogue_ = *fuse_epilogue(desc.post_ops, desc.dst_shape(), Layout::kBlocked16);
  const Shape out = desc.output();
  made->shape_ = {.in_blocks = gemm::blocks_for(desc.in_channels),
                  .in_rows = desc.input[0],
                  .in_columns = desc.input[1],
                  .out_rows = out[0],
                  .out_columns = out[1],
                  .kernel_columns = desc.kernel[1],
                  .row_stride = or_one(desc.strides, 0),
                  .column_stride = or_one(desc.strides, 1),
                  .row_dilation = or_one(desc.dilations, 0),
                  .column_dilation = or_one(desc.dilations, 1),
                  .top = desc.pads_begin.empty() ? 0 : desc.pads_begin[0],
                  .left = desc.pads_begin.empty() ? 0 : desc.pads_begin[1]};
  made->batch_ = desc.batch;
  made->out_blocks_ = gemm::blocks_for(desc.out_channels);
  made->panel_count_ = (desc.out_channels + kPanel - 1) / kPanel;
  made->units_ = element_count(desc.kernel) * made->shape_.in_blocks;
  // 256 deep: a panel's slice and a tile's rows fit the L1 cache together.
  constexpr int64_t kSliceUnits = 16;
  made->slices_ = (made->units_ + kSliceUnits - 1) / kSliceUnits;
  made->slice_units_ = (made->units_ + made->slices_ - 1) / made->slices_;
  made->slices_ = (made->units_ + made->slice_units_ - 1) / made->slice_units_;
  made->threads_ = thread_count();
  made->pack(desc, static_cast<const float*>(weights));
  made->bias_ = gemm::pack_bias(desc.has_bias ? static_cast<const float*>(bias) : nullptr, desc.out_channels);
  made->set_schedule();
  return made;
}

// [slices][panels][depth of the slice][32].
void GatheredConvolution::pack(const ConvolutionDesc& desc, const float* weights) {
  const int64_t taps = element_count(desc.kernel);
  panels_ = Tensor::zeros(DType::kF32, {units_, panel_count_, kBlock, kPanel});
  float* const packed = panels_.as<float>().data();
  parallel_for(slices_, 1, [&](int64_t begin, int64_t end, int) {
    float* to = packed + begin * slice_units_ * panel_count_ * kBlock * kPanel;
    for (int64_t slice = begin; slice < end; ++slice) {
      const Range units = units_of(slice);
      for (int64_t panel = 0; panel < panel_count_; ++panel) {
        const int64_t columns = std::min(kPanel, desc.out_channels - panel * kPanel);
        for (int64_t unit = units.first; unit < units.first + units.count; ++unit) {
          const int64_t tap = unit / shape_.in_blocks;
          for (int64_t c = unit % shape_.in_blocks * kBlock, last = c + kBlock; c < last; ++c, to += kPanel) {
            for (int64_t n = 0; n < columns && c < desc.in_channels; ++n)
              to[n] = weights[((panel * kPanel + n) * desc.in_channels + c) * taps + tap];
          }
        }
      }
    }
  });
}

void GatheredConvolution::set_schedule() {
  const int64_t pixels = shape_.out_rows * shape_.out_columns;
  const int64_t unit = gemm::tile_rows();
  share_ = pixels < 4 * unit * threads_;
  const int64_t gathered_units = share_ ? units_ : slice_units_;
  // Shared: 4 MiB of gathered inputs. Else: half an L2 cache for them and the results.
  const int64_t floats = share_ ? 1024 * 1024 : 128 * 1024;
  const int64_t pixel_floats = gathered_units * kBlock + (share_ ? 0 : panel_count_ * kPanel);
  const int64_t most = std::max(unit, floats / pixel_floats / unit * unit);
  int64_t chunks = (pixels + most - 1) / most;
  if (!share_) chunks = (chunks + threads_ - 1) / threads_ * threads_;
  chunk_pixels_ = (pixels + chunks - 1) / chunks;
}

int64_t GatheredConvolution::gathered_floats() const {
  return (share_ ? units_ : slice_units_) * chunk_pixels_ * kBlock;
}

std::size_t GatheredConvolution::scratch_bytes() const {
  return static_cast<std::size_t>((share_ ? 1 : threads_) * gathered_floats()) * sizeof(float);
}

GatheredConvolution::Range GatheredConvolution::units_of(int64_t slice) const {
  const int64_t first = slice * slice_units_;
  return {first, std::min(slice_units_, units_ - first)};
}

// `gathered` holds the slice: [units][chunk_pixels_][16].
void GatheredConvolution::multiply(const Image& image, const float* gathered, Range pixels, int64_t slice,
                                   Range panels) const noexcept {
  const Range units = units_of(slice);
  const int64_t out_pixels = shape_.out_rows * shape_.out_columns;
  const int64_t column = panels.first * kPanel;
  const int64_t at = column * out_pixels + pixels.first * kBlock;
  gemm::TileJob job;
  job.a = gathered;
  job.depth = units.count * kBlock;
  job.panels = panels_.as<float>().data() + units.first * panel_count_ * kBlock * kPanel +
               panels.first * job.depth * kPanel;
  job.bias = bias_.as<float>().data() + column;
  job.c = image.dst + at;
  job.a_strides = {0, kBlock, chunk_pixels_ * kBlock};
  job.c_strides = {0, kBlock, out_pixels * kBlock};
  job.rows = pixels.count;
  job.columns = std::min(panels.count * kPanel, out_blocks_ * kBlock - column);
  job.accumulate = slice > 0;
  if (slice == slices_ - 1) {
    job.residual = epilogue_.residual ? image.residual + at : nullptr;
    job.low = epilogue_.low;
    job.high = epilogue_.high;
  }
  gemm::multiply(job);
}

void GatheredConvolution::activate_pixels(const Image& image, Range pixels, Range panels) const noexcept {
  if (epilogue_.activations.empty()) return;
  const int64_t first = panels.first * (kPanel / kBlock);
  const int64_t last = std::min((panels.first + panels.count) * (kPanel / kBlock), out_blocks_);
  for (int64_t block = first; block < last; ++block) {
    const int64_t at = (block * shape_.out_rows * shape_.out_columns + pixels.first) * kBlock;
    activate(epilogue_.activations, image.dst + at, pixels.count * kBlock, block * kBlock);
  }
}

void GatheredConvolution::own_chunks(const Image& image, float* scratch) const noexcept {
  const int64_t pixels = shape_.out_rows * shape_.out_columns;
  const int64_t chunks = (pixels + chunk_pixels_ - 1) / chunk_pixels_;
  const Range panels{0, panel_count_};
  parallel_for(chunks, grain_within(chunks, 1, threads_), [&](int64_t begin, int64_t end, int thread) {
    float* const gathered = scratch + thread * gathered_floats();
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      const int64_t first = chunk * chunk_pixels_;
      const Range part{first, std::min(chunk_pixels_, pixels - first)};
      for (int64_t slice = 0; slice < slices_; ++slice) {
        const Range units = units_of(slice);
        for (int64_t i = 0; i < units.count; ++i) {
          gemm::gather_unit(shape_, image.src, units.first + i, part.first, part.count,
                            gathered + i * chunk_pixels_ * kBlock);
        }
        multiply(image, gathered, part, slice, panels);
      }
      activate_pixels(image, part, panels);
    }
  });
}

void GatheredConvolution::shared_chunks(const Image& image, float* scratch) const noexcept {
  const int64_t pixels = shape_.out_rows * shape_.out_columns;
  const int64_t unit_floats = chunk_pixels_ * kBlock;
  for (int64_t first = 0; first < pixels; first += chunk_pixels_) {
    const Range part{first, std::min(chunk_pixels_, pixels - first)};
    parallel_for(units_, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t unit = begin; unit < end; ++unit) {
        gemm::gather_unit(shape_, image.src, unit, part.first, part.count, scratch + unit * unit_floats);
      }
    });
    parallel_for(panel_count_, 1, [&](int64_t begin, int64_t end, int) {
      const Range panels{begin, end - begin};
      for (int64_t slice = 0; slice < slices_; ++slice)
        multiply(image, scratch + units_of(slice).first * unit_floats, part, slice, panels);
      activate_pixels(image, part, panels);
    });
  }
}

void GatheredConvolution::execute(const float* src, const float* residual, float* dst,
                                  void* scratch) const noexcept {
  const int64_t from = shape_.in_blocks * shape_.in_rows * shape_.in_columns * kBlock;
  const int64_t to = out_blocks_ * shape_.out_rows * shape_.out_columns * kBlock;
  for (int64_t i = 0; i < batch_; ++i) {
    const Image image{src + i * from, epilogue_.residual ? residual + i * to : nullptr, dst + i * to};
    if (share_) {
      shared_chunks(image, static_cast<float*>(scratch));
    } else {
      own_chunks(image, static_cast<float*>(scratch));
    }
  }
}

}  // namespace hone::kernels

#include "kernels/cpu/winograd/winograd.h"

#include <algorithm>

#include "kernels/cpu/gemm/blocked_support.h"
#include "kernels/cpu/gemm/tile.h"
#include "kernels/cpu/parallel.h"

namespace hone::kernels {
namespace {

using gemm::kBlock;
using gemm::kPanel;
using winograd::Points;

// Floats between neighbouring blocks or points: an odd number of cache lines, or lines that are written
// together would meet in one set of the L1 cache.
int64_t spread(int64_t floats) { return floats / kBlock % 2 == 1 ? floats : floats + kBlock; }

// Weights as panels of their points' matrices: [points][panels][in channels][32].
Tensor pack_weights(WinogradTile tile, const float* weights, int64_t in_channels, int64_t out_channels) {
  const int64_t points = winograd::points_of(tile);
  const int64_t panels = (out_channels + kPanel - 1) / kPanel;
  const int64_t matrix = panels * in_channels * kPanel;
  Tensor packed(DType::kF32, {points, panels, in_channels, kPanel});
  float* to = packed.as<float>().data();
  parallel_for(panels * (kPanel / kBlock), 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t block = begin; block < end; ++block) {
      const int64_t out = block * kBlock;
      const winograd::WindowBlock windows{weights + std::min(out, out_channels) * in_channels * 9,
                                          std::clamp<int64_t>(out_channels - out, 0, kBlock), in_channels,
                                          kPanel};
      float* first = to + out / kPanel * in_channels * kPanel + out % kPanel;
      winograd::transform_weights(tile, windows, first, matrix);
    }
  });
  return packed;
}

}  // namespace

std::string_view WinogradConvolution::name(WinogradTile tile) {
  return tile == WinogradTile::k2x2 ? "blocked16 Winograd 2x2" : "blocked16 Winograd 4x4";
}

Status WinogradConvolution::supports(const ConvolutionDesc& desc) {
  constexpr std::string_view kSelf = "the own Winograd kernel";
  HONE_CHECK(gemm::supports_blocked16(desc, kSelf));
  if (desc.transposed) return gemm::refuse(desc, kSelf, "takes no transposition");
  if (desc.kernel != Shape{3, 3} || !all_are(desc.strides, 1) || !all_are(desc.dilations, 1))
    return gemm::refuse(desc, kSelf, "takes a 3x3 kernel of stride 1 without dilation");
  return {};
}

Result<std::unique_ptr<WinogradConvolution>> WinogradConvolution::create(const ConvolutionDesc& desc,
                                                                         WinogradTile tile,
                                                                         const void* weights,
                                                                         const void* bias) {
  HONE_CHECK(supports(desc));
  std::unique_ptr<WinogradConvolution> made(new WinogradConvolution());
  made->tile_ = tile;
  made->epilogue_ = *fuse_epilogue(desc.post_ops, desc.dst_shape(), Layout::kBlocked16);
  made->in_channels_ = desc.in_channels;
  made->panel_count_ = (desc.out_channels + kPanel - 1) / kPanel;
  const Shape out = desc.output();
  const int64_t edge = winograd::outputs_of(tile);
  winograd::Tiling& tiling = made->tiling_;
  tiling.images = desc.batch;
  tiling.in_blocks = gemm::blocks_for(desc.in_channels);
  tiling.out_blocks = gemm::blocks_for(desc.out_channels);
  tiling.in_rows = desc.input[0];
  tiling.in_columns = desc.input[1];
  tiling.out_rows = out[0];
  tiling.out_columns = out[1];
  tiling.top = desc.pads_begin.empty() ? 0 : desc.pads_begin[0];
  tiling.left = desc.pads_begin.empty() ? 0 : desc.pads_begin[1];
  tiling.tile_rows = (out[0] + edge - 1) / edge;
  tiling.tile_columns = (out[1] + edge - 1) / edge;
  made->panels_ = pack_weights(tile, static_cast<const float*>(weights), desc.in_channels, desc.out_channels);
  made->bias_ = gemm::pack_bias(desc.has_bias ? static_cast<const float*>(bias) : nullptr, desc.out_channels);
  made->no_bias_ = gemm::pack_bias(nullptr, desc.out_channels);
  made->threads_ = thread_count();
  made->schedule_ = made->make_schedule(made->threads_);
  return made;
}

WinogradConvolution::Schedule WinogradConvolution::make_schedule(int threads) const {
  constexpr int64_t kCacheFloats = 160 * 1024;  // 640 KiB of an L2 cache for data and results
  const int64_t tiles = tiling_.tiles();
  const int64_t points = winograd::points_of(tile_);
  const int64_t unit = gemm::tile_rows();
  Schedule schedule;
  schedule.group_panels = std::min<int64_t>(panel_count_, 4);
  const int64_t tile_floats = points * (tiling_.in_blocks * kBlock + schedule.group_panels * kPanel);
  int64_t chunk = std::max(unit, kCacheFloats / tile_floats / unit * unit);
  if (tiles >= 2 * threads * unit && panels_.bytes() < (std::size_t{4} << 20)) {
    // As many chunks for one thread as for another.
    int64_t chunks = (tiles + chunk - 1) / chunk;
    chunks = (chunks + threads - 1) / threads * threads;
    schedule.chunk_tiles = (tiles + chunks - 1) / chunks;
    schedule.slots = threads;
    return schedule;
  }
  // Every chunk reads all weights again: the more there are, the more room is worth it.
  constexpr int64_t kSharedFloats = 2 * 1024 * 1024;  // 8 MiB
  const int64_t room = std::max(kSharedFloats, panels_.size() / 4);
  schedule.share_data = true;
  schedule.group_panels = panel_count_;
  const int64_t shared_floats = points * (tiling_.in_blocks * kBlock + panel_count_ * kPanel);
  chunk = std::max(unit, room / shared_floats / unit * unit);
  const int64_t chunks = (tiles + chunk - 1) / chunk;
  schedule.chunk_tiles = (tiles + chunks - 1) / chunks;
  return schedule;
}

winograd::Points WinogradConvolution::data_points(float* values) const {
  const int64_t block = spread(schedule_.chunk_tiles * kBlock);
  return {values, spread(tiling_.in_blocks * block), block};
}

winograd::Points WinogradConvolution::result_points(float* values) const {
  const int64_t block = spread(schedule_.chunk_tiles * kBlock);
  return {values, spread(schedule_.group_panels * (kPanel / kBlock) * block), block};
}

int64_t WinogradConvolution::data_floats() const {
  return winograd::points_of(tile_) * data_points(nullptr).point_stride;
}

int64_t WinogradConvolution::result_floats() const {
  return winograd::points_of(tile_) * result_points(nullptr).point_stride;
}

std::size_t WinogradConvolution::scratch_bytes() const {
  return static_cast<std::size_t>(schedule_.slots * (data_floats() + result_floats())) * sizeof(float);
}

WinogradConvolution::Range WinogradConvolution::blocks_of(Range panels) const {
  constexpr int64_t kBlocks = kPanel / kBlock;
  const int64_t first = panels.first * kBlocks;
  return {first, std::min(panels.count * kBlocks, tiling_.out_blocks - first)};
}

void WinogradConvolution::multiply(const Points& data, const Points& results, int64_t tiles,
                                   Range panels) const noexcept {
  gemm::TileJob job;
  job.bias = no_bias_.as<float>().data();
  job.a_strides = {0, kBlock, data.block_stride};
  job.c_strides = {0, kBlock, results.block_stride};
  job.rows = tiles;
  job.depth = in_channels_;
  job.columns = blocks_of(panels).count * kBlock;
  const float* weights = panels_.as<float>().data();
  for (int64_t point = 0; point < winograd::points_of(tile_); ++point) {
    job.a = data.values + point * data.point_stride;
    job.panels = weights + (point * panel_count_ + panels.first) * in_channels_ * kPanel;
    job.c = results.values + point * results.point_stride;
    gemm::multiply(job);
  }
}

void WinogradConvolution::finish(const Points& results, Range tiles, Range panels, const float* residual,
                                 float* dst) const noexcept {
  const winograd::Finish finish{bias_.as<float>().data(), epilogue_.residual ? residual : nullptr,
                                epilogue_.low, epilogue_.high};
  const Range blocks = blocks_of(panels);
  winograd::transform_results(tile_, tiling_, tiles, blocks, results, finish, dst);
  if (epilogue_.activations.empty()) return;
  const int64_t edge = winograd::outputs_of(tile_);
  const int64_t per_image = tiling_.tile_rows * tiling_.tile_columns;
  for (int64_t tile = tiles.first; tile < tiles.first + tiles.count; ++tile) {
    const int64_t x = tile % tiling_.tile_columns * edge;
    const int64_t columns = std::min(edge, tiling_.out_columns - x);
    const int64_t first_row = tile / tiling_.tile_columns % tiling_.tile_rows * edge;
    const int64_t last_row = std::min(first_row + edge, tiling_.out_rows);
    for (int64_t block = blocks.first; block < blocks.first + blocks.count; ++block) {
      const int64_t plane = tile / per_image * tiling_.out_blocks + block;
      for (int64_t y = first_row; y < last_row; ++y) {
        float* row = dst + ((plane * tiling_.out_rows + y) * tiling_.out_columns + x) * kBlock;
        activate(epilogue_.activations, row, columns * kBlock, block * kBlock);
      }
    }
  }
}

void WinogradConvolution::execute(const float* src, const float* residual, float* dst,
                                  void* scratch) const noexcept {
  const int64_t tiles = tiling_.tiles();
  const int64_t chunk = schedule_.chunk_tiles;
  const int64_t chunks = (tiles + chunk - 1) / chunk;
  const auto tiles_of = [&](int64_t index) {
    return Range{index * chunk, std::min(chunk, tiles - index * chunk)};
  };
  auto* const buffers = static_cast<float*>(scratch);
  if (!schedule_.share_data) {
    parallel_for(chunks, grain_within(chunks, 1, threads_), [&](int64_t begin, int64_t end, int thread) {
      float* const buffer = buffers + thread * (data_floats() + result_floats());
      const Points data = data_points(buffer), results = result_points(buffer + data_floats());
      for (int64_t index = begin; index < end; ++index) {
        const Range range = tiles_of(index);
        winograd::transform_data(tile_, tiling_, range, {0, tiling_.in_blocks}, src, data);
        for (int64_t panel = 0; panel < panel_count_; panel += schedule_.group_panels) {
          const Range panels{panel, std::min(schedule_.group_panels, panel_count_ - panel)};
          multiply(data, results, range.count, panels);
          finish(results, range, panels, residual, dst);
        }
      }
    });
    return;
  }
  const Points data = data_points(buffers), results = result_points(buffers + data_floats());
  for (int64_t index = 0; index < chunks; ++index) {
    const Range range = tiles_of(index);
    parallel_for(tiling_.in_blocks, 1, [&](int64_t begin, int64_t end, int) {
      Points part = data;
      part.values += begin * data.block_stride;
      winograd::transform_data(tile_, tiling_, range, {begin, end - begin}, src, part);
    });
    parallel_for(panel_count_, 1, [&](int64_t begin, int64_t end, int) {
      const Range panels{begin, end - begin};
      Points part = results;
      part.values += blocks_of(panels).first * results.block_stride;
      multiply(data, part, range.count, panels);
      finish(part, range, panels, residual, dst);
    });
  }
}

}  // namespace hone::kernels

// 3x3 convolution of stride 1 in f32 on blocked16 tensors by Winograd's minimal filtering, F(2x2,3x3) or
// F(4x4,3x3): data to the transformed domain, one matrix product a point of it, results back with the
// epilogue. Any padding, no groups, no dilation.
#pragma once

#include <memory>
#include <string_view>

#include "core/result.h"
#include "core/tensor.h"
#include "kernels/cpu/dnnl/convolution_desc.h"
#include "kernels/cpu/gemm/fused_epilogue.h"
#include "kernels/cpu/winograd/transform.h"

namespace hone::kernels {

class WinogradConvolution {
 public:
  static std::string_view name(WinogradTile tile);

  static Status supports(const ConvolutionDesc& desc);
  // `weights` and `bias` in ONNX's order; read during the call only. For the thread count that holds in the
  // creating thread, or fewer.
  static Result<std::unique_ptr<WinogradConvolution>> create(const ConvolutionDesc& desc, WinogradTile tile,
                                                             const void* weights, const void* bias);

  std::size_t packed_weight_bytes() const { return panels_.bytes() + bias_.bytes(); }
  std::size_t scratch_bytes() const;

  // `residual` (blocked16) only if the epilogue has one; `scratch` of scratch_bytes(), aligned to 64 bytes.
  // Channel padding of src must hold zeros; that of dst will.
  void execute(const float* src, const float* residual, float* dst, void* scratch) const noexcept;

 private:
  using Range = winograd::Range;

  // How the work is cut. Many tiles: each thread takes chunks of them from end to end, data and results in
  // its L2 cache. Few tiles and many weights: all threads share a chunk's data, and each has panels of the
  // weights to itself, so that every weight is read once.
  struct Schedule {
    bool share_data = false;
    int64_t chunk_tiles = 0;   // that go through the stages together
    int64_t group_panels = 0;  // of output channels whose results are held at once
    int64_t slots = 1;         // buffers of data and results
  };

  WinogradConvolution() = default;
  Schedule make_schedule(int threads) const;
  int64_t data_floats() const;
  int64_t result_floats() const;
  winograd::Points data_points(float* values) const;
  winograd::Points result_points(float* values) const;
  Range blocks_of(Range panels) const;
  void multiply(const winograd::Points& data, const winograd::Points& results, int64_t tiles,
                Range panels) const noexcept;
  void finish(const winograd::Points& results, Range tiles, Range panels, const float* residual,
              float* dst) const noexcept;

  WinogradTile tile_ = WinogradTile::k4x4;
  winograd::Tiling tiling_;
  int64_t in_channels_ = 0, panel_count_ = 0;
  FusedEpilogue epilogue_;
  Tensor panels_, bias_, no_bias_;
  int threads_ = 1;
  Schedule schedule_;
};

}  // namespace hone::kernels

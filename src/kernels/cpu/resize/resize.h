// Resizing of f32 images of one to three spatial axes: nearest and linear, as ONNX Resize and Upsample define
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/layout.h"
#include "core/resize.h"
#include "core/result.h"
#include "core/shape.h"

namespace hone::kernels {

enum class ResizeMode : uint8_t { kNearest, kLinear };
// Which neighbour nearest takes (ONNX: nearest_mode).
enum class ResizeRounding : uint8_t { kPreferFloor, kPreferCeil, kFloor, kCeil };

struct ResizeDesc {
  int64_t batch = 1;
  int64_t channels = 1;
  Layout layout = Layout::kPlain;  // of input and output
  Shape in_spatial = {};
  Shape out_spatial = {};
  std::vector<double> scales = {};  // per spatial axis; empty: out / in
  ResizeMode mode = ResizeMode::kNearest;
  ResizeCoordinates coordinates = ResizeCoordinates::kHalfPixel;  // not kTfCropAndResize
  ResizeRounding rounding = ResizeRounding::kPreferFloor;
};

class Resize {
 public:
  static Result<Resize> create(const ResizeDesc& desc);
  std::size_t scratch_bytes() const { return row_bytes_ * static_cast<std::size_t>(threads_); }
  // Channel padding of a blocked layout is carried along.
  void execute(const float* in, float* out, void* scratch) const noexcept;

  // One axis: output position i is low[i] and high[i] of the input, mixed by weight[i] of high.
  struct Table {
    std::vector<int32_t> low, high;
    std::vector<float> weight;
  };

 private:
  std::vector<Table> tables_;
  Shape in_spatial_, out_spatial_;
  int64_t images_ = 0, inner_ = 1;  // inner: floats at one position
  bool linear_ = false;
  std::size_t row_bytes_ = 0;
  int threads_ = 1;
};

}  // namespace hone::kernels

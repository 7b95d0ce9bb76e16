// Resizing of images of one to three spatial axes, nearest and linear, as ONNX Resize and Upsample define them: what the
// kernels of all providers read, and the tables that say what each output position draws on.
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

// One axis: output position i is low[i] and high[i] of the input, mixed by weight[i] of high; nearest is low[i].
struct ResizeTable {
  std::vector<int32_t> low, high;
  std::vector<float> weight;
};

// One for each spatial axis. An error for other than one to three of them, and for extents that make no sense.
Result<std::vector<ResizeTable>> resize_tables(const ResizeDesc& desc);

}  // namespace hone::kernels

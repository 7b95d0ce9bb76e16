// The arithmetic of ONNX's Resize that type inference and kernels share: which scale and output extent each
// axis has, and where in the input an output position lies.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/attributes.h"
#include "core/result.h"
#include "core/shape.h"

namespace hone {

struct ResizeAxis {
  int64_t input = 0;
  int64_t output = 0;
  double scale = 1;
  double roi_begin = 0;
  double roi_end = 1;

  bool identity() const { return scale == 1 && input == output && roi_begin == 0 && roi_end == 1; }
};

// One entry an axis of the input. `scales` and `sizes` have one value an axis of attribute "axes" (all axes
// where it is absent); exactly one of them is given. `roi` has two values an axis, or none.
Result<std::vector<ResizeAxis>> plan_resize(const Attributes& attributes, std::span<const int64_t> input,
                                            std::span<const double> roi,
                                            const std::optional<std::vector<double>>& scales,
                                            const std::optional<std::vector<int64_t>>& sizes);

enum class ResizeCoordinates : uint8_t {
  kHalfPixel,
  kHalfPixelSymmetric,
  kPytorchHalfPixel,
  kAlignCorners,
  kAsymmetric,
  kTfCropAndResize,
};
Result<ResizeCoordinates> read_coordinates(const Attributes& attributes);

// The coordinate in the input that output position `x` shows.
double source_coordinate(const ResizeAxis& axis, ResizeCoordinates mode, int64_t x);

}  // namespace hone

#include "core/resize.h"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

namespace hone {
namespace {

// The axes that roi, scales and sizes speak of, in their order.
Result<std::vector<std::size_t>> resized_axes(const Attributes& attributes, std::size_t rank) {
  std::vector<std::size_t> axes;
  if (!attributes.has("axes")) {
    for (std::size_t i = 0; i < rank; ++i) axes.push_back(i);
    return axes;
  }
  for (int64_t named : attributes.ints("axes")) {
    HONE_ASSIGN(const int64_t axis, normalize_axis(named, static_cast<int64_t>(rank)));
    axes.push_back(static_cast<std::size_t>(axis));
  }
  return axes;
}

Status check_extent(double extent) {
  constexpr double kLargest = 1LL << 40;
  if (extent >= 0 && extent <= kLargest) return {};
  return invalid(fmt::format("resizing to an extent of {} is not possible", extent));
}

Status apply_sizes(const Attributes& attributes, std::span<const std::size_t> axes,
                   const std::vector<int64_t>& sizes, std::vector<ResizeAxis>& plan) {
  const std::string policy = attributes.text("keep_aspect_ratio_policy", "stretch");
  if (policy != "stretch" && policy != "not_larger" && policy != "not_smaller") {
    return invalid(
        fmt::format("keep_aspect_ratio_policy '{}' is none of stretch, not_larger, not_smaller", policy));
  }
  std::optional<double> common;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    ResizeAxis& axis = plan[axes[i]];
    HONE_CHECK(check_extent(static_cast<double>(sizes[i])));
    axis.output = sizes[i];
    if (axis.input == 0) {
      if (sizes[i] != 0) return invalid("an axis without elements cannot be resized");
      continue;
    }
    axis.scale = static_cast<double>(sizes[i]) / static_cast<double>(axis.input);
    if (!common) common = axis.scale;
    common = policy == "not_larger" ? std::min(*common, axis.scale) : std::max(*common, axis.scale);
  }
  if (policy == "stretch" || !common) return {};
  for (std::size_t i : axes) {
    plan[i].scale = *common;
    plan[i].output = static_cast<int64_t>(std::floor(*common * static_cast<double>(plan[i].input) + 0.5));
  }
  return {};
}

}  // namespace

Result<std::vector<ResizeAxis>> plan_resize(const Attributes& attributes, std::span<const int64_t> input,
                                            std::span<const double> roi,
                                            const std::optional<std::vector<double>>& scales,
                                            const std::optional<std::vector<int64_t>>& sizes) {
  HONE_ASSIGN(const std::vector<std::size_t> axes, resized_axes(attributes, input.size()));
  if (scales.has_value() == sizes.has_value()) return invalid("exactly one of scales and sizes is needed");
  const std::size_t given = scales ? scales->size() : sizes->size();
  if (given != axes.size()) {
    return invalid(
        fmt::format("{} has {} values for {} axes", scales ? "scales" : "sizes", given, axes.size()));
  }
  if (!roi.empty() && roi.size() != 2 * axes.size()) {
    return invalid(fmt::format("roi has {} values for {} axes", roi.size(), axes.size()));
  }
  std::vector<ResizeAxis> plan;
  for (int64_t extent : input) plan.push_back({.input = extent, .output = extent});
  for (std::size_t i = 0; i < axes.size() && !roi.empty(); ++i) {
    plan[axes[i]].roi_begin = roi[i];
    plan[axes[i]].roi_end = roi[axes.size() + i];
  }
  if (sizes) {
    HONE_CHECK(apply_sizes(attributes, axes, *sizes, plan));
    return plan;
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    ResizeAxis& axis = plan[axes[i]];
    axis.scale = (*scales)[i];
    if (!(axis.scale > 0)) return invalid(fmt::format("a scale of {} is not possible", axis.scale));
    // ONNX's shape inference takes floor(input · scale), whatever the roi is.
    const double extent = std::floor(static_cast<double>(axis.input) * axis.scale);
    HONE_CHECK(check_extent(extent));
    axis.output = static_cast<int64_t>(extent);
  }
  return plan;
}

Result<ResizeCoordinates> read_coordinates(const Attributes& attributes) {
  const std::string mode = attributes.text("coordinate_transformation_mode", "half_pixel");
  if (mode == "half_pixel") return ResizeCoordinates::kHalfPixel;
  if (mode == "half_pixel_symmetric") return ResizeCoordinates::kHalfPixelSymmetric;
  if (mode == "pytorch_half_pixel") return ResizeCoordinates::kPytorchHalfPixel;
  if (mode == "align_corners") return ResizeCoordinates::kAlignCorners;
  if (mode == "asymmetric") return ResizeCoordinates::kAsymmetric;
  if (mode == "tf_crop_and_resize") return ResizeCoordinates::kTfCropAndResize;
  return unsupported(fmt::format("coordinate_transformation_mode '{}' is not known", mode));
}

double source_coordinate(const ResizeAxis& axis, ResizeCoordinates mode, int64_t x) {
  const auto at = static_cast<double>(x);
  const auto last = static_cast<double>(axis.input) - 1;
  const double length = axis.scale * static_cast<double>(axis.input);  // the output's, before rounding down
  const double half_pixel = (at + 0.5) / axis.scale - 0.5;
  switch (mode) {
    case ResizeCoordinates::kHalfPixel:
      return half_pixel;
    case ResizeCoordinates::kHalfPixelSymmetric:
      return static_cast<double>(axis.input) / 2 * (1 - static_cast<double>(axis.output) / length) +
             half_pixel;
    case ResizeCoordinates::kPytorchHalfPixel:
      return axis.output > 1 ? half_pixel : 0;
    case ResizeCoordinates::kAlignCorners:
      return length == 1 ? 0 : at * last / (length - 1);
    case ResizeCoordinates::kAsymmetric:
      return at / axis.scale;
    case ResizeCoordinates::kTfCropAndResize:
      if (length == 1) return 0.5 * (axis.roi_begin + axis.roi_end) * last;
      return axis.roi_begin * last + at * (axis.roi_end - axis.roi_begin) * last / (length - 1);
  }
  return half_pixel;
}

}  // namespace hone

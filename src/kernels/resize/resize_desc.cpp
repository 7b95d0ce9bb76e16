#include "kernels/resize/resize_desc.h"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

namespace hone::kernels {
namespace {

double rounded(double x, ResizeRounding rounding) {
  switch (rounding) {
    case ResizeRounding::kPreferFloor:
      return std::ceil(x - 0.5);
    case ResizeRounding::kPreferCeil:
      return std::floor(x + 0.5);
    case ResizeRounding::kFloor:
      return std::floor(x);
    case ResizeRounding::kCeil:
      break;
  }
  return std::ceil(x);
}

ResizeTable table_of(const ResizeDesc& desc, std::size_t axis) {
  const int64_t in = desc.in_spatial[axis], out = desc.out_spatial[axis];
  const double scale =
      desc.scales.empty() ? static_cast<double>(out) / static_cast<double>(in) : desc.scales[axis];
  const auto last = static_cast<double>(in - 1);
  ResizeTable table;
  for (int64_t i = 0; i < out; ++i) {
    double x = source_coordinate({.input = in, .output = out, .scale = scale}, desc.coordinates, i);
    if (desc.mode == ResizeMode::kNearest) x = rounded(x, desc.rounding);
    x = std::clamp(x, 0.0, last);
    const double low = std::floor(x);
    table.low.push_back(static_cast<int32_t>(low));
    table.high.push_back(static_cast<int32_t>(std::min(low + 1, last)));
    table.weight.push_back(static_cast<float>(x - low));
  }
  return table;
}

}  // namespace

Result<std::vector<ResizeTable>> resize_tables(const ResizeDesc& desc) {
  const std::size_t rank = desc.in_spatial.size();
  if (rank < 1 || rank > 3 || desc.out_spatial.size() != rank ||
      (!desc.scales.empty() && desc.scales.size() != rank)) {
    return unsupported(fmt::format("resize: {} spatial axes to {}; one to three are supported", rank,
                                   desc.out_spatial.size()));
  }
  if (desc.coordinates == ResizeCoordinates::kTfCropAndResize)
    return unsupported("resize: tf_crop_and_resize");
  std::vector<ResizeTable> tables;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const bool sensible = desc.in_spatial[axis] > 0 && desc.in_spatial[axis] < (1 << 30) &&
                          desc.out_spatial[axis] >= 0 && (desc.scales.empty() || desc.scales[axis] > 0);
    if (!sensible)
      return invalid(fmt::format("resize: spatial axis {} is empty, too long or scaled by 0", axis));
    tables.push_back(table_of(desc, axis));
  }
  return tables;
}

}  // namespace hone::kernels

#include "graph/ops/window_infer.h"

#include <fmt/core.h>

namespace hone::graph::infer {
namespace {

// Whether an output is as long as its input whatever that length is.
bool keeps_extent(const Window& window, AutoPad auto_pad) {
  if (window.stride != 1) return false;
  if (auto_pad == AutoPad::kSameUpper || auto_pad == AutoPad::kSameLower) return true;
  return window.pad_begin + window.pad_end == window.reach() - 1;
}

}  // namespace

Result<Dims> windows(WindowSpec spec, std::span<const Dim> input) {
  if (spec.axes.size() != input.size()) {
    return invalid(fmt::format("windows over {} axes, but the input has {} spatial axes", spec.axes.size(),
                               input.size()));
  }
  Dims output;
  for (std::size_t i = 0; i < input.size(); ++i) {
    if (input[i].known()) {
      HONE_ASSIGN(const int64_t extent,
                  place_window(spec.axes[i], spec.auto_pad, spec.ceil_mode, input[i].extent()));
      output.emplace_back(extent);
    } else {
      output.push_back(keeps_extent(spec.axes[i], spec.auto_pad) ? input[i] : Dim());
    }
  }
  return output;
}

Shape static_kernel(const TensorType& type) {
  Shape kernel;
  if (!type.has_rank()) return kernel;
  for (std::size_t i = 2; i < type.dims->size(); ++i) {
    if (!(*type.dims)[i].known()) return {};
    kernel.push_back((*type.dims)[i].extent());
  }
  return kernel;
}

double taps(std::span<const int64_t> kernel) {
  double product = 1;
  for (int64_t extent : kernel) product *= static_cast<double>(extent);
  return product;
}

}  // namespace hone::graph::infer

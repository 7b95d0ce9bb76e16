#include "analyze/device/busy/long_kernels.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "analyze/device/busy/busy_rules.h"

namespace hone::analyze::device {
namespace {

// Outputs of a group from which on a convolution is a matrix product that fills matrix units.
constexpr int64_t kMatrixOutputs = 8;

// What a convolution goes over: input [n, c, positions…], filters [k, c of a group, taps…].
struct Shape {
  double inputs = 0, filters = 0, outputs = 0;  // signals: of one sample and channel each
  double sums = 0;                              // products of spectra that are added up
  double length = 1;                            // of each signal with room for the longest result
  int64_t longest_side = 0;                     // of the kernel
  int64_t group_outputs = 0;
};

// Sizes that a damaged trace may claim are none of a convolution.
bool are_sizes(const std::vector<int64_t>& dims) {
  constexpr int64_t kLargest = int64_t{1} << 40;
  return std::all_of(dims.begin(), dims.end(), [](int64_t size) { return size > 0 && size < kLargest; });
}

// Its filters are [c, k of a group, taps…], and its results are longer than its input by the stride.
bool is_transposed(const std::string& kind, const Inputs& inputs) {
  if (kind.find("transpose") != std::string::npos) return true;
  std::size_t flag = 6;
  if (kind == "aten::convolution_backward")
    flag = 7;
  else if (kind != "aten::convolution" && kind != "aten::_convolution")
    return false;
  return flag < inputs.size() && inputs[flag].value == "True";
}

// Of convolution(input, filters, …) and convolution_backward(gradient, input, filters, …); without filters
// where the inputs are no convolution's.
Shape shape_of(const Inputs& inputs, bool backward) {
  const std::size_t first = backward ? 1 : 0;
  if (!is_tensor(inputs, first) || !is_tensor(inputs, first + 1)) return {};
  const auto &image = inputs[first].dims, &filter = inputs[first + 1].dims;
  if (image.size() < 3 || image.size() != filter.size()) return {};
  if (!are_sizes(image) || !are_sizes(filter) || image[1] % filter[1] != 0) return {};
  const auto samples = static_cast<double>(image[0]), channels = static_cast<double>(image[1]),
             outputs = static_cast<double>(filter[0]), group_channels = static_cast<double>(filter[1]);
  Shape shape = {samples * channels, outputs * group_channels, samples * outputs,
                 samples * outputs * group_channels};
  shape.group_outputs = filter[0] / (image[1] / filter[1]);
  for (std::size_t k = 2; k < image.size(); ++k) {
    shape.longest_side = std::max(shape.longest_side, filter[k]);
    const auto whole = static_cast<uint64_t>(image[k] + filter[k] - 1);
    shape.length *= static_cast<double>(filter[k] > 1 ? std::bit_ceil(whole) : whole);
  }
  return shape;
}

class LongKernelFinder {
 public:
  LongKernelFinder(const trace::Trace& trace, const RankTimeline& timeline, const GpuRoofs& roofs,
                   BusySplit& split)
      : trace_(trace), timeline_(timeline), roofs_(roofs), split_(split) {
    for (std::size_t op = 0; op < split.uses.rows.size(); ++op) spectra_ns_.push_back(worthwhile_ns(op));
  }

  void run() {
    for (uint32_t i = 0; i < timeline_.works.size(); ++i) {
      const Work& work = timeline_.works[i];
      if (work.op == kNothing || spectra_ns_[work.op] <= 0) continue;
      WorkSplit& split = split_.works[i];
      if (split.reason == Reason::kTransform) {  // its layout is changed for it alone
        set_split(split, Cause::kKernelInefficiency, 0, Reason::kLongKernel, kGone);
        continue;
      }
      const auto now = static_cast<double>(work.ns());
      const double floor = spectra_ns_[work.op] * split_.uses.part(work), target = floor / kGoodTraffic;
      if (target < now)
        set_split(split, Cause::kKernelInefficiency, floor / now, Reason::kLongKernel, target);
    }
  }

 private:
  // What the operator takes by spectra at the roofs; 0: that is not far less than what it takes tap by tap.
  double worthwhile_ns(std::size_t row) const {
    const trace::Operator& op = trace_.operators[row];
    const OperatorUse& use = split_.uses.rows[row];
    if (op.op_class != trace::OperatorClass::kConvolution || use.works == 0) return 0;
    if (is_transposed(op.kind, use.inputs)) return 0;
    const bool backward = op.kind == "aten::convolution_backward";
    const Shape shape = shape_of(use.inputs, backward);
    if (shape.longest_side < kLongKernelSide) return 0;
    const double spectra = spectra_ns(shape) * (backward ? kSpectraGradients : 1);
    const double direct =
        ns_at(op.fewest_flops(), shape.group_outputs < kMatrixOutputs
                                     ? roofs_.vector_f32
                                     : roofs_.matrix_roof(narrowest_math(use.math, roofs_)));
    return direct >= kSpectraWin * spectra ? spectra : 0;
  }

  // Transforms of real numbers in f32, 2.5 N log2 N operations each, and a complex product and sum for each
  // of the N/2 frequencies.
  double spectra_ns(const Shape& shape) const {
    const double signals = shape.inputs + shape.filters + shape.outputs;
    const double flops =
        signals * 2.5 * shape.length * std::log2(shape.length) + shape.sums * 4 * shape.length;
    const double bytes = signals * shape.length * 4 * kSpectraPasses;
    return std::max(ns_at(flops, roofs_.vector_f32), ns_at(bytes, roofs_.dram));
  }

  const trace::Trace& trace_;
  const RankTimeline& timeline_;
  const GpuRoofs& roofs_;
  BusySplit& split_;
  std::vector<double> spectra_ns_;  // by operator
};

}  // namespace

void mark_long_kernels(const trace::Trace& trace, const RankTimeline& timeline, const GpuRoofs& roofs,
                       BusySplit& split) {
  LongKernelFinder(trace, timeline, roofs, split).run();
}

}  // namespace hone::analyze::device

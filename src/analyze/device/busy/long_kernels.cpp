#include "analyze/device/busy/long_kernels.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "analyze/device/busy/busy_rules.h"

namespace hone::analyze::device {
namespace {

using trace::OperatorKind;

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
bool is_transposed(OperatorKind what, const Inputs& inputs) {
  if (what == OperatorKind::kTransposedConvolution) return true;
  std::size_t flag = 6;
  if (what == OperatorKind::kConvolutionBackward)
    flag = 7;
  else if (what != OperatorKind::kConvolution)
    return false;
  return flag < inputs.size() && inputs[flag].value == "True";
}

// The shape of convolution(input, filters, …) or convolution_backward(gradient, input, filters, …); without
// filters where the inputs are not a convolution's.
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
  explicit LongKernelFinder(const View& view) : view_(view) {
    for (std::size_t op = 0; op < view.uses.rows.size(); ++op) spectra_ns_.push_back(worthwhile_ns(op));
  }

  Claims run() const {
    Claims claims;
    for (uint32_t i = 0; i < view_.works(); ++i) {
      if (!view_.has_operator(i) || spectra_ns_[view_.work(i).op] <= 0) continue;
      if (view_.kernel(i).changes_layout()) {  // for it alone
        claims.push_back({Rule::kLongConvolutionKernels, {removed(i)}});
        continue;
      }
      const double floor = spectra_ns_[view_.work(i).op] * view_.part_of(i), target = floor / kGoodTraffic;
      if (target < view_.ns(i))
        claims.push_back({Rule::kLongConvolutionKernels, {{i, target, floor / view_.ns(i)}}});
    }
    return claims;
  }

 private:
  // What the operator takes by spectra at the roofs; 0: that is not far less than what it takes tap by tap.
  double worthwhile_ns(std::size_t row) const {
    const trace::Operator& op = view_.trace.operators[row];
    const OperatorUse& use = view_.uses.rows[row];
    if (op.op_class != trace::OperatorClass::kConvolution || use.works == 0) return 0;
    if (is_transposed(op.what, use.inputs)) return 0;
    const bool backward = op.what == OperatorKind::kConvolutionBackward;
    const Shape shape = shape_of(use.inputs, backward);
    if (shape.longest_side < kLongKernelSide) return 0;
    const double spectra = spectra_ns(shape) * (backward ? kSpectraGradients : 1);
    const double direct =
        ns_at(op.fewest_flops(), shape.group_outputs < kMatrixOutputs
                                     ? view_.roofs.vector_f32
                                     : view_.roofs.matrix_roof(narrowest_math(use.math, view_.roofs)));
    return direct >= kSpectraWin * spectra ? spectra : 0;
  }

  // Transforms of real numbers in f32, 2.5 N log2 N operations each, and a complex product and sum for each
  // of the N/2 frequencies.
  double spectra_ns(const Shape& shape) const {
    const double signals = shape.inputs + shape.filters + shape.outputs;
    const double flops =
        signals * 2.5 * shape.length * std::log2(shape.length) + shape.sums * 4 * shape.length;
    const double bytes = signals * shape.length * 4 * kSpectraPasses;
    return std::max(ns_at(flops, view_.roofs.vector_f32), ns_at(bytes, view_.roofs.dram));
  }

  const View& view_;
  std::vector<double> spectra_ns_;  // by operator
};

}  // namespace

Claims find_long_kernels(const View& view) { return LongKernelFinder(view).run(); }

}  // namespace hone::analyze::device

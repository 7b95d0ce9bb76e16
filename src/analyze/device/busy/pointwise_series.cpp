#include "analyze/device/busy/pointwise_series.h"

namespace hone::analyze::device {
namespace {

// Input [n, c, t] or, as PyTorch runs it, [n, c, 1, t], and filters of as many dimensions.
bool is_filtered_series(const Inputs& inputs) {
  if (!is_tensor(inputs, 0) || !is_tensor(inputs, 1)) return false;
  const auto& dims = inputs[0].dims;
  const bool one_high = dims.size() == 4 && dims[2] == 1;
  return (dims.size() == 3 || one_high) && inputs[1].dims.size() == dims.size() && dims.back() > 1;
}

// Filters [k, c, 1(, 1)] over channels that do not lie last in memory.
bool is_pointwise_series(const Inputs& inputs) {
  if (!is_filtered_series(inputs)) return false;
  const trace::CallInput &series = inputs[0], &filter = inputs[1];
  if (series.dims[1] != filter.dims[1] || series.dims[1] <= 1) return false;
  const bool channels_last = series.strides.size() == series.dims.size() && series.strides[1] == 1;
  return !channels_last && filter.elements() == filter.dims[0] * filter.dims[1];
}

class PointwiseSeriesFinder {
 public:
  PointwiseSeriesFinder(const trace::Trace& trace, const RankTimeline& timeline, BusySplit& split)
      : trace_(trace), timeline_(timeline), split_(split) {}

  void run() {
    find_other_series();
    for (std::size_t place = 0; place < timeline_.launched.size(); ++place) {
      const uint32_t op = timeline_.works[timeline_.launched[place]].op;
      if (op == kNothing || trace_.operators[op].op_class != trace::OperatorClass::kConvolution) continue;
      const Inputs& inputs = split_.uses.rows[op].inputs;
      if (trace_.operators[op].phase != trace::Phase::kBackward && is_pointwise_series(inputs))
        mark_around(place, inputs[0], inputs[1].dims[0]);
    }
  }

 private:
  void find_other_series() {
    for (std::size_t op = 0; op < split_.uses.rows.size(); ++op) {
      const OperatorUse& use = split_.uses.rows[op];
      const bool forward = trace_.operators[op].op_class == trace::OperatorClass::kConvolution &&
                           trace_.operators[op].phase != trace::Phase::kBackward;
      has_other_series_ |=
          use.works > 0 && forward && is_filtered_series(use.inputs) && !is_pointwise_series(use.inputs);
    }
  }

  bool runs(std::size_t place, uint32_t op) const {
    return timeline_.works[timeline_.launched[place]].op == op;
  }

  // A work over so many elements that was found to change, or to suffer from, their order.
  bool reorders(std::size_t place, int32_t step, double elements) const {
    if (place >= timeline_.launched.size()) return false;
    const uint32_t work = timeline_.launched[place];
    const Work& row = timeline_.works[work];
    const Reason reason = split_.works[work].reason;
    return row.op != kNothing && row.step == step && split_.uses.rows[row.op].elements == elements &&
           (reason == Reason::kStridedCopy || reason == Reason::kMixedOrders ||
            reason == Reason::kPointwiseSeries);
  }

  bool adds_bias(std::size_t place, int32_t step, double elements, int64_t channels) const {
    if (place >= timeline_.launched.size()) return false;
    const Work& row = timeline_.works[timeline_.launched[place]];
    if (row.op == kNothing || row.step != step || trace_.operators[row.op].kind != "aten::add_") return false;
    const Inputs& inputs = split_.uses.rows[row.op].inputs;
    return is_tensor(inputs, 0) && is_tensor(inputs, 1) && inputs[1].elements() == channels &&
           static_cast<double>(inputs[0].elements()) == elements;
  }

  void mark_around(std::size_t place, const trace::CallInput& series, int64_t channels) {
    const Work& convolution = timeline_.works[timeline_.launched[place]];
    const auto read = static_cast<double>(series.elements());
    const double written = read / static_cast<double>(series.dims[1]) * static_cast<double>(channels);
    std::size_t next = place + 1;
    while (next < timeline_.launched.size() && runs(next, convolution.op)) ++next;  // its other kernels
    const bool biased = adds_bias(next, convolution.step, written, channels);
    const std::size_t after = next + (biased ? 1 : 0);
    const bool turned = place > 0 && reorders(place - 1, convolution.step, read);
    const bool turned_back = reorders(after, convolution.step, written);
    if (turned) reason_at(place - 1) = Reason::kPointwiseSeries;
    if (turned_back) reason_at(after) = Reason::kPointwiseSeries;
    if (biased && (turned || turned_back || !has_other_series_))
      set_split(split_.works[timeline_.launched[next]], Cause::kLayout, 0, Reason::kPointwiseSeries, kGone);
  }

  Reason& reason_at(std::size_t place) { return split_.works[timeline_.launched[place]].reason; }

  const trace::Trace& trace_;
  const RankTimeline& timeline_;
  BusySplit& split_;
  bool has_other_series_ = false;  // convolutions over time, or channel by channel: they want time last
};

}  // namespace

void mark_pointwise_series(const trace::Trace& trace, const RankTimeline& timeline, BusySplit& split) {
  PointwiseSeriesFinder(trace, timeline, split).run();
}

}  // namespace hone::analyze::device

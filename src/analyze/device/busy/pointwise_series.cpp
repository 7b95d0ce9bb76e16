#include "analyze/device/busy/pointwise_series.h"

namespace hone::analyze::device {
namespace {

// Input [n, c, t] or, as PyTorch runs it, [n, c, 1, t], channels not last in memory; filters [k, c, 1(, 1)].
bool is_pointwise_series(const Inputs& inputs) {
  if (!is_tensor(inputs, 0) || !is_tensor(inputs, 1)) return false;
  const trace::CallInput &series = inputs[0], &filter = inputs[1];
  const std::size_t rank = series.dims.size();
  if ((rank != 3 && rank != 4) || filter.dims.size() != rank || series.dims[1] != filter.dims[1])
    return false;
  if ((rank == 4 && series.dims[2] != 1) || series.dims[1] <= 1 || series.dims.back() <= 1) return false;
  const bool channels_last = series.strides.size() == rank && series.strides[1] == 1;
  return !channels_last && filter.elements() == filter.dims[0] * filter.dims[1];
}

class Finder {
 public:
  Finder(const trace::Trace& trace, const RankTimeline& timeline, BusySplit& split)
      : trace_(trace), timeline_(timeline), split_(split) {}

  void run() {
    for (std::size_t place = 0; place < timeline_.launched.size(); ++place) {
      const uint32_t op = timeline_.works[timeline_.launched[place]].op;
      if (op == kNothing || trace_.operators[op].op_class != trace::OperatorClass::kConvolution) continue;
      const Inputs& inputs = split_.uses.rows[op].inputs;
      if (trace_.operators[op].phase != trace::Phase::kBackward && is_pointwise_series(inputs))
        mark_around(place, inputs[0], inputs[1].dims[0]);
    }
  }

 private:
  bool runs(std::size_t place, uint32_t op) const {
    return timeline_.works[timeline_.launched[place]].op == op;
  }

  // Whether a work goes over so many elements for a reason of their order; it stays as it was divided.
  void give_if_reordering(std::size_t place, int32_t step, double elements) {
    const uint32_t work = timeline_.launched[place];
    const Work& row = timeline_.works[work];
    if (row.op == kNothing || row.step != step || split_.uses.rows[row.op].elements != elements) return;
    WorkSplit& split = split_.works[work];
    if (split.reason == Reason::kStridedCopy || split.reason == Reason::kMixedOrders)
      split.reason = Reason::kPointwiseSeries;
  }

  bool adds_bias(std::size_t place, int32_t step, double elements, int64_t channels) const {
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
    if (place > 0) give_if_reordering(place - 1, convolution.step, read);
    std::size_t next = place + 1;
    while (next < timeline_.launched.size() && runs(next, convolution.op)) ++next;  // its other kernels
    if (next < timeline_.launched.size() && adds_bias(next, convolution.step, written, channels))
      set_split(split_.works[timeline_.launched[next++]], Cause::kLayout, 0, Reason::kPointwiseSeries, kGone);
    if (next < timeline_.launched.size()) give_if_reordering(next, convolution.step, written);
  }

  const trace::Trace& trace_;
  const RankTimeline& timeline_;
  BusySplit& split_;
};

}  // namespace

void mark_pointwise_series(const trace::Trace& trace, const RankTimeline& timeline, BusySplit& split) {
  Finder(trace, timeline, split).run();
}

}  // namespace hone::analyze::device

#include "analyze/device/busy/pointwise_series.h"

#include <set>
#include <utility>
#include <vector>

#include "analyze/device/busy/launch_walk.h"

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

class PointwiseSeriesFinder : public LaunchWalk {
 public:
  explicit PointwiseSeriesFinder(const View& view) : LaunchWalk(view) {
    for (std::size_t op = 0; op < view.uses.rows.size(); ++op) {
      const OperatorUse& use = view.uses.rows[op];
      const bool forward = view.trace.operators[op].op_class == trace::OperatorClass::kConvolution &&
                           view.trace.operators[op].phase != trace::Phase::kBackward;
      has_other_series_ |=
          use.works > 0 && forward && is_filtered_series(use.inputs) && !is_pointwise_series(use.inputs);
    }
  }

 private:
  void look_at(uint32_t work) override {
    if (!view_.has_operator(work)) return;
    const trace::Operator& op = view_.operator_of(work);
    const Inputs& inputs = view_.inputs_of(work);
    if (op.op_class == trace::OperatorClass::kConvolution && op.phase != trace::Phase::kBackward &&
        is_pointwise_series(inputs))
      claim_around(work, inputs[0], inputs[1].dims[0]);
  }

  // A work over so many elements that changes, or suffers from, their order, or goes with another such
  // convolution.
  bool reorders(std::size_t at, int32_t step, double elements) const {
    if (at >= launches()) return false;
    const uint32_t work = launched(at);
    if (!view_.has_operator(work) || view_.work(work).step != step || view_.use_of(work).elements != elements)
      return false;
    return claimed_.contains(work) ||
           (view_.alone[work].cause() == Cause::kLayout && !view_.kernel(work).changes_layout());
  }

  bool adds_bias(std::size_t at, int32_t step, double elements, int64_t channels) const {
    if (at >= launches()) return false;
    const uint32_t work = launched(at);
    if (!view_.has_operator(work) || view_.work(work).step != step) return false;
    const trace::Operator& op = view_.operator_of(work);
    if (op.what != trace::OperatorKind::kAdd || !op.in_place) return false;
    const Inputs& inputs = view_.inputs_of(work);
    return is_tensor(inputs, 0) && is_tensor(inputs, 1) && inputs[1].elements() == channels &&
           static_cast<double>(inputs[0].elements()) == elements;
  }

  void claim_around(uint32_t work, const trace::CallInput& series, int64_t channels) {
    const Work& convolution = view_.work(work);
    const auto read = static_cast<double>(series.elements());
    const double written = read / static_cast<double>(series.dims[1]) * static_cast<double>(channels);
    std::size_t next = place() + 1;
    while (next < launches() && view_.work(launched(next)).op == convolution.op) ++next;  // its other kernels
    const bool biased = adds_bias(next, convolution.step, written, channels);
    const std::size_t after = next + (biased ? 1 : 0);
    const bool turned = place() > 0 && reorders(place() - 1, convolution.step, read);
    const bool turned_back = reorders(after, convolution.step, written);
    if (turned) claim_order(launched(place() - 1));
    if (turned_back) claim_order(launched(after));
    if (biased && (turned || turned_back || !has_other_series_)) claim_once(removed(launched(next)));
  }

  // As much of it as its order costs.
  void claim_order(uint32_t work) {
    const WorkSplit& alone = view_.alone[work];
    claim_once({work, alone.target_ns, alone.of(Cause::kFloor)});
  }

  void claim_once(const ClaimedWork& row) {
    if (claimed_.insert(row.work).second) claim(Rule::kSeriesConvolutionOfSize1, {row});
  }

  bool has_other_series_ = false;  // convolutions over time, or channel by channel: they want time last
  std::set<uint32_t> claimed_;
};

}  // namespace

Claims find_pointwise_series(const View& view) { return PointwiseSeriesFinder(view).run(); }

}  // namespace hone::analyze::device

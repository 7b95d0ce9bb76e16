#include "analyze/device/busy/micro_batches.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "analyze/device/timeline/matched_collectives.h"

namespace hone::analyze::device {
namespace {

// Fewer are parameters of which some are used twice.
constexpr double kFewest = 1.9;

using Dims = std::vector<int64_t>;

class MicroBatchFinder {
 public:
  explicit MicroBatchFinder(const View& view) : view_(view) {}

  Claims run() {
    const std::vector<uint32_t> sums = find_sums();
    const auto gradients = static_cast<double>(
        std::count_if(view_.accumulate_grads.begin(), view_.accumulate_grads.end(),
                      [](const AccumulateGrad& call) { return call.step != trace::kNoStep; }));
    const auto added = static_cast<double>(sums.size());
    if (added <= 0 || added >= gradients) return {};
    const double batches = gradients / (gradients - added);
    if (batches < kFewest || !is_of_all(sums, batches) || is_pipeline()) return {};
    claim_sums(sums, batches);
    claim_conversions(batches);
    return std::move(claims_);
  }

 private:
  std::vector<uint32_t> find_sums() const {
    std::vector<uint32_t> sums;
    for (uint32_t i = 0; i < view_.works(); ++i) {
      if (view_.in_accumulate_grad[i] == 0 || !view_.has_operator(i) || view_.work(i).step == trace::kNoStep)
        continue;
      if (view_.operator_of(i).what == trace::OperatorKind::kAdd) sums.push_back(i);
    }
    return sums;
  }

  // Gradients of every shape arrive as often: where some arrive more often, as those of a network that judges
  // another, they are of several losses.
  bool is_of_all(const std::vector<uint32_t>& sums, double batches) const {
    std::map<Dims, std::pair<double, double>> counts;  // gradients and sums
    for (const AccumulateGrad& call : view_.accumulate_grads)
      if (call.step != trace::kNoStep) ++counts[call.dims].first;
    for (const uint32_t i : sums) {
      const Inputs& inputs = view_.inputs_of(i);
      if (!is_tensor(inputs, 0)) return false;
      ++counts[inputs[0].dims].second;
    }
    return std::all_of(counts.begin(), counts.end(), [&](const auto& row) {
      const auto [gradients, added] = row.second;
      return added < gradients && std::abs(gradients / (gradients - added) - batches) < 0.05 * batches;
    });
  }

  // Stages of a pipeline need many micro-batches.
  bool is_pipeline() const {
    return std::any_of(view_.timeline.works.begin(), view_.timeline.works.end(), [&](const Work& work) {
      return work.kind == WorkKind::kCollective && is_point_to_point(view_.trace, work);
    });
  }

  void claim_sums(const std::vector<uint32_t>& sums, double batches) {
    const double kept = std::max(0.0, (batches / 2 - 1) / (batches - 1));
    for (const uint32_t i : sums) {
      const double left = kept * view_.ns(i);
      claims_.push_back({Rule::kManyMicroBatches, {{i, left > 0 ? left : kGone, kept}}});
    }
  }

  // The conversion of a tensor of as many dimensions and elements as a gradient has, in the forward pass.
  bool converts_to_narrow(uint32_t work) const {
    if (!view_.has_operator(work) || view_.work(work).step == trace::kNoStep) return false;
    const trace::Operator& op = view_.operator_of(work);
    const Inputs& inputs = view_.inputs_of(work);
    return op.phase == trace::Phase::kForward && is_cast(op, inputs) && dtype_size(inputs[0].dtype) == 2 &&
           inputs[1].dtype == DType::kF32;
  }

  bool is_optimizer(uint32_t work) const {
    return view_.has_operator(work) && view_.operator_of(work).phase == trace::Phase::kOptimizer;
  }

  // As many conversions of a shape as gradients of that shape: each weight, once a micro-batch. Those of the
  // first micro-batch stay.
  void claim_conversions(double batches) {
    using Place = std::pair<int32_t, Dims>;  // step, shape
    std::map<Place, std::size_t> gradients;
    for (const AccumulateGrad& call : view_.accumulate_grads)
      if (call.step != trace::kNoStep && !call.dims.empty()) ++gradients[{call.step, call.dims}];
    std::map<Place, std::vector<uint32_t>> conversions;
    std::set<int32_t> updated;  // steps whose weights are other ones from here on
    for (const uint32_t i : view_.timeline.launched)
      if (is_optimizer(i))
        updated.insert(view_.work(i).step);
      else if (converts_to_narrow(i) && !updated.contains(view_.work(i).step))
        conversions[{view_.work(i).step, view_.inputs_of(i)[1].dims}].push_back(i);
    for (const auto& [place, works] : conversions) {
      const auto found = gradients.find(place);
      if (found == gradients.end() || found->second != works.size()) continue;
      const auto first = static_cast<std::size_t>(std::lround(static_cast<double>(works.size()) / batches));
      for (std::size_t k = first; k < works.size(); ++k)
        claims_.push_back({Rule::kRepeatedWeightCasts, {removed(works[k])}});
    }
  }

  const View& view_;
  Claims claims_;
};

}  // namespace

Claims find_micro_batches(const View& view) { return MicroBatchFinder(view).run(); }

}  // namespace hone::analyze::device

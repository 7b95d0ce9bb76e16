#include "analyze/device/busy/micro_batches.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "analyze/device/timeline/meetings.h"

namespace hone::analyze::device {
namespace {

// Fewer are parameters of which some are used twice.
constexpr double kFewestMicroBatches = 1.9;

using Dims = std::vector<int64_t>;

class MicroBatchFinder {
 public:
  MicroBatchFinder(const trace::Trace& trace, const RankTimeline& timeline, const std::vector<Leaf>& leaves,
                   BusySplit& split)
      : trace_(trace), timeline_(timeline), leaves_(leaves), split_(split) {}

  void run() {
    const std::vector<uint32_t> sums = find_sums();
    const auto gradients = static_cast<double>(std::count_if(
        leaves_.begin(), leaves_.end(), [](const Leaf& leaf) { return leaf.step != trace::kNoStep; }));
    const auto added = static_cast<double>(sums.size());
    if (added <= 0 || added >= gradients) return;
    const double batches = gradients / (gradients - added);
    if (batches < kFewestMicroBatches || !is_of_all(sums, batches) || is_pipeline()) return;
    mark_sums(sums, batches);
    mark_conversions(batches);
  }

 private:
  std::vector<uint32_t> find_sums() const {
    const std::vector<char> at = works_at_leaves(trace_, timeline_, leaves_);
    std::vector<uint32_t> sums;
    for (uint32_t i = 0; i < at.size(); ++i) {
      const Work& work = timeline_.works[i];
      const bool adds = work.op != kNothing && (trace_.operators[work.op].kind == "aten::add" ||
                                                trace_.operators[work.op].kind == "aten::add_");
      if (at[i] != 0 && adds && work.step != trace::kNoStep) sums.push_back(i);
    }
    return sums;
  }

  // Gradients of every shape arrive as often: where some arrive more often, as those of a network that judges
  // another, they are of several losses.
  bool is_of_all(const std::vector<uint32_t>& sums, double batches) const {
    std::map<Dims, std::pair<double, double>> counts;  // gradients and sums
    for (const Leaf& leaf : leaves_)
      if (leaf.step != trace::kNoStep) ++counts[leaf.dims].first;
    for (const uint32_t i : sums) {
      const Inputs& inputs = split_.uses.rows[timeline_.works[i].op].inputs;
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
    return std::any_of(timeline_.works.begin(), timeline_.works.end(), [&](const Work& work) {
      return work.kind == WorkKind::kCollective && is_point_to_point(trace_, work);
    });
  }

  void mark_sums(const std::vector<uint32_t>& sums, double batches) {
    const double kept = std::max(0.0, (batches / 2 - 1) / (batches - 1));
    for (const uint32_t i : sums) {
      const double left = kept * static_cast<double>(timeline_.works[i].ns());
      set_split(split_.works[i], Cause::kAvoidableTraffic, kept, Reason::kAccumulation,
                left > 0 ? left : kGone);
    }
  }

  // The conversion of a tensor of as many dimensions and elements as a gradient has, in the forward pass.
  bool converts_to_narrow(const Work& work) const {
    if (work.op == kNothing || work.step == trace::kNoStep) return false;
    const trace::Operator& op = trace_.operators[work.op];
    const Inputs& inputs = split_.uses.rows[work.op].inputs;
    return op.phase == trace::Phase::kForward && is_cast(op, inputs) && dtype_size(inputs[0].dtype) == 2 &&
           inputs[1].dtype == DType::kF32;
  }

  bool is_optimizer(const Work& work) const {
    return work.op != kNothing && trace_.operators[work.op].phase == trace::Phase::kOptimizer;
  }

  // As many conversions of a shape as gradients of that shape: each weight, once a micro-batch. Those of the
  // first micro-batch stay.
  void mark_conversions(double batches) {
    using Place = std::pair<int32_t, Dims>;  // step, shape
    std::map<Place, std::size_t> gradients;
    for (const Leaf& leaf : leaves_)
      if (leaf.step != trace::kNoStep && !leaf.dims.empty()) ++gradients[{leaf.step, leaf.dims}];
    std::map<Place, std::vector<uint32_t>> conversions;
    std::set<int32_t> updated;  // steps whose weights are other ones from here on
    for (const uint32_t i : timeline_.launched)
      if (is_optimizer(timeline_.works[i]))
        updated.insert(timeline_.works[i].step);
      else if (converts_to_narrow(timeline_.works[i]) && !updated.contains(timeline_.works[i].step))
        conversions[{timeline_.works[i].step, split_.uses.rows[timeline_.works[i].op].inputs[1].dims}]
            .push_back(i);
    for (const auto& [place, works] : conversions) {
      const auto found = gradients.find(place);
      if (found == gradients.end() || found->second != works.size()) continue;
      const auto first = static_cast<std::size_t>(std::lround(static_cast<double>(works.size()) / batches));
      for (std::size_t k = first; k < works.size(); ++k)
        set_split(split_.works[works[k]], Cause::kAvoidableTraffic, 0, Reason::kRepeatedCast, kGone);
    }
  }

  const trace::Trace& trace_;
  const RankTimeline& timeline_;
  const std::vector<Leaf>& leaves_;
  BusySplit& split_;
};

}  // namespace

void mark_micro_batches(const trace::Trace& trace, const RankTimeline& timeline,
                        const std::vector<Leaf>& leaves, BusySplit& split) {
  MicroBatchFinder(trace, timeline, leaves, split).run();
}

}  // namespace hone::analyze::device

#include "analyze/device/busy/micro_batches.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

namespace hone::analyze::device {
namespace {

// Fewer are parameters of which some are used twice.
constexpr double kFewest = 1.9;

using Dims = std::vector<int64_t>;

class Finder {
 public:
  Finder(const trace::Trace& trace, const RankTimeline& timeline, const std::vector<Leaf>& leaves,
         BusySplit& split)
      : trace_(trace), timeline_(timeline), leaves_(leaves), split_(split) {}

  void run() {
    const std::vector<uint32_t> sums = find_sums();
    const auto gradients = static_cast<double>(std::count_if(
        leaves_.begin(), leaves_.end(), [](const Leaf& leaf) { return leaf.step != trace::kNoStep; }));
    const auto added = static_cast<double>(sums.size());
    if (added <= 0 || added >= gradients) return;
    const double batches = gradients / (gradients - added);
    if (batches < kFewest) return;
    mark_sums(sums, batches);
    mark_conversions(batches);
  }

 private:
  std::vector<uint32_t> find_sums() const {
    const std::vector<char> at = works_at_leaves(trace_, timeline_, leaves_);
    std::vector<uint32_t> sums;
    for (uint32_t i = 0; i < at.size(); ++i) {
      const Work& work = timeline_.works[i];
      const bool adds = work.op != kNothing && trace_.operators[work.op].kind.starts_with("aten::add");
      if (at[i] != 0 && adds && work.step != trace::kNoStep) sums.push_back(i);
    }
    return sums;
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

  // As many conversions of a shape as gradients of that shape: each weight, once a micro-batch. Those of the
  // first micro-batch stay.
  void mark_conversions(double batches) {
    using Place = std::pair<int32_t, Dims>;  // step, shape
    std::map<Place, std::size_t> gradients;
    for (const Leaf& leaf : leaves_)
      if (leaf.step != trace::kNoStep && !leaf.dims.empty()) ++gradients[{leaf.step, leaf.dims}];
    std::map<Place, std::vector<uint32_t>> conversions;
    for (const uint32_t i : timeline_.launched)
      if (converts_to_narrow(timeline_.works[i]))
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
  Finder(trace, timeline, leaves, split).run();
}

}  // namespace hone::analyze::device

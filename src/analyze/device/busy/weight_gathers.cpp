#include "analyze/device/busy/weight_gathers.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "analyze/device/busy/launch_walk.h"
#include "trace/link/roles.h"

namespace hone::analyze::device {
namespace {

constexpr std::size_t kLeastTurns = 3;
// Flat parameters are padded, and hold biases and norms, which no product reads.
constexpr double kSameWeights = 0.2;
constexpr double kMostOfMemory = 0.8;

using trace::OperatorKind;

// A range of the host that FSDP names after the module whose weights it gathers.
struct Range {
  uint32_t track = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  std::string_view module;
  bool unpacks = false;
};

// By track and start. They do not nest.
std::vector<Range> find_ranges(const trace::Trace& trace, const RankTimeline& timeline) {
  std::vector<Range> ranges;
  for (std::size_t row = 0; row < trace.spans.size(); ++row) {
    const trace::StringId name = trace.spans.name[row];
    if (trace.spans.category[row] != trace::Category::kRegion || !name.valid()) continue;
    const trace::Track& track = trace.tracks[trace.spans.track[row].index];
    if (track.kind == trace::TrackKind::kStream || track.rank != timeline.rank) continue;
    const auto gather = trace::link::weight_gather(trace.strings.text(name));
    if (!gather) continue;
    const int64_t start = trace.spans.start_ns[row] + timeline.clock_shift_ns;
    ranges.push_back({trace.spans.track[row].index, start, start + trace.spans.duration_ns[row],
                      gather->module, gather->unpacks});
  }
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) {
    return std::tie(a.track, a.start_ns) < std::tie(b.track, b.start_ns);
  });
  return ranges;
}

const Range* range_of(const std::vector<Range>& ranges, const trace::Trace& trace, const HostCall* call) {
  if (call == nullptr || ranges.empty()) return nullptr;
  const uint32_t track = trace.spans.track[call->span].index;
  auto after = std::upper_bound(
      ranges.begin(), ranges.end(), std::pair(track, call->start_ns),
      [](const auto& at, const Range& range) { return at < std::pair(range.track, range.start_ns); });
  if (after == ranges.begin()) return nullptr;
  --after;
  return after->track == track && call->start_ns < after->end_ns ? &*after : nullptr;
}

// A gather with the copies around it.
struct WeightGather {
  std::vector<uint32_t> works;
  const Range* range = nullptr;
  double elements_in = 0;
  double elements = 0;  // of all ranks together
  double bytes = 0;
};

class WeightGatherFinder : public LaunchWalk {
 public:
  explicit WeightGatherFinder(const View& view)
      : LaunchWalk(view), ranges_(find_ranges(view.trace, view.timeline)) {
    for (const trace::DeviceInfo& device : view.trace.meta.devices)
      if (device.rank == view.timeline.rank && device.index == view.timeline.ledger_device())
        memory_bytes_ = device.memory_bytes;
  }

 private:
  void begin_step(int32_t step) override {
    end();
    step_ = step;
  }

  void look_at(uint32_t work) override {
    if (changes_weights(work)) end();
    if (step_ != trace::kNoStep) take(work);
  }

  const trace::Collective* collective(uint32_t work) const {
    const trace::Collective* detail = view_.collective(work);
    return detail != nullptr && detail->name.valid() ? detail : nullptr;
  }

  // Whether weights, or what is kept of them, are others after this work, or a backward pass has begun.
  bool changes_weights(uint32_t i) const {
    if (const trace::Collective* detail = collective(i); detail != nullptr)
      return detail->kind == trace::CollectiveKind::kReduceScatter;
    if (view_.work(i).kind == WorkKind::kCollective || !view_.has_operator(i)) return false;
    const trace::Phase phase = view_.operator_of(i).phase;
    return phase == trace::Phase::kBackward || phase == trace::Phase::kOptimizer;
  }

  void take(uint32_t i) {
    const Range* range = range_of(ranges_, view_.trace, view_.timeline.launch_of(view_.work(i)));
    if (view_.work(i).kind == WorkKind::kCollective)
      take_collective(i, range);
    else if (range != nullptr)
      take_named_copy(i, *range);
    else
      take_work(i);
    before_ = i;
  }

  void take_collective(uint32_t i, const Range* range) {
    const trace::Collective* detail = collective(i);
    if (detail == nullptr || detail->elements_in <= 0 || detail->elements_out <= detail->elements_in) return;
    if (detail->kind != trace::CollectiveKind::kAllGather) return;
    WeightGather gather{{i},
                        range,
                        detail->elements_in,
                        detail->elements_out,
                        detail->elements_out * static_cast<double>(dtype_size(detail->dtype))};
    if (range != nullptr && packed_range_ == range)
      gather.works.insert(gather.works.end(), packed_.begin(), packed_.end());
    else if (range == nullptr && before_ != kNothing && copies(before_, detail->elements_in))
      gather.works.push_back(before_);
    packed_range_ = nullptr;
    if (range != nullptr) last_of_module_[range->module] = gathers_.size();
    gathers_.push_back(std::move(gather));
  }

  // What is packed belongs to the gather that the same range launches, what is unpacked to the last of its
  // module.
  void take_named_copy(uint32_t i, const Range& range) {
    if (!range.unpacks) {
      if (packed_range_ != &range) packed_.clear();
      packed_range_ = &range;
      packed_.push_back(i);
      return;
    }
    if (const auto last = last_of_module_.find(range.module); last != last_of_module_.end())
      gathers_[last->second].works.push_back(i);
  }

  void take_work(uint32_t i) {
    if (!gathers_.empty() && gathers_.back().range == nullptr && before_ == gathers_.back().works.front() &&
        copies(i, gathers_.back().elements))
      gathers_.back().works.push_back(i);
    if (gathers_.empty() || !view_.has_operator(i) || view_.work(i).execution == execution_) return;
    execution_ = view_.work(i).execution;
    weights_ += weight_elements(view_.operator_of(i), view_.use_of(i));
  }

  bool copies(uint32_t i, double elements) const {
    if (!view_.has_operator(i) || view_.use_of(i).elements != elements) return false;
    const OperatorKind what = view_.operator_of(i).what;
    return what == OperatorKind::kCopy || what == OperatorKind::kListCopy || what == OperatorKind::kOtherCopy;
  }

  // Elements of the matrix or the filters that a product of activations goes over: its last argument with as
  // many dimensions as these have.
  static double weight_elements(const trace::Operator& op, const OperatorUse& use) {
    const bool product =
        op.op_class == trace::OperatorClass::kMatrix || op.op_class == trace::OperatorClass::kConvolution;
    if (op.what == OperatorKind::kEmbedding && is_tensor(use.inputs, 0))
      return static_cast<double>(use.inputs.front().elements());
    if (!product || op.what == OperatorKind::kBmm || op.what == OperatorKind::kBaddbmm) return 0;
    double elements = 0;
    for (std::size_t i = 0; i < use.inputs.size(); ++i)
      if (is_tensor(use.inputs, i) && use.inputs[i].dims.size() >= 2)
        elements = static_cast<double>(use.inputs[i].elements());
    return elements;
  }

  void end() override {
    std::vector<WeightGather*> nameless;
    std::map<std::pair<std::string_view, double>, std::vector<WeightGather*>> named;
    // Only the root has no name, unless none has: what is one module's is not known then.
    const bool names = std::any_of(gathers_.begin(), gathers_.end(), [](const WeightGather& gather) {
      return gather.range != nullptr && !gather.range->module.empty();
    });
    for (WeightGather& gather : gathers_)
      if (gather.range == nullptr || !names)
        nameless.push_back(&gather);
      else
        named[{gather.range->module, gather.elements}].push_back(&gather);
    double round = 0;
    for (const auto& [module, turns] : named) round += turns.front()->bytes;
    if (fits(round))
      for (const auto& [module, turns] : named)
        if (turns.size() >= kLeastTurns)
          for (std::size_t turn = 1; turn < turns.size(); ++turn) claim_gather(*turns[turn]);
    claim_pattern(nameless);
    gathers_.clear();
    last_of_module_.clear();
    packed_range_ = nullptr;
    before_ = kNothing;
    weights_ = 0;
  }

  void claim_pattern(const std::vector<WeightGather*>& gathers) {
    const std::size_t period = period_of(gathers);
    if (period == 0) return;
    double elements = 0, bytes = 0;
    for (std::size_t i = 0; i < gathers.size(); ++i) {
      elements += gathers[i]->elements;
      bytes += i < period ? gathers[i]->bytes : 0;
    }
    if (weights_ < (1 - kSameWeights) * elements || weights_ > (1 + kSameWeights) * elements || !fits(bytes))
      return;
    for (std::size_t i = period; i < gathers.size(); ++i) claim_gather(*gathers[i]);
  }

  // The shortest pattern of sizes that the gathers repeat from the first to the last; 0: none, or all are
  // equal.
  static std::size_t period_of(const std::vector<WeightGather*>& gathers) {
    const auto differ = [](const WeightGather* a, const WeightGather* b) {
      return a->elements != b->elements;
    };
    if (std::adjacent_find(gathers.begin(), gathers.end(), differ) == gathers.end()) return 0;
    for (std::size_t period = 2; period * kLeastTurns <= gathers.size(); ++period) {
      if (gathers.size() % period != 0) continue;
      bool repeats = true;
      for (std::size_t i = period; i < gathers.size() && repeats; ++i)
        repeats = gathers[i]->elements == gathers[i - period]->elements;
      if (repeats) return period;
    }
    return 0;
  }

  bool fits(double bytes) const { return memory_bytes_ <= 0 || bytes < kMostOfMemory * memory_bytes_; }

  void claim_gather(const WeightGather& gather) {
    std::vector<ClaimedWork> works;
    for (const uint32_t work : gather.works) works.push_back(along(work));
    claim(Rule::kRepeatedWeightGathers, std::move(works));
  }

  int32_t step_ = trace::kNoStep;
  std::vector<Range> ranges_;
  double memory_bytes_ = 0;  // 0: not known
  // Since weights may last have changed:
  std::vector<WeightGather> gathers_;
  std::map<std::string_view, std::size_t> last_of_module_;  // into gathers_
  const Range* packed_range_ = nullptr;                     // that packs what it will gather
  std::vector<uint32_t> packed_;
  double weights_ = 0;  // elements that products have read since the first gather
  uint32_t before_ = kNothing;
  uint32_t execution_ = kNothing;
};

}  // namespace

Claims find_repeated_gathers(const View& view) { return WeightGatherFinder(view).run(); }

}  // namespace hone::analyze::device

#include "analyze/device/busy/leaves.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

namespace hone::analyze::device {
namespace {

constexpr std::string_view kLeaf = "torch::autograd::AccumulateGrad";
// Fewer are parameters of which some are used twice.
constexpr double kFewestMicroBatches = 1.9;

struct LeafSpan {
  uint32_t track = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int32_t step = trace::kNoStep;
};

// The evaluations of leaves on this rank, the engine's range around each: by track and start.
std::vector<LeafSpan> leaf_spans(const trace::Trace& trace, const RankTimeline& timeline) {
  std::vector<LeafSpan> spans;
  std::vector<char> is_leaf(trace.strings.size(), 0);
  for (std::size_t row = 0; row < trace.spans.size(); ++row) {
    const trace::StringId name = trace.spans.name[row];
    if (!name.valid()) continue;
    char& known = is_leaf[name.index];  // 0: not looked at
    if (known == 0) known = trace.strings.text(name).find(kLeaf) != std::string_view::npos ? 1 : 2;
    const trace::TrackId track = trace.spans.track[row];
    if (known == 1 && trace.tracks[track.index].rank == timeline.rank)
      spans.push_back({track.index, trace.spans.start_ns[row] + timeline.clock_shift_ns,
                       trace.spans.row(row).end_ns() + timeline.clock_shift_ns, trace.spans.step[row]});
  }
  std::sort(spans.begin(), spans.end(), [](const LeafSpan& a, const LeafSpan& b) {
    return std::tie(a.track, a.start_ns, b.end_ns) < std::tie(b.track, b.start_ns, a.end_ns);
  });
  std::vector<LeafSpan> outer;
  for (const LeafSpan& span : spans)
    if (outer.empty() || outer.back().track != span.track || outer.back().end_ns < span.end_ns)
      outer.push_back(span);
  return outer;
}

const LeafSpan* leaf_of(const trace::Trace& trace, const std::vector<LeafSpan>& leaves,
                        const HostCall& call) {
  const uint32_t track = trace.spans.track[call.span].index;
  auto after = std::upper_bound(
      leaves.begin(), leaves.end(), std::pair(track, call.start_ns),
      [](const auto& at, const LeafSpan& leaf) { return at < std::pair(leaf.track, leaf.start_ns); });
  if (after == leaves.begin()) return nullptr;
  --after;
  return after->track == track && call.start_ns < after->end_ns ? &*after : nullptr;
}

std::vector<char> at_leaves(const trace::Trace& trace, const RankTimeline& timeline,
                            const std::vector<LeafSpan>& leaves) {
  std::vector<char> at(timeline.works.size(), 0);
  if (leaves.empty()) return at;
  for (std::size_t i = 0; i < timeline.works.size(); ++i)
    if (const HostCall* call = timeline.launch_of(timeline.works[i]); call != nullptr)
      at[i] = leaf_of(trace, leaves, *call) != nullptr;
  return at;
}

}  // namespace

std::vector<char> works_at_leaves(const trace::Trace& trace, const RankTimeline& timeline) {
  return at_leaves(trace, timeline, leaf_spans(trace, timeline));
}

void mark_accumulations(const trace::Trace& trace, const RankTimeline& timeline, BusySplit& split) {
  const std::vector<LeafSpan> leaves = leaf_spans(trace, timeline);
  const std::vector<char> at = at_leaves(trace, timeline, leaves);
  std::vector<uint32_t> sums;
  for (uint32_t i = 0; i < at.size(); ++i) {
    const Work& work = timeline.works[i];
    const bool adds = work.op != kNothing && trace.operators[work.op].kind.starts_with("aten::add");
    if (at[i] != 0 && adds && work.step != trace::kNoStep) sums.push_back(i);
  }
  const auto gradients = static_cast<double>(std::count_if(
      leaves.begin(), leaves.end(), [](const LeafSpan& leaf) { return leaf.step != trace::kNoStep; }));
  const auto added = static_cast<double>(sums.size());
  if (added <= 0 || added >= gradients) return;
  const double batches = gradients / (gradients - added);
  if (batches < kFewestMicroBatches) return;
  const double kept = std::max(0.0, (batches / 2 - 1) / (batches - 1));
  for (const uint32_t i : sums) {
    const double left = kept * static_cast<double>(timeline.works[i].ns());
    set_split(split.works[i], Cause::kAvoidableTraffic, kept, Reason::kAccumulation, left > 0 ? left : kGone);
  }
}

}  // namespace hone::analyze::device

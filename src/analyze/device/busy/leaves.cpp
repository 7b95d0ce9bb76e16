#include "analyze/device/busy/leaves.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "trace/call_inputs.h"

namespace hone::analyze::device {
namespace {

constexpr std::string_view kLeaf = "torch::autograd::AccumulateGrad";

// The rows of spans that are named after it, on this rank: the engine's range, and the function in it.
std::vector<uint32_t> rows_of_leaves(const trace::Trace& trace, const RankTimeline& timeline) {
  enum class IsLeaf : char { kUnknown, kYes, kNo };
  std::vector<IsLeaf> names(trace.strings.size(), IsLeaf::kUnknown);
  std::vector<uint32_t> rows;
  for (uint32_t row = 0; row < trace.spans.size(); ++row) {
    const trace::StringId name = trace.spans.name[row];
    if (!name.valid()) continue;
    IsLeaf& known = names[name.index];
    if (known == IsLeaf::kUnknown)
      known = trace.strings.text(name).find(kLeaf) != std::string_view::npos ? IsLeaf::kYes : IsLeaf::kNo;
    if (known == IsLeaf::kYes && trace.tracks[trace.spans.track[row].index].rank == timeline.rank)
      rows.push_back(row);
  }
  return rows;
}

// The dimensions of what spans are called with first; equal calls share one text.
class FirstDims {
 public:
  explicit FirstDims(const trace::Trace& trace) : trace_(trace) {}

  const std::vector<int64_t>& of(uint32_t row) {
    const trace::Call* call = trace::find_detail(trace_.calls, row);
    if (call == nullptr || !call->inputs.valid()) return none_;
    const auto [at, is_new] = known_.try_emplace(call->inputs.index);
    if (is_new)
      if (auto inputs = trace::parse_call_inputs(trace_.strings.text(call->inputs));
          inputs.ok() && !inputs->empty())
        at->second = std::move(inputs->front().dims);
    return at->second;
  }

 private:
  const trace::Trace& trace_;
  std::unordered_map<uint32_t, std::vector<int64_t>> known_;
  std::vector<int64_t> none_;
};

const Leaf* leaf_of(const trace::Trace& trace, const std::vector<Leaf>& leaves, const HostCall& call) {
  const uint32_t track = trace.spans.track[call.span].index;
  auto after = std::upper_bound(
      leaves.begin(), leaves.end(), std::pair(track, call.start_ns),
      [](const auto& at, const Leaf& leaf) { return at < std::pair(leaf.track, leaf.start_ns); });
  if (after == leaves.begin()) return nullptr;
  --after;
  return after->track == track && call.start_ns < after->end_ns ? &*after : nullptr;
}

}  // namespace

std::vector<Leaf> find_leaves(const trace::Trace& trace, const RankTimeline& timeline) {
  std::vector<Leaf> spans;
  FirstDims dims(trace);
  for (const uint32_t row : rows_of_leaves(trace, timeline)) {
    const trace::Span span = trace.spans.row(row);
    spans.push_back({span.track.index, span.start_ns + timeline.clock_shift_ns,
                     span.end_ns() + timeline.clock_shift_ns, span.step, dims.of(row)});
  }
  std::sort(spans.begin(), spans.end(), [](const Leaf& a, const Leaf& b) {
    return std::tie(a.track, a.start_ns, b.end_ns) < std::tie(b.track, b.start_ns, a.end_ns);
  });
  std::vector<Leaf> outer;
  for (Leaf& span : spans) {
    if (outer.empty() || outer.back().track != span.track || outer.back().end_ns < span.end_ns)
      outer.push_back(std::move(span));
    else if (outer.back().dims.empty())
      outer.back().dims = std::move(span.dims);
  }
  return outer;
}

std::vector<char> works_at_leaves(const trace::Trace& trace, const RankTimeline& timeline,
                                  const std::vector<Leaf>& leaves) {
  std::vector<char> at(timeline.works.size(), 0);
  if (leaves.empty()) return at;
  for (std::size_t i = 0; i < timeline.works.size(); ++i)
    if (const HostCall* call = timeline.launch_of(timeline.works[i]); call != nullptr)
      at[i] = leaf_of(trace, leaves, *call) != nullptr;
  return at;
}

}  // namespace hone::analyze::device

#include "analyze/device/busy/accumulate_grad.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "trace/call_inputs.h"
#include "trace/link/roles.h"

namespace hone::analyze::device {
namespace {

// The rows of spans that are named after it, on this rank: the engine's range, and the function in it.
std::vector<uint32_t> rows_of_accumulate_grads(const trace::Trace& trace, const RankTimeline& timeline) {
  enum class Known : char { kNotYet, kYes, kNo };
  std::vector<Known> names(trace.strings.size(), Known::kNotYet);
  std::vector<uint32_t> rows;
  for (uint32_t row = 0; row < trace.spans.size(); ++row) {
    const trace::StringId name = trace.spans.name[row];
    if (!name.valid()) continue;
    Known& known = names[name.index];
    if (known == Known::kNotYet)
      known = trace::link::accumulates_gradient(trace.strings.text(name)) ? Known::kYes : Known::kNo;
    if (known == Known::kYes && trace.tracks[trace.spans.track[row].index].rank == timeline.rank)
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

const AccumulateGrad* call_around(const trace::Trace& trace, const std::vector<AccumulateGrad>& calls,
                                  const HostCall& call) {
  const uint32_t track = trace.spans.track[call.span].index;
  auto after = std::upper_bound(
      calls.begin(), calls.end(), std::pair(track, call.start_ns),
      [](const auto& at, const AccumulateGrad& row) { return at < std::pair(row.track, row.start_ns); });
  if (after == calls.begin()) return nullptr;
  --after;
  return after->track == track && call.start_ns < after->end_ns ? &*after : nullptr;
}

}  // namespace

std::vector<AccumulateGrad> find_accumulate_grads(const trace::Trace& trace, const RankTimeline& timeline) {
  std::vector<AccumulateGrad> spans;
  FirstDims dims(trace);
  for (const uint32_t row : rows_of_accumulate_grads(trace, timeline)) {
    const trace::Span span = trace.spans.row(row);
    spans.push_back({span.track.index, span.start_ns + timeline.clock_shift_ns,
                     span.end_ns() + timeline.clock_shift_ns, span.step, dims.of(row)});
  }
  std::sort(spans.begin(), spans.end(), [](const AccumulateGrad& a, const AccumulateGrad& b) {
    return std::tie(a.track, a.start_ns, b.end_ns) < std::tie(b.track, b.start_ns, a.end_ns);
  });
  std::vector<AccumulateGrad> outer;
  for (AccumulateGrad& span : spans) {
    if (outer.empty() || outer.back().track != span.track || outer.back().end_ns < span.end_ns)
      outer.push_back(std::move(span));
    else if (outer.back().dims.empty())
      outer.back().dims = std::move(span.dims);
  }
  return outer;
}

std::vector<char> works_of_accumulate_grads(const trace::Trace& trace, const RankTimeline& timeline,
                                            const std::vector<AccumulateGrad>& calls) {
  std::vector<char> at(timeline.works.size(), 0);
  if (calls.empty()) return at;
  for (std::size_t i = 0; i < timeline.works.size(); ++i)
    if (const HostCall* call = timeline.launch_of(timeline.works[i]); call != nullptr)
      at[i] = call_around(trace, calls, *call) != nullptr;
  return at;
}

}  // namespace hone::analyze::device

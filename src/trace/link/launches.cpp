#include "trace/link/launches.h"

#include <algorithm>
#include <functional>
#include <tuple>

namespace hone::trace::link {
namespace {

bool on_host(const Trace& trace, uint32_t row) {
  return trace.tracks[trace.spans.track[row].index].kind != TrackKind::kStream;
}

// Importers write spans in order of time, in which most of this is sorted already.
template <typename Item, typename Less>
void sort_unless_sorted(std::vector<Item>& items, const Less& less) {
  if (!std::is_sorted(items.begin(), items.end(), less)) std::sort(items.begin(), items.end(), less);
}

// Host calls by correlation. Where several carry the same, the runtime's call stands first.
struct HostCall {
  uint64_t correlation = 0;
  bool other = false;  // not a call into the runtime
  uint32_t row = 0;
  friend auto operator<=>(const HostCall&, const HostCall&) = default;
};

std::vector<HostCall> host_calls(const Trace& trace) {
  std::vector<HostCall> calls;
  const SpanTable& spans = trace.spans;
  for (uint32_t row = 0; row < spans.size(); ++row)
    if (spans.correlation[row] != 0 && on_host(trace, row))
      calls.push_back({spans.correlation[row], spans.category[row] != Category::kRuntime, row});
  sort_unless_sorted(calls, std::less<>());
  return calls;
}

uint32_t find_call(const std::vector<HostCall>& calls, uint64_t correlation) {
  if (correlation == 0) return kNoSpan;
  const auto at = std::lower_bound(calls.begin(), calls.end(), HostCall{correlation, false, 0});
  return at != calls.end() && at->correlation == correlation ? at->row : kNoSpan;
}

// Operators by rank and the framework's id of their call.
using External = std::tuple<int, uint64_t, uint32_t>;

std::vector<External> external_ids(const Trace& trace) {
  std::vector<External> ids;
  for (const trace::Call& call : trace.calls)
    if (call.external != 0) ids.emplace_back(rank_of(trace, call.span), call.external, call.span);
  sort_unless_sorted(ids, std::less<>());
  return ids;
}

uint64_t external_of(const Trace& trace, uint32_t row) {
  if (const Launch* launch = find_detail(trace.launches, row)) return launch->external;
  if (const Copy* copy = find_detail(trace.copies, row)) return copy->external;
  return 0;
}

uint32_t find_external(const std::vector<External>& ids, int rank, uint64_t external) {
  if (external == 0) return kNoSpan;
  const auto at = std::lower_bound(ids.begin(), ids.end(), External{rank, external, 0});
  return at != ids.end() && std::get<0>(*at) == rank && std::get<1>(*at) == external ? std::get<2>(*at)
                                                                                     : kNoSpan;
}

}  // namespace

std::vector<DeviceWork> find_device_work(const Trace& trace, const SpanNesting& nesting) {
  const std::vector<HostCall> calls = host_calls(trace);
  const std::vector<External> externals = external_ids(trace);
  const std::vector<uint32_t> operator_around = nesting.nearest(trace, Category::kOperator);
  std::vector<DeviceWork> work;
  for (uint32_t row = 0; row < trace.spans.size(); ++row) {
    if (!is_device_work(trace, row)) continue;
    DeviceWork& item = work.emplace_back();
    item.row = row;
    item.launch = find_call(calls, trace.spans.correlation[row]);
    // One call replays a whole graph: each kernel of it belongs to the operator that it was captured in.
    if (const Launch* launch = find_detail(trace.launches, row); launch != nullptr && launch->graph_node != 0)
      item.caller = find_external(externals, rank_of(trace, row), launch->external);
    if (item.caller == kNoSpan && item.launch != kNoSpan) item.caller = operator_around[item.launch];
    if (item.caller == kNoSpan)
      item.caller = find_external(externals, rank_of(trace, row), external_of(trace, row));
  }
  const auto earlier = [&](const DeviceWork& a, const DeviceWork& b) {
    return std::tuple(rank_of(trace, a.row), trace.spans.start_ns[a.row], a.row) <
           std::tuple(rank_of(trace, b.row), trace.spans.start_ns[b.row], b.row);
  };
  sort_unless_sorted(work, earlier);
  return work;
}

}  // namespace hone::trace::link

#include "runtime/cuda/replay_times.h"

#include <algorithm>

#include <fmt/format.h>

namespace hone::runtime {
namespace {

using Kind = cuda::DeviceRecord::Kind;

std::size_t count_of(std::span<const cuda::DeviceRecord> records, Kind kind) {
  return static_cast<std::size_t>(std::ranges::count_if(
      records, [kind](const cuda::DeviceRecord& record) { return record.kind == kind; }));
}

// The driver makes a kernel of a fill or a copy where it likes, and nothing else of a kernel.
bool may_be_of(const MarkedNodes& nodes, std::span<const cuda::DeviceRecord> records) {
  return count_of(records, Kind::kKernel) >= nodes.kernels &&
         count_of(records, Kind::kCopy) <= nodes.copies && count_of(records, Kind::kSet) <= nodes.sets;
}

int64_t last_end(std::span<const cuda::DeviceRecord> records) {
  return std::ranges::max(records, {}, &cuda::DeviceRecord::end_ns).end_ns;
}

Error does_not_fit(std::string_view what) {
  return invalid(fmt::format("what CUPTI recorded of a replay is not what its graph has: {}", what));
}

void add_kernels(uint32_t op, std::span<const cuda::DeviceRecord> records, ReplayTimes& times) {
  for (const cuda::DeviceRecord& record : records)
    if (record.kind == Kind::kKernel) times.kernels.push_back({op, record});
}

// The times of one replay, whose records are `records`.
Status add_times(std::span<const MarkedNodes> groups, std::span<const cuda::DeviceRecord> records,
                 ReplayTimes& times) {
  const auto of_another = [&](const cuda::DeviceRecord& r) { return r.graph != records.front().graph; };
  if (std::ranges::any_of(records, of_another)) return does_not_fit("there is work of another graph in it");
  int64_t before_ns = records.front().start_ns;
  for (std::size_t at = 0; const MarkedNodes& nodes : groups) {
    const auto mine = records.subspan(at, nodes.records());
    at += mine.size();
    if (!may_be_of(nodes, mine)) return does_not_fit("kernels, copies and fills come in another order");
    MarkTime time{nodes.kind, nodes.id, before_ns, before_ns};
    if (!mine.empty())
      time.start_ns = mine.front().start_ns, time.end_ns = last_end(mine);
    else if (nodes.calls_host && at < records.size())
      time.end_ns = std::max(before_ns, records[at].start_ns);
    before_ns = std::max(before_ns, time.end_ns);
    if (nodes.marked) times.marks.push_back(time);
    if (nodes.marked && nodes.kind == ScopeListener::Kind::kOperator) add_kernels(nodes.id, mine, times);
  }
  return {};
}

std::size_t records_of_graph(std::span<const MarkedNodes> groups) {
  std::size_t records = 0;
  for (const MarkedNodes& nodes : groups) records += nodes.records();
  return records;
}

Status add_node(int type, MarkedNodes& into) {
  switch (type) {
    case cuda::kKernelNode:
      return ++into.kernels, Status();
    case cuda::kCopyNode:
      return ++into.copies, Status();
    case cuda::kSetNode:
      return ++into.sets, Status();
    case cuda::kHostNode:
      return into.calls_host = true, Status();
    case cuda::kEmptyNode:
    case cuda::kEventWaitNode:
    case cuda::kEventRecordNode:
      return {};
    default:
      return unsupported(fmt::format("the plan's graph has nodes of type {} (CUgraphNodeType)", type));
  }
}

}  // namespace

void CapturedMarks::failed(const Error& error) {
  if (status_.ok()) status_ = error;
}

void CapturedMarks::begin() { count_or_fail({}); }

void CapturedMarks::end(ScopeListener::Kind kind, uint32_t id) {
  count_or_fail({.marked = true, .kind = kind, .id = id});
}

void CapturedMarks::count_or_fail(MarkedNodes nodes) {
  if (!status_.ok()) return;
  if (Status counted = count(nodes); !counted.ok()) return failed(counted.error());
  if (nodes.marked || nodes.records() > 0) groups_.push_back(nodes);
}

// The nodes that were not there before. In which order the driver lists them is not said anywhere.
Status CapturedMarks::count(MarkedNodes& into) {
  const cuda::DriverFunctions& f = driver_.functions();
  int capturing = 0;
  cuda::GraphHandle graph = nullptr;
  HONE_CHECK(driver_.check(f.stream_get_capture_info(stream_, &capturing, nullptr, &graph, nullptr, nullptr),
                           "cuStreamGetCaptureInfo"));
  if (graph == nullptr) return invalid("a graph's marks are counted, and nothing is captured");
  std::size_t count = 0;
  HONE_CHECK(driver_.check(f.graph_get_nodes(graph, nullptr, &count), "cuGraphGetNodes"));
  if (count == known_.size()) return {};
  std::vector<cuda::GraphNodeHandle> nodes(count);
  HONE_CHECK(driver_.check(f.graph_get_nodes(graph, nodes.data(), &count), "cuGraphGetNodes"));
  for (const cuda::GraphNodeHandle node : nodes) {
    if (!known_.insert(node).second) continue;
    int type = 0;
    HONE_CHECK(driver_.check(f.graph_node_get_type(node, &type), "cuGraphNodeGetType"));
    HONE_CHECK(add_node(type, into));
  }
  return {};
}

Result<std::vector<MarkedNodes>> CapturedMarks::take() {
  HONE_CHECK(status_);
  if (records_of_graph(groups_) == 0) return unsupported("the plan's graph has nothing that the GPU runs");
  return std::move(groups_);
}

std::size_t records_of(std::span<const std::span<const MarkedNodes>> replays) {
  std::size_t records = 0;
  for (const auto& groups : replays) records += records_of_graph(groups);
  return records;
}

Result<ReplayTimes> times_of_replays(std::span<const std::span<const MarkedNodes>> replays,
                                     std::span<const cuda::DeviceRecord> records) {
  std::vector<cuda::DeviceRecord> of_graphs;
  std::ranges::copy_if(records, std::back_inserter(of_graphs), [](const auto& r) { return r.graph != 0; });
  const std::size_t expected = records_of(replays);
  if (of_graphs.size() != expected || expected == 0)
    return does_not_fit(fmt::format("{} records, where there are {} commands", of_graphs.size(), expected));
  ReplayTimes times{
      .marks = {}, .kernels = {}, .start_ns = of_graphs.front().start_ns, .end_ns = last_end(of_graphs)};
  std::span<const cuda::DeviceRecord> rest = of_graphs;
  for (const auto& groups : replays) {
    const std::size_t mine = records_of_graph(groups);
    HONE_CHECK(add_times(groups, rest.first(mine), times));
    rest = rest.subspan(mine);
  }
  return times;
}

}  // namespace hone::runtime

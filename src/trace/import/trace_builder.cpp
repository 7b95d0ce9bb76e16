#include "trace/import/trace_builder.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

namespace hone::trace {
namespace {

template <typename Detail>
std::vector<Detail> moved(std::vector<Detail> details, const std::vector<uint32_t>& place) {
  for (Detail& detail : details) detail.span = place[detail.span];
  std::sort(details.begin(), details.end(), [](const Detail& a, const Detail& b) { return a.span < b.span; });
  return details;
}

}  // namespace

void TraceBuilder::set_process(int64_t pid, std::string name) {
  pid_ = pid;
  process_ = trace.add_track({TrackKind::kProcess, std::move(name), {}, pid, pid});
}

TrackId TraceBuilder::thread(int64_t tid) {
  const auto [at, added] = tracks_.try_emplace({-1, tid});
  if (added)
    at->second = trace.add_track({TrackKind::kThread, fmt::format("thread {}", tid), process_, pid_, tid});
  return at->second;
}

TrackId TraceBuilder::stream(int device, int64_t stream) {
  const auto [at, added] = tracks_.try_emplace({device, stream});
  if (added)
    at->second =
        trace.add_track({TrackKind::kStream, stream < 0 ? "whole context" : fmt::format("stream {}", stream),
                         process_, pid_, stream, 0, device});
  return at->second;
}

ImportedFile TraceBuilder::finish(int64_t epoch_ns, bool has_epoch) && {
  std::vector<uint32_t> order(spans_.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return spans_[a].start_ns != spans_[b].start_ns ? spans_[a].start_ns < spans_[b].start_ns
                                                    : spans_[a].duration_ns > spans_[b].duration_ns;
  });
  const int64_t first = order.empty() ? 0 : spans_[order.front()].start_ns;
  std::vector<uint32_t> place(spans_.size());
  trace.spans.reserve(spans_.size());
  for (uint32_t i = 0; i < order.size(); ++i) {
    Span span = spans_[order[i]];
    place[order[i]] = i;
    span.start_ns -= first;
    trace.spans.add(span);
  }
  trace.calls = moved(std::move(calls_), place);
  trace.launches = moved(std::move(launches_), place);
  trace.copies = moved(std::move(copies_), place);
  trace.collectives = moved(std::move(collectives_), place);
  ImportedFile file;
  file.trace = std::move(trace);
  file.epoch_ns = epoch_ns + first;
  file.has_epoch = has_epoch;
  return file;
}

}  // namespace hone::trace

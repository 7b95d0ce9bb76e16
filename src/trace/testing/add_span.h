// Rows of traces made up by hand, for tests: a process and its tracks, a span, a call with the work that it
// launches, a collective. Times in µs. Not part of the product.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include "trace/link/names.h"
#include "trace/trace.h"

namespace hone::trace {

inline TrackId add_process(Trace& trace, int rank = 0) {
  return trace.add_track({TrackKind::kProcess, "python", {}, 1, 1, rank, -1});
}

inline TrackId add_thread(Trace& trace, TrackId process, std::string name = "main", int64_t tid = 1) {
  const Track owner = trace.tracks[process.index];
  return trace.add_track({TrackKind::kThread, std::move(name), process, owner.pid, tid, owner.rank, -1});
}

inline TrackId add_stream(Trace& trace, TrackId process, int64_t number = 7, int device = 0) {
  const Track owner = trace.tracks[process.index];
  return trace.add_track({TrackKind::kStream, "stream " + std::to_string(number), process, owner.pid, number,
                          owner.rank, device});
}

// What a test says of a span; what it leaves out does not matter to it.
struct SpanWords {
  TrackId on;
  Category category = Category::kOther;
  std::string_view name = {};
  double from_us = 0;
  double us = 0;
  int32_t step = kNoStep;
  OperatorId op = {};
  uint64_t correlation = 0;
};

// Returns the span's row.
inline uint32_t add_span(Trace& trace, const SpanWords& span) {
  const StringId name = span.name.empty() ? StringId{} : trace.strings.intern(span.name);
  trace.spans.add({std::llround(span.from_us * 1e3), std::llround(span.us * 1e3), span.on, name,
                   span.category, span.step, span.op, span.correlation});
  const bool exists = span.on.index < trace.tracks.size();  // tests of damaged traces name others
  if (exists && trace.tracks[span.on.index].kind == TrackKind::kStream) link::recognise_kernel(trace, name);
  return static_cast<uint32_t>(trace.spans.size() - 1);
}

// A call on a thread that launches `work`, in its step; the two get a correlation that no test writes down.
// Returns the work's row.
inline uint32_t add_launch(Trace& trace, SpanWords call, SpanWords work) {
  call.category = Category::kRuntime;
  if (call.name.empty()) call.name = "cudaLaunchKernel";
  if (work.category == Category::kOther) work.category = Category::kKernel;
  call.step = work.step;
  call.correlation = work.correlation = (uint64_t{1} << 32) + trace.spans.size();
  add_span(trace, call);
  return add_span(trace, work);
}

// A collective of floats among `ranks`; `span` is the row of its work.
inline void describe_collective(Trace& trace, uint32_t span, std::string_view name, double elements,
                                std::string_view group = "0", uint32_t ranks = 2) {
  trace.collectives.push_back({span, trace.strings.intern(name), trace.strings.intern(group), ranks,
                               DType::kF32, elements, elements, collective_kind(name)});
}

}  // namespace hone::trace

// Traces of a training program made up for tests, as an importer hands them over. Not part of the product.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "trace/trace.h"

namespace hone::trace::link::fabricate {

// Spans go on one of three tracks: the main thread, the thread of the backward pass, a stream. Times in µs.
class Program {
 public:
  explicit Program(int rank = 0) {
    const TrackId process = trace.add_track({TrackKind::kProcess, "python", {}, 1, 1, rank, -1});
    main = trace.add_track({TrackKind::kThread, "main", process, 1, 1, rank, -1});
    backward = trace.add_track({TrackKind::kThread, "autograd", process, 1, 2, rank, -1});
    stream = trace.add_track({TrackKind::kStream, "stream 7", process, 1, 7, rank, 0});
  }

  uint32_t span(TrackId track, Category category, std::string_view name, int64_t start_us, int64_t us,
                uint64_t correlation = 0) {
    trace.spans.add(
        {start_us * 1000, us * 1000, track, trace.strings.intern(name), category, kNoStep, {}, correlation});
    return static_cast<uint32_t>(trace.spans.size() - 1);
  }

  uint32_t op(TrackId track, std::string_view name, int64_t start_us, int64_t us,
              std::string_view inputs = "", int64_t sequence = kNoSequence, uint64_t external = 0) {
    const uint32_t row = span(track, Category::kOperator, name, start_us, us);
    trace.calls.push_back(
        {row, inputs.empty() ? StringId{} : trace.strings.intern(inputs), sequence, external});
    return row;
  }

  // A call at `start_us` that launches a kernel of `us` at `run_us`. Returns the kernel's row.
  uint32_t kernel(TrackId thread, std::string_view name, int64_t start_us, int64_t run_us, int64_t us) {
    const uint64_t correlation = ++correlation_;
    span(thread, Category::kRuntime, "cudaLaunchKernel", start_us, 1, correlation);
    const uint32_t row = span(stream, Category::kKernel, name, run_us, us, correlation);
    trace.launches.push_back({row, 0, {1, 1, 1}, {32, 1, 1}, 0, 0, 0});
    return row;
  }

  const Operator& op_of(uint32_t row) const { return trace.operators[trace.spans.op[row].index]; }

  Trace trace;
  TrackId main, backward, stream;

 private:
  uint64_t correlation_ = 100;
};

}  // namespace hone::trace::link::fabricate

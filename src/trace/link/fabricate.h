// Traces of a training program made up for tests, as an importer hands them over. Not part of the product.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "trace/testing/add_span.h"

namespace hone::trace::link::fabricate {

// Spans go on one of three tracks: the main thread, the thread of the backward pass, a stream. Times in µs.
class Program {
 public:
  explicit Program(int rank = 0) {
    const TrackId process = add_process(trace, rank);
    main = add_thread(trace, process);
    backward = add_thread(trace, process, "autograd", 2);
    stream = add_stream(trace, process);
  }

  uint32_t span(TrackId track, Category category, std::string_view name, double start_us, double us,
                uint64_t correlation = 0) {
    return add_span(trace, {.on = track,
                            .category = category,
                            .name = name,
                            .from_us = start_us,
                            .us = us,
                            .correlation = correlation});
  }

  uint32_t op(TrackId track, std::string_view name, double start_us, double us, std::string_view inputs = "",
              int64_t sequence = kNoSequence, uint64_t external = 0) {
    const uint32_t row = span(track, Category::kOperator, name, start_us, us);
    trace.calls.push_back(
        {row, inputs.empty() ? StringId{} : trace.strings.intern(inputs), sequence, external});
    return row;
  }

  // A call at `start_us` that launches a kernel of `us` at `run_us`. Returns the kernel's row.
  uint32_t kernel(TrackId thread, std::string_view name, double start_us, double run_us, double us) {
    const uint32_t row = add_launch(trace, {.on = thread, .from_us = start_us, .us = 1},
                                    {.on = stream, .name = name, .from_us = run_us, .us = us});
    trace.launches.push_back({row, 0, {1, 1, 1}, {32, 1, 1}, 0, 0, 0});
    return row;
  }

  const Operator& op_of(uint32_t row) const { return trace.operators[trace.spans.op[row].index]; }

  Trace trace;
  TrackId main, backward, stream;
};

// The inputs of a call, as the program's trace tells them.
inline std::string_view inputs_of(const Program& program, uint32_t row) {
  return program.trace.strings.text(find_detail(program.trace.calls, row)->inputs);
}

}  // namespace hone::trace::link::fabricate

// Which lines of a program its host was at: samples of stacks, told by the line that its author would look at.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyze/cause.h"
#include "analyze/findings.h"
#include "trace/trace.h"

namespace hone::analyze {

// What the stack of a sample, and what the thread waited for, say that a device waits for meanwhile: the next batch,
// files, the compiler. Nothing: something else.
std::optional<Cause> cause_of_stack(const trace::Trace& trace, const trace::StackSample& sample);

// Whether a process that prepares batches for another one was at work, rather than waiting for its next order.
bool prepares_input(const trace::Trace& trace, const trace::StackSample& sample);

// The thread by which a process is judged: of those tracks the main thread, else the one with most samples; invalid:
// none of them was sampled.
trace::TrackId leading_thread(const trace::Trace& trace, std::span<const trace::TrackId> threads);

// The lines that most of the samples fall on, the most frequent first, no more than `most` and none below a hundredth:
// of each sample the innermost frame of the program's own code, where it has one, else the innermost of all.
// `main_pid` is that of the rank; other processes are those that it started.
std::vector<HostLine> host_lines(const trace::Trace& trace, std::span<const uint32_t> samples,
                                 int64_t main_pid, std::size_t most = 5);

// "collate (data.py:41): 38 % of 812 samples of the loader's processes, most of them in decode (decoder.py:353)".
std::string host_line_text(const HostLine& line);

}  // namespace hone::analyze

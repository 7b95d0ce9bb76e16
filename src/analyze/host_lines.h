// Which lines of a program its host was at: samples of stacks, told by the line that its author would look at.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyze/cause.h"
#include "analyze/findings.h"
#include "trace/trace.h"

namespace hone::analyze {

using LinesByCause = std::array<std::vector<HostLine>, kCauseCount>;

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

// What the processes that prepare batches for that one did while it waited for them: `waits` are moments when it did, in
// order, on the trace's clock. Empty: it has none, or they were not seen at work then.
std::vector<HostLine> lines_of_loaders(const trace::Trace& trace, int rank, int64_t main_pid,
                                       std::span<const int64_t> waits);

// Adds to the verdict's sentence the line that the host was at most while the device waited, or no operator ran, for the
// verdict's cause; nothing where its row of the ledger has none. The ledger must be there.
void tell_where(std::span<const LedgerRow> ledger, Verdict& verdict);

// By cause, the lines that a program without a device was at while no operator ran.
LinesByCause lines_between_operators(const trace::Trace& trace, int rank);

// Fewer samples of a cause say nothing.
inline constexpr std::size_t kLeastSamples = 5;

// Puts the first lines, as sentences, behind the first line of evidence.
void tell_lines(const std::vector<HostLine>& lines, std::vector<std::string>& evidence);

// "collate (data.py:41): 38 % of 812 samples of the loader's processes, most of them in decode (decoder.py:353)".
std::string host_line_text(const HostLine& line);

}  // namespace hone::analyze

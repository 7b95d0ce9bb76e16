// Where warps of kernels were found, and why they had not gone on: a row an instruction, over all launches of one geometry that
// were sampled, apart from the timeline (kernel_counters.h).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "trace/strings.h"

namespace hone::trace {

// Whether the source line of an instruction is known, and why not.
enum class LineInfo : uint8_t {
  kKnown,
  kNone,        // the code was compiled without line information
  kCodeUnseen,  // it was loaded before the recorder looked
};
std::string_view line_info_name(LineInfo info);  // "known", "none", "code unseen"

struct StallSamples {
  StringId reason = {};  // "long_scoreboard"
  uint64_t samples = 0;
  friend bool operator==(const StallSamples&, const StallSamples&) = default;
};

struct KernelSample {
  int rank = 0;
  int device = 0;
  StringId kernel = {};  // as the names of spans have it
  std::array<uint32_t, 3> grid = {};
  std::array<uint32_t, 3> block = {};
  StringId function = {};  // where the instruction is: the kernel, or what it calls
  uint64_t offset = 0;     // bytes, from the beginning of the function
  LineInfo line_info = LineInfo::kNone;
  StringId file = {};    // path of the source; invalid: not known
  uint32_t line = 0;     // from 1; 0: not known
  StringId source = {};  // the text of that line; invalid: nobody has read it
  std::vector<StallSamples> stalls = {};

  uint64_t samples() const;
  friend bool operator==(const KernelSample&, const KernelSample&) = default;
};

// "long_scoreboard" of "smsp__pcsamp_warps_issue_stalled_long_scoreboard", as counters of stalls name them.
std::string_view stall_reason(std::string_view counter);

// Names in range: an error names the first row that breaks a rule.
Status check_kernel_samples(const std::vector<KernelSample>& rows, std::size_t strings);

}  // namespace hone::trace

#include "trace/kernel_samples.h"

#include <algorithm>

#include <fmt/format.h>

namespace hone::trace {

std::string_view line_info_name(LineInfo info) {
  switch (info) {
    case LineInfo::kKnown:
      return "known";
    case LineInfo::kNone:
      return "none";
    case LineInfo::kCodeUnseen:
      break;
  }
  return "code unseen";
}

uint64_t KernelSample::samples() const {
  uint64_t all = 0;
  for (const StallSamples& each : stalls) all += each.samples;
  return all;
}

std::string_view stall_reason(std::string_view counter) {
  constexpr std::string_view kBefore = "_stalled_";
  const std::size_t at = counter.find(kBefore);
  if (at != counter.npos) counter.remove_prefix(at + kBefore.size());
  return counter == "no_instructions" ? "no_instruction" : counter;
}

Status check_kernel_samples(const std::vector<KernelSample>& rows, std::size_t strings) {
  const auto there = [&](StringId id) { return id.index < strings; };
  const auto there_or_none = [&](StringId id) { return !id.valid() || there(id); };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const KernelSample& row = rows[i];
    const bool stalls = std::all_of(row.stalls.begin(), row.stalls.end(),
                                    [&](const StallSamples& each) { return there(each.reason); });
    if (!stalls || !there(row.kernel) || !there(row.function) || !there_or_none(row.file) ||
        !there_or_none(row.source))
      return corrupt(fmt::format("trace: sampled instruction {} has a name that is not there", i));
    if ((row.line_info == LineInfo::kKnown) != (row.file.valid() && row.line > 0))
      return corrupt(fmt::format("trace: sampled instruction {} has half a source line", i));
  }
  return {};
}

}  // namespace hone::trace

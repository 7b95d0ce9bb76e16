#include "analyze/device/kernels/hot_lines.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

#include "analyze/device/kernels/kernel_study.h"
#include "trace/kernel_family.h"

namespace hone::analyze::device {
namespace {

using trace::KernelSample, trace::LineInfo;

constexpr double kLeastShare = 0.01;
// What warps wait for, where they do for a good part of the samples; otherwise that they are issued says more.
constexpr double kWorthWaiting = 0.2;

bool is_wait(std::string_view reason) { return reason != "selected" && reason != "not_selected"; }

struct LineSamples {
  const KernelSample* first = nullptr;
  double samples = 0;
  std::map<std::string_view, double> by_reason;

  void add(const KernelSample& sample, const trace::StringTable& strings) {
    if (first == nullptr) first = &sample;
    for (const trace::StallSamples& each : sample.stalls) {
      by_reason[strings.text(each.reason)] += static_cast<double>(each.samples);
      samples += static_cast<double>(each.samples);
    }
  }
  // The most frequent reason, with its samples.
  std::pair<std::string_view, double> leading() const {
    std::pair<std::string_view, double> all, waits;
    for (const auto& each : by_reason) {
      if (each.second > all.second) all = each;
      if (is_wait(each.first) && each.second > waits.second) waits = each;
    }
    return waits.second >= kWorthWaiting * samples ? waits : all;
  }
};

// The source line, or the instruction where that is not known.
auto place_of(const KernelSample& sample) {
  return sample.line_info == LineInfo::kKnown ? std::tuple(sample.file.index, uint64_t{sample.line}, true)
                                              : std::tuple(sample.function.index, sample.offset, false);
}

HotLine hot_line(const LineSamples& line, double all, const trace::StringTable& strings) {
  const KernelSample& sample = *line.first;
  HotLine row;
  if (sample.line_info == LineInfo::kKnown) {
    row.file = strings.text(sample.file);
    row.line = static_cast<int>(sample.line);
  }
  if (sample.source.valid()) row.source = strings.text(sample.source);
  row.function = trace::kernel_short_name(strings.text(sample.function));
  row.offset = static_cast<double>(sample.offset);
  row.samples = line.samples;
  row.share = line.samples / all;
  const auto [reason, samples] = line.leading();
  row.stall = reason;
  row.waits_for = stall_words(reason);
  row.stall_share = line.samples > 0 ? samples / line.samples : 0;
  return row;
}

}  // namespace

KernelLines hot_lines(const trace::Trace& trace, const CounterGroup& kernel) {
  std::map<decltype(place_of({})), LineSamples> by_place;
  std::array<double, 3> by_info = {};
  KernelLines found;
  for (const KernelSample& sample : trace.kernel_samples) {
    const bool of_kernel = sample.rank == kernel.rank && sample.device == kernel.device &&
                           sample.kernel == kernel.kernel && sample.grid == kernel.launch.grid &&
                           sample.block == kernel.launch.block;
    if (!of_kernel) continue;
    by_place[place_of(sample)].add(sample, trace.strings);
    found.samples += static_cast<double>(sample.samples());
    by_info[static_cast<std::size_t>(sample.line_info)] += static_cast<double>(sample.samples());
  }
  if (found.samples <= 0) return found;
  const auto most = std::max_element(by_info.begin(), by_info.end()) - by_info.begin();
  found.line_info = trace::line_info_name(static_cast<LineInfo>(most));
  for (const auto& [place, line] : by_place)
    if (line.samples >= kLeastShare * found.samples)
      found.lines.push_back(hot_line(line, found.samples, trace.strings));
  std::stable_sort(found.lines.begin(), found.lines.end(),
                   [](const HotLine& a, const HotLine& b) { return a.samples > b.samples; });
  found.lines.resize(std::min(found.lines.size(), kHotLines));
  return found;
}

}  // namespace hone::analyze::device

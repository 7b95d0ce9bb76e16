#include "report/timeline/merge.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "core/units.h"

namespace hone::report {
namespace {

using analyze::TimelineSpan;

constexpr double kStartMs = 1e-3;
constexpr int kRounds = 24;  // doubling from a microsecond: past any step

double end_of(const TimelineSpan& span) { return span.start_ms + span.ms; }

// Bars shorter than `below_ms` join the one before them where that is as short and as near.
MergedTimeline merge_below(const std::vector<TimelineSpan>& sorted, double below_ms) {
  MergedTimeline result;
  result.shorter_than_ms = below_ms;
  std::size_t held = 0;  // by the last bar, if it is of short ones
  for (const TimelineSpan& span : sorted) {
    const bool is_short = span.ms < below_ms;
    if (is_short && held > 0) {
      TimelineSpan& last = result.spans.back();
      if (last.track == span.track && last.depth == span.depth && span.start_ms - end_of(last) < below_ms) {
        last.ms = std::max(end_of(last), end_of(span)) - last.start_ms;
        last.name = fmt::format("{} short spans", ++held);
        last.kind = "merged";
        last.link = 0;
        ++result.merged;
        continue;
      }
    }
    result.spans.push_back(span);
    held = is_short ? 1 : 0;
  }
  return result;
}

}  // namespace

MergedTimeline merge_short(const std::vector<TimelineSpan>& spans, std::size_t limit) {
  std::vector<TimelineSpan> sorted = spans;
  std::stable_sort(sorted.begin(), sorted.end(), [](const TimelineSpan& a, const TimelineSpan& b) {
    return std::tuple(a.track, a.depth, a.start_ms) < std::tuple(b.track, b.depth, b.start_ms);
  });
  MergedTimeline result{std::move(sorted), 0, 0};
  if (result.spans.size() <= limit) return result;
  const std::vector<TimelineSpan> all = std::move(result.spans);
  double below = kStartMs;
  for (int round = 0; round < kRounds; ++round, below *= 2) {
    result = merge_below(all, below);
    if (result.spans.size() <= limit) break;
  }
  return result;
}

std::string merged_note(const MergedTimeline& timeline) {
  if (timeline.merged == 0) return "";
  return fmt::format("{} spans shorter than {} are merged with their neighbours; the trace has them all.",
                     format_count(static_cast<double>(timeline.merged)), format_ms(timeline.shorter_than_ms));
}

}  // namespace hone::report

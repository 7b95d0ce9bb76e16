// The timeline of the representative step: a static strip for readers without script, and the bars as data
// for the script that draws them for zooming (timeline/script.cpp).
#include <algorithm>

#include <fmt/format.h>

#include "core/units.h"
#include "report/html/parts.h"
#include "report/svg/timeline.h"
#include "report/timeline/data.h"
#include "report/timeline/merge.h"

namespace hone::report::html {
namespace {

using analyze::Analysis;

constexpr std::size_t kLaneSpans = 60'000;  // about 2 MB of the page
constexpr std::size_t kStripSpans = 1'200;  // drawn twice, wide and compact
constexpr int kLaneTracks = 64;             // a canvas has a largest height

// The timeline without the tracks that find no place on the page.
std::vector<analyze::TimelineSpan> placed(const Analysis& analysis) {
  std::vector<analyze::TimelineSpan> spans;
  for (const analyze::TimelineSpan& span : analysis.timeline)
    if (span.track >= 0 && span.track < kLaneTracks) spans.push_back(span);
  return spans;
}

// The step alone, without what the host did before it.
Markup strip(const Analysis& analysis, std::vector<analyze::TimelineSpan> spans) {
  Analysis drawn;
  drawn.step = analysis.step;
  drawn.timeline_tracks = analysis.timeline_tracks;
  std::erase_if(spans, [](const analyze::TimelineSpan& span) { return span.start_ms + span.ms <= 0; });
  for (analyze::TimelineSpan& span : spans) {
    const double before = std::max(0.0, -span.start_ms);
    span.start_ms += before;
    span.ms -= before;
  }
  drawn.timeline = merge_short(spans, kStripSpans).spans;
  return chart([&](const svg::Canvas& canvas) { return svg::timeline(drawn, nullptr, canvas); });
}

// What is neither an operator nor its kernels has colours of its own.
Markup kinds_legend(const std::vector<analyze::TimelineSpan>& spans) {
  constexpr std::pair<std::string_view, std::string_view> kKinds[] = {
      {"kind-sync", "waiting for the device"}, {"kind-comm", "communication"}, {"kind-alloc", "allocation"}};
  Markup entries;
  for (const auto& [css, label] : kKinds)
    if (std::any_of(spans.begin(), spans.end(), [css = css](const analyze::TimelineSpan& span) {
          return svg::kind_css(span.kind) == css;
        }))
      entries += tag("span", tag("i", {{"class", std::string(css)}}, Markup()) + Markup::text(label));
  return entries;
}

// Tracks that did something in the step and find no place.
std::string hidden_note(const Analysis& analysis) {
  const int more = analysis.timeline_left_out +
                   std::max(0, static_cast<int>(analysis.timeline_tracks.size()) - kLaneTracks);
  if (more == 0) return "";
  return fmt::format("{} {} not drawn; the trace has {}.",
                     counted(more, "more thread or stream", "more threads and streams"),
                     more == 1 ? "is" : "are", more == 1 ? "it" : "them");
}

}  // namespace

Markup step_part(const Analysis& analysis) {
  if (analysis.timeline.empty()) return {};
  const std::vector<analyze::TimelineSpan> spans = placed(analysis);
  const MergedTimeline merged = merge_short(spans, kLaneSpans);
  Markup lanes = tag("div", {{"id", "static-lanes"}}, strip(analysis, spans));
  lanes += tag("div", {{"id", "step-lanes"}}, Markup());
  lanes += Markup::literal("<script type=\"application/json\" id=\"timeline-data\">" +
                           timeline_json(analysis, merged) + "</script>");
  std::string notes = merged_note(merged);
  if (const std::string hidden = hidden_note(analysis); !hidden.empty())
    notes += (notes.empty() ? "" : " ") + hidden;
  Markup content =
      tag("div", {{"class", "card"}}, class_legend(analysis, nullptr, kinds_legend(spans)) + lanes);
  if (!notes.empty()) content += tag("p", {{"class", "notes"}}, prose(notes));
  const bool device = analysis.subject == analyze::Subject::kDeviceProgram;
  const std::string lead =
      device
          ? "The step nearest to the median: host threads with their nested calls, device streams below. It "
            "begins at 0; calls before that ran ahead of the device."
          : "The step nearest to the median: the host's threads with their nested calls.";
  return section("timeline", "One step",
                 lead +
                     " Click it: the wheel zooms, dragging or the arrow keys pan, + and − zoom, 0 shows all" +
                     (device ? "; a click on a launch follows it to its kernel." : "."),
                 content);
}

}  // namespace hone::report::html

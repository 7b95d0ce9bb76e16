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
constexpr std::size_t kIdleSpans = 12'000;  // the longest, of all ranks
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
  constexpr std::pair<std::string_view, std::string_view> kKinds[] = {{"kind-sync", "waiting for the device"},
                                                                      {"kind-comm", "communication"},
                                                                      {"kind-alloc", "allocation"},
                                                                      {"kind-input", "waiting for input"},
                                                                      {"kind-io", "waiting for files"}};
  Markup entries;
  for (const auto& [css, label] : kKinds)
    if (std::any_of(spans.begin(), spans.end(), [css = css](const analyze::TimelineSpan& span) {
          return svg::kind_css(span.kind) == css;
        }))
      entries += tag("span", tag("i", {{"class", std::string(css)}}, Markup()) + Markup::text(label));
  return entries;
}

// The longest gaps that find a place, by track and start.
std::vector<analyze::IdleSpan> long_gaps(std::vector<analyze::IdleSpan> gaps) {
  std::erase_if(gaps, [](const analyze::IdleSpan& gap) { return gap.track < 0 || gap.track >= kLaneTracks; });
  if (gaps.size() > kIdleSpans) {
    std::nth_element(gaps.begin(), gaps.begin() + kIdleSpans, gaps.end(),
                     [](const analyze::IdleSpan& a, const analyze::IdleSpan& b) { return a.ms > b.ms; });
    gaps.resize(kIdleSpans);
  }
  std::stable_sort(gaps.begin(), gaps.end(), [](const analyze::IdleSpan& a, const analyze::IdleSpan& b) {
    return std::pair(a.track, a.start_ms) < std::pair(b.track, b.start_ms);
  });
  return gaps;
}

// The causes of the gaps, in the ledger's order.
Markup idle_legend(const std::vector<analyze::IdleSpan>& gaps) {
  Markup entries;
  for (const analyze::Cause cause : analyze::all_causes())
    if (std::any_of(gaps.begin(), gaps.end(),
                    [cause](const analyze::IdleSpan& gap) { return gap.cause == cause; }))
      entries += tag("span", tag("i", {{"class", svg::cause_class(cause) + " gap"}}, Markup()) +
                                 Markup::text(fmt::format("idle: {}", analyze::cause_label(cause))));
  return entries;
}

// How to see the steps that are not drawn.
std::string other_steps(const Analysis& analysis) {
  const std::vector<double>& all = analysis.step.samples_ms;
  if (all.size() < 2 || analysis.subject != analyze::Subject::kDeviceProgram) return "";
  return fmt::format(
      "The slowest of the {} steps took {}: trace.pftrace beside this page has them all; open it at "
      "ui.perfetto.dev.",
      all.size(), fixed_ms(*std::max_element(all.begin(), all.end()), analysis.step.ms.median));
}

// Which rank is where.
std::string order_of_ranks(const Analysis& analysis) {
  if (analysis.ranks.size() < 2) return "";
  std::string text = fmt::format(" Rank {}, whose ledger this is, stands first", analysis.ledger_rank);
  if (analysis.late_rank)
    text += fmt::format(", then rank {}, for which it waits longest", analysis.late_rank->rank);
  return text + ".";
}

std::string early_launches(const Analysis& analysis) {
  const auto& tracks = analysis.timeline_tracks;
  if (std::none_of(tracks.begin(), tracks.end(),
                   [](const std::string& name) { return name.ends_with(": operators"); }))
    return "";
  return " Where the host launched the work of a stream long before, its calls are not drawn; a row above "
         "the stream names the operators.";
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

// Where in a line of evidence that names it first the name of a part stands; npos: another line.
std::size_t place_of_name(std::string_view line, std::string_view name) {
  for (const std::string_view before : {std::string_view(), std::string_view("before ")})
    if (line.starts_with(before) && line.substr(before.size()).starts_with(name) &&
        line.substr(before.size() + name.size()).starts_with(':'))
      return before.size();
  return std::string_view::npos;
}

}  // namespace

Markup place_link(const analyze::TimelinePlace& place, const Markup& name) {
  return tag("a",
             {{"class", "place"},
              {"href", "#timeline"},
              {"title", "show the longest in the timeline"},
              {"data-from", fmt::format("{:.0f}", place.start_ms * 1e6)},
              {"data-for", fmt::format("{:.0f}", place.ms * 1e6)}},
             name);
}

Markup evidence_line(std::string_view line, const std::vector<analyze::FindingPart>& parts) {
  for (const analyze::FindingPart& part : parts) {
    const std::size_t at = part.name.empty() ? std::string_view::npos : place_of_name(line, part.name);
    if (at == std::string_view::npos || !part.place) continue;
    return with_code(line.substr(0, at)) + place_link(*part.place, with_code(part.name)) +
           with_code(line.substr(at + part.name.size()));
  }
  return with_code(line);
}

Section step_part(const Analysis& analysis) {
  if (analysis.timeline.empty()) return {};
  const std::vector<analyze::TimelineSpan> spans = placed(analysis);
  const MergedTimeline merged = merge_short(spans, kLaneSpans);
  const std::vector<analyze::IdleSpan> gaps = long_gaps(analysis.idle);
  Markup lanes = tag("div", {{"id", "static-lanes"}}, strip(analysis, spans));
  lanes += tag("div", {{"id", "step-lanes"}}, Markup());
  lanes += Markup::literal("<script type=\"application/json\" id=\"timeline-data\">" +
                           timeline_json(analysis, merged, gaps) + "</script>");
  std::string notes = merged_note(merged);
  for (const std::string& note : {hidden_note(analysis), other_steps(analysis)})
    if (!note.empty()) notes += (notes.empty() ? "" : " ") + note;
  Markup content = tag("div", {{"class", "card"}},
                       class_legend(analysis, nullptr, kinds_legend(spans) + idle_legend(gaps)) + lanes);
  if (!notes.empty()) content += tag("p", {{"class", "notes"}}, prose(notes));
  const bool device = analysis.subject == analyze::Subject::kDeviceProgram;
  const std::string lead =
      device
          ? "The step nearest to the median: host threads with their nested calls, device streams below. It "
            "begins at 0; calls before that ran ahead of the device. Where a device is idle, the colour on "
            "its main stream is the cause." +
                order_of_ranks(analysis) + early_launches(analysis)
          : std::string("The step nearest to the median: the host's threads with their nested calls.") +
                (gaps.empty() ? "" : " Where its main thread runs no operator, the colour is the cause.");
  return section("timeline", "One step",
                 lead +
                     " Click it: the wheel zooms, dragging or the arrow keys pan, + and − zoom, 0 shows "
                     "all; dragging with Shift sums up what ran in a stretch" +
                     (device ? "; a click on a launch follows it to its kernel." : "."),
                 content);
}

}  // namespace hone::report::html

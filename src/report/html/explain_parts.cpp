// What only the explanation of a device's trace has: findings as cards, kernels, ranks and collectives, the
// numbers to steer by, the critical path. The timeline of the step is in step_part.cpp.
#include <algorithm>

#include <fmt/format.h>

#include "report/code_text.h"
#include "report/description/grids.h"
#include "report/device_words.h"
#include "report/html/parts.h"
#include "report/rank_words.h"
#include "report/sampled_words.h"
#include "report/svg/chart.h"
#include "report/text.h"
#include "report/words.h"

namespace hone::report::html {
namespace {

using analyze::Analysis;

constexpr std::size_t kKernelRows = 20;
constexpr std::size_t kPathRows = 30;
constexpr std::size_t kLongLine = 300;  // generated names run to thousands of characters

// What evidence names: of a straggler also what the late rank does.
std::vector<analyze::FindingPart> named_parts(const analyze::Finding& row, const Analysis& analysis) {
  std::vector<analyze::FindingPart> parts = row.parts;
  if (row.cause == analyze::Cause::kStraggler && analysis.late_rank)
    for (const analyze::RankOperator& op : analysis.late_rank->operators)
      parts.push_back({op.name, op.late_ms, op.late_calls, op.place});
  return parts;
}

Markup finding_card(const analyze::Finding& row, int number, const analyze::Analysis& analysis) {
  Markup head = tag("span", {{"class", "number"}}, fmt::format("{}", number));
  head += tag("h3", with_code(capitalised(row.fix.empty() ? row.title : row.fix)));
  const std::string gain = gain_sentence(row, analysis);
  if (!gain.empty()) head += tag("span", {{"class", "wins"}}, prose("wins " + gain));
  Markup inside = tag("div", {{"class", "finding-head"}}, head);
  Markup why = tag("span", {{"class", "chip-dot " + svg::cause_class(row.cause)}}, Markup());
  why += Markup::text(" ") + tag("b", analyze::cause_label(row.cause));
  if (!row.fix.empty()) why += with_code(": " + row.title);
  inside += tag("p", why);
  Markup items;
  const std::vector<analyze::FindingPart> parts = named_parts(row, analysis);
  for (const std::string& line : row.evidence)
    items += tag("li", evidence_line(shortened(clean_utf8(line), kLongLine), parts));
  if (!items.empty()) inside += tag("ul", items);
  if (!row.caveat.empty()) inside += tag("p", {{"class", "mind"}}, with_code("Note: " + row.caveat));
  return tag("div", {{"class", "card finding"}}, inside);
}

std::string more(std::size_t shown, std::size_t all) {
  return all > shown ? fmt::format(" The {} longest of {}.", shown, all) : "";
}

}  // namespace

Section findings_part(const Analysis& analysis) {
  Markup cards;
  int number = 0;
  for (const analyze::Finding& row : analysis.findings) cards += finding_card(row, ++number, analysis);
  if (cards.empty()) return {};
  return section(
      "findings", findings_heading(analysis),
      "What the verdict names first, then by predicted gain: from replaying the step without the fault, or "
      "from the time at the roofs." +
          std::string(gains_note(analysis).empty() ? "" : fmt::format(" {}.", gains_note(analysis))),
      tag("div", {{"class", "findings"}}, cards));
}

Section kernels_part(const Analysis& analysis) {
  if (analysis.kernels.empty()) return {};
  return section("kernels", "Kernels",
                 "All launches of a kernel in a step together; the colour is the cause of most of its time." +
                     more(std::min(kKernelRows, analysis.kernels.size()), analysis.kernels.size()),
                 table(kernel_grid(analysis, Form::kPage, kKernelRows)));
}

Section metrics_part(const Analysis& analysis) {
  if (analysis.targets.empty() && analysis.phases.empty()) return {};
  Markup content = table(metric_grid(analysis, Form::kPage));
  if (const std::string phases = phases_text(analysis); !phases.empty())
    content += tag("p", {{"class", "notes"}}, prose(phases + "."));
  if (analysis.coverage)
    content += tag("p", {{"class", "notes"}}, prose("Coverage: " + coverage_sentence(*analysis.coverage)));
  if (analysis.targets.empty())
    return section("metrics", "Phases", "What the step's time went to, by what the program did.", content);
  return section("metrics", "The numbers to steer by", "What each should be, and how it is computed.",
                 content);
}

Section sampled_part(const Analysis& analysis) {
  Markup content;
  for (const analyze::SampledDevice& device : shown_devices(analysis))
    content += tag("h4", sampled_heading(device)) + table(sampled_grid(analysis, device, Form::kPage));
  if (content.empty()) return {};
  return section("sampled", "The device over a step",
                 "Hardware counters of the whole device, sampled while nothing was recorded. The course of "
                 "the step is from mark "
                 "to mark on the host, over all sampled steps; trace.pftrace has every sample.",
                 content);
}

Section ranks_part(const Analysis& analysis) {
  Markup content;
  if (analysis.rank_summaries.size() > 1) {
    content += table(rank_grid(analysis, Form::kPage));
    if (has_lateness(analysis))
      content += tag("p", {{"class", "notes"}}, prose(fmt::format("{}.", lateness_note())));
  }
  if (!analysis.collectives.empty())
    content += tag("div", {{"class", content.empty() ? "" : "below"}},
                   table(collective_grid(analysis, Form::kPage)));
  if (content.empty()) return {};
  return section(
      "ranks", "Ranks and collectives",
      "A late rank makes the others wait: a straggler is known by when it arrives at collectives, not by how "
      "long they take. Busbw: bytes on the busiest link ÷ time from the last arrival to the end.",
      content);
}

Section late_rank_part(const Analysis& analysis) {
  if (late_operators(analysis).empty()) return {};
  return section("late-rank", late_title(analysis), late_note(analysis),
                 table(late_rank_grid(analysis, Form::kPage)));
}

Section path_part(const Analysis& analysis) {
  if (analysis.critical_path.empty()) return {};
  std::vector<analyze::PathSegment> rows = analysis.critical_path;
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.ms > b.ms; });
  rows.resize(std::min(kPathRows, rows.size()));
  return section("path", "The critical path",
                 "The longest chain of dependent work: only shortening what is on it shortens the step." +
                     more(rows.size(), analysis.critical_path.size()),
                 table(path_grid(analysis, Form::kPage, rows)));
}

}  // namespace hone::report::html

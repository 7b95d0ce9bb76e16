// What only the explanation of a device's trace has: findings as cards, kernels, ranks and collectives, the
// numbers to steer by, the critical path. The timeline of the step is in step_part.cpp.
#include <algorithm>

#include <fmt/format.h>

#include "core/units.h"
#include "report/device_words.h"
#include "report/html/parts.h"
#include "report/rank_words.h"
#include "report/svg/bars.h"
#include "report/text.h"
#include "report/words.h"

namespace hone::report::html {
namespace {

using analyze::Analysis;

constexpr std::size_t kKernelRows = 20;
constexpr std::size_t kPathRows = 30;
constexpr std::size_t kLongLine = 300;  // generated names run to thousands of characters

Markup name_cell(std::string_view name, std::string_view detail) {
  Markup inside = tag("code", {{"title", title_of(name, 90)}}, shortened(clean_utf8(name), 90));
  if (!detail.empty()) inside += tag("span", {{"class", "kind"}}, prose(detail));
  return tag("td", inside);
}

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
  head += tag("h3", prose(row.fix.empty() ? row.title : row.fix));
  const std::string gain = gain_sentence(row, analysis);
  if (!gain.empty()) head += tag("span", {{"class", "wins"}}, prose("wins " + gain));
  Markup inside = tag("div", {{"class", "finding-head"}}, head);
  Markup why = tag("span", {{"class", "chip-dot " + svg::cause_class(row.cause)}}, Markup());
  why += Markup::text(" ") + tag("b", analyze::cause_label(row.cause));
  if (!row.fix.empty()) why += prose(": " + row.title);
  inside += tag("p", why);
  Markup items;
  const std::vector<analyze::FindingPart> parts = named_parts(row, analysis);
  for (const std::string& line : row.evidence)
    items += tag("li", evidence_line(shortened(clean_utf8(line), kLongLine), parts));
  if (!items.empty()) inside += tag("ul", items);
  if (!row.caveat.empty()) inside += tag("p", {{"class", "mind"}}, prose("Mind: " + row.caveat));
  return tag("div", {{"class", "card finding"}}, inside);
}

Markup kernel_row(const analyze::KernelTime& row, double step_ms) {
  Markup name = tag("code", {{"title", shortened(clean_utf8(row.full_name), 400)}},
                    shortened(clean_utf8(row.name), 90)) +
                tag("span", {{"class", "kind"}}, prose(shortened(clean_utf8(kernel_detail(row, 160)), 240)));
  Markup cells = tag("td", name) + cell("takes", fixed_ms(row.ms, step_ms));
  cells +=
      tag("td", {{"class", "sharecell"}},
          Markup::text(format_percent(row.share)) + svg::share(row.share, svg::cause_class(row.main_cause)));
  cells += cell("launches", fmt::format("{:.0f}", row.launches));
  cells += cell("each", format_ms(row.mean_us * 1e-3));
  return tag("tr", {{"class", "single"}}, cells);
}

Markup metric_row(const analyze::Metric& row) {
  Markup cells =
      tag("td", Markup::text(shortened(clean_utf8(row.label), 80)) +
                    tag("span", {{"class", "kind"}}, prose(shortened(clean_utf8(metric_detail(row)), 300))));
  const std::string target = metric_target(row);
  cells += cell("is", shortened(clean_utf8(metric_value(row)), 24));
  cells += cell("target", shortened(clean_utf8(target), 24));
  cells +=
      tag("td", {{"class", "n"}}, tag("span", {{"class", row.reached() ? "yes" : "fail"}}, metric_mark(row)));
  return tag("tr", {{"class", "single"}}, cells);
}

Markup rank_rows(const Analysis& analysis) {
  const double step = analysis.step.ms.median;
  Markup rows;
  for (const analyze::RankSummary& row : analysis.rank_summaries) {
    Markup cells = name_cell(fmt::format("rank {}", rank_text(row)),
                             row.source + (row.device.empty() ? "" : ", " + row.device));
    cells += cell("step", fixed_ms(row.step_ms, step)) + cell("busy", format_percent(row.busy_share));
    cells += cell("computes", fixed_ms(row.compute_ms, step));
    cells += cell("latest", latest_text(row, step)) + cell("usually late", usually_late_text(row));
    cells += cell("waits", fixed_ms(row.waiting_ms, step));
    rows += tag("tr", {{"class", "single"}}, cells);
  }
  Markup head = Markup::literal(
      "<thead><tr><th></th><th class=\"n\">step</th><th class=\"n\">busy</th><th class=\"n\">computes</th>"
      "<th class=\"n\">latest</th><th class=\"n\">usually late</th><th class=\"n\">waits</th></tr></thead>");
  return tag("table", {{"class", "cards"}}, head + tag("tbody", rows));
}

Markup collective_rows(const Analysis& analysis) {
  const double step = analysis.step.ms.median;
  Markup rows;
  for (const analyze::CollectiveSummary& row : analysis.collectives) {
    const bool rated = row.bus_bytes_per_s > 0;
    Markup cells = name_cell(row.name, shortened(clean_utf8(row.group), 90));
    cells += cell("a step", fmt::format("{:.3g}", row.count)) + cell("bytes", format_bytes(row.bytes));
    cells += cell("takes", fixed_ms(row.ms, step)) + cell("exposed", fixed_ms(row.exposed_ms, step));
    cells += cell("busbw", rated ? format_byte_rate(row.bus_bytes_per_s) : "–");
    cells += cell("", rated && row.roof_bytes_per_s > 0 ? link_share(row) : "–");
    rows += tag("tr", {{"class", "single"}}, cells);
  }
  Markup head = Markup::literal(
      "<thead><tr><th>collective</th><th class=\"n\">a step</th><th class=\"n\">bytes</th>"
      "<th class=\"n\">takes</th><th class=\"n\">exposed</th><th class=\"n\">busbw</th>"
      "<th class=\"n\"></th></tr></thead>");
  return tag("table", {{"class", "cards"}}, head + tag("tbody", rows));
}

std::string more(std::size_t shown, std::size_t all) {
  return all > shown ? fmt::format(" The {} longest of {}.", shown, all) : "";
}

}  // namespace

Markup findings_part(const Analysis& analysis) {
  Markup cards;
  int number = 0;
  for (const analyze::Finding* row : ordered_findings(analysis))
    cards += finding_card(*row, ++number, analysis);
  if (cards.empty()) return {};
  return section(
      "findings", "What to change",
      "What the verdict names first, then the largest gain: that of the step replayed without the fault, or "
      "of the time at the roofs." +
          std::string(gains_note(analysis).empty() ? "" : fmt::format(" {}.", gains_note(analysis))),
      tag("div", {{"class", "findings"}}, cards));
}

Markup kernels_part(const Analysis& analysis) {
  if (analysis.kernels.empty()) return {};
  const std::size_t shown = std::min(kKernelRows, analysis.kernels.size());
  Markup body;
  for (std::size_t i = 0; i < shown; ++i) body += kernel_row(analysis.kernels[i], analysis.step.ms.median);
  Markup head = Markup::literal(
      "<thead><tr><th>kernel</th><th class=\"n\">time</th><th>share</th><th class=\"n\">launches</th>"
      "<th class=\"n\">mean</th></tr></thead>");
  return section("kernels", "Kernels",
                 "All launches of a kernel in a step together; the colour is the cause of most of its time." +
                     more(shown, analysis.kernels.size()),
                 tag("table", {{"class", "cards"}}, head + tag("tbody", body)));
}

Markup metrics_part(const Analysis& analysis) {
  if (analysis.targets.empty() && analysis.phases.empty()) return {};
  Markup body, content;
  for (const analyze::Metric& row : analysis.targets) body += metric_row(row);
  Markup head = Markup::literal(
      "<thead><tr><th></th><th class=\"n\">value</th><th class=\"n\">target</th><th></th></tr></thead>");
  if (!body.empty()) content += tag("table", {{"class", "cards"}}, head + tag("tbody", body));
  if (const std::string phases = phases_text(analysis); !phases.empty())
    content += tag("p", {{"class", "notes"}}, prose(phases + "."));
  if (analysis.coverage)
    content += tag("p", {{"class", "notes"}}, prose("Coverage: " + coverage_sentence(*analysis.coverage)));
  if (analysis.targets.empty())
    return section("metrics", "Phases", "What the step's time went to, by what the program did.", content);
  return section("metrics", "The numbers to steer by", "What each should be, and how it is computed.",
                 content);
}

Markup ranks_part(const Analysis& analysis) {
  Markup content;
  if (analysis.rank_summaries.size() > 1) {
    content += rank_rows(analysis);
    if (has_lateness(analysis))
      content += tag("p", {{"class", "notes"}}, prose(fmt::format("{}.", lateness_note())));
  }
  if (!analysis.collectives.empty())
    content += tag("div", {{"class", content.empty() ? "" : "below"}}, collective_rows(analysis));
  if (content.empty()) return {};
  return section("ranks", "Ranks and collectives",
                 "Who is late makes the others wait: arrival at collectives, not their duration, tells the "
                 "straggler. Busbw: bytes on the busiest link ÷ time from the last arrival to the end.",
                 content);
}

Markup late_rank_part(const Analysis& analysis) {
  const std::span<const analyze::RankOperator> operators = late_operators(analysis);
  if (operators.empty()) return {};
  const double step = analysis.step.ms.median;
  const std::string late = fmt::format("rank {}", analysis.late_rank->rank),
                    shown = fmt::format("rank {}", analysis.ledger_rank);
  Markup rows;
  for (const analyze::RankOperator& row : operators) {
    const std::string name = clean_utf8(operator_name(row.name, row.kind).head);
    const Markup code = tag("code", {{"title", title_of(name, 64)}}, shortened(name, 64));
    const std::string inputs = clean_utf8(late_inputs(row, analysis));
    Markup cells = tag("td", (row.place ? place_link(*row.place, code) : code) +
                                 tag("span", {{"class", "kind"}}, prose(clipped(inputs, 180))));
    cells += cell(late, row.late_calls > 0 ? fixed_ms(row.late_ms, step) : "–");
    cells += cell("calls", calls_text(row.late_calls));
    cells += cell(shown, row.shown_calls > 0 ? fixed_ms(row.shown_ms, step) : "–");
    cells += cell("calls", calls_text(row.shown_calls));
    cells += cell("difference", signed_ms(row.late_ms - row.shown_ms, step));
    rows += tag("tr", {{"class", "single"}}, cells);
  }
  const auto number = [](std::string_view text) { return tag("th", {{"class", "n"}}, text); };
  const Markup head = tag("th", "operator") + number(late) + number("calls") + number(shown) +
                      number("calls") + number("difference");
  return section("late-rank", late_title(analysis), late_note(analysis),
                 tag("table", {{"class", "cards"}}, tag("thead", tag("tr", head)) + tag("tbody", rows)));
}

Markup path_part(const Analysis& analysis) {
  if (analysis.critical_path.empty()) return {};
  std::vector<const analyze::PathSegment*> rows;
  for (const analyze::PathSegment& row : analysis.critical_path) rows.push_back(&row);
  std::stable_sort(rows.begin(), rows.end(), [](const auto* a, const auto* b) { return a->ms > b->ms; });
  rows.resize(std::min(kPathRows, rows.size()));
  Markup body;
  for (const analyze::PathSegment* row : rows) {
    Markup cells = name_cell(row->name, shortened(clean_utf8(row->track), 90));
    cells += cell("kind", shortened(clean_utf8(row->kind), 20)) +
             cell("from", fixed_ms(row->start_ms, analysis.step.ms.median));
    cells += cell("takes", fixed_ms(row->ms, analysis.step.ms.median));
    body += tag("tr", {{"class", "single"}}, cells);
  }
  Markup head = Markup::literal(
      "<thead><tr><th>stretch</th><th class=\"n\">kind</th><th class=\"n\">from</th><th "
      "class=\"n\">takes</th></tr></thead>");
  return section(
      "path", "The critical path",
      "The longest chain of things that waited for each other: only what stands on it shortens the "
      "step." +
          more(rows.size(), analysis.critical_path.size()),
      tag("table", {{"class", "cards"}}, head + tag("tbody", body)));
}

}  // namespace hone::report::html

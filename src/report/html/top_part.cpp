// The operators that take the most time, the roofline, the timeline.
#include <set>

#include <fmt/format.h>

#include "core/units.h"
#include "report/html/parts.h"
#include "report/svg/bars.h"
#include "report/svg/roofline.h"
#include "report/svg/timeline.h"
#include "report/text.h"
#include "report/words.h"

namespace hone::report::html {
namespace {

trace::OperatorClass class_of(const analyze::Analysis& side, uint32_t op) {
  for (const analyze::OperatorTime& row : side.operators)
    if (row.op == op) return row.op_class;
  return trace::OperatorClass::kOther;
}

Markup operator_rows(const analyze::TopOperator& row, std::string_view css, double step_ms) {
  Markup cells = tag("td", {{"class", "n rank"}}, fmt::format("{}", row.rank));
  const OperatorName name = operator_name(row.name, row.kind);
  cells += tag("td", tag("code", {{"title", title_of(name.head, 64)}}, shortened(clean_utf8(name.head), 64)) +
                         tag("span", {{"class", "kind"}},
                             clipped(clean_utf8(name.inputs.empty() ? row.kind : name.inputs), 90)));
  cells += cell("takes", fixed_ms(row.ms, step_ms));
  cells += tag("td", {{"class", "sharecell"}},
               Markup::text(format_percent(row.share)) + svg::share(row.share, css));
  cells += cell("does", row.flops > 0 ? format_flops(row.flops) : "–");
  cells += cell("moves", row.bytes > 0 ? format_bytes(row.bytes) : "–");
  cells += cell("at", row.bytes > 0 ? format_intensity(row.intensity) : "–");
  cells += cell("roof", row.roof == "unknown" ? "–" : row.roof);
  cells += cell("reaches", roof_share(row));
  Markup why = tag("td", {{"class", "rank"}}, Markup()) + Markup::literal("<td colspan=\"8\">") +
               prose(row.why) + Markup::literal("</td>");
  return tag("tr", {{"class", "main"}}, cells) + tag("tr", {{"class", "why"}}, why);
}

Markup table(const analyze::Analysis& side) {
  Markup head = Markup::literal(
      "<thead><tr><th class=\"n\"></th><th>operator</th><th class=\"n\">time</th><th>share</th><th "
      "class=\"n\">work</th>"
      "<th class=\"n\">traffic</th><th class=\"n\">intensity</th><th class=\"n\">roof</th>"
      "<th class=\"n\">of roof</th></tr></thead>");
  Markup body;
  for (const analyze::TopOperator& row : side.top)
    body += operator_rows(row, svg::operator_class_css(class_of(side, row.op)), side.step.ms.median);
  return tag("table", {{"class", "cards"}}, head + tag("tbody", body));
}

}  // namespace

Markup class_legend(const analyze::Analysis& before, const analyze::Analysis* after, const Markup& extra) {
  std::set<trace::OperatorClass> classes;
  for (const analyze::Analysis* side : {&before, after})
    if (side != nullptr)
      for (const analyze::TimelineSpan& span : side->timeline) classes.insert(span.op_class);
  Markup entries;
  for (trace::OperatorClass op_class : classes)
    entries += tag("span", tag("i", {{"class", svg::operator_class_css(op_class)}}, Markup()) +
                               Markup::text(trace::operator_class_name(op_class)));
  return tag("div", {{"class", "legend"}}, entries + extra);
}

Markup top_part(const analyze::Analysis& before, const analyze::Analysis* after) {
  if (before.top.empty()) return {};
  Markup content =
      after == nullptr ? table(before) : tabs("top-rows", "Before", table(before), "After", table(*after));
  return section("top", most_time(before.top.size(), "operator"),
                 fmt::format("Each kernel against the roof that bounds it, with the reason in words. {}",
                             kernel_flops_note()),
                 content);
}

Markup roofline_part(const Roofs& roofs, const analyze::Analysis& before, const analyze::Analysis* after) {
  Markup charts =
      chart([&](const svg::Canvas& canvas) { return svg::roofline(roofs, before, after, canvas); });
  if (charts.empty()) return {};
  const bool has_lines = !roofs.compute.empty() || !roofs.memory.empty() || !before.roof_lines.empty();
  Markup sides;
  if (after != nullptr)
    sides =
        Markup::literal("<span><i class=\"ring\"></i>before</span><span><i class=\"dot\"></i>after</span>");
  return section(
      "roofline", "Roofline",
      std::string("Each point is an operator by the FLOPs that its kernel executes, its area the "
                  "time it takes; ") +
          (has_lines ? "the lines are what this machine was measured to reach. Points far below "
                       "their line have room."
                     : "what the machine can reach is not known, so there are no lines above them.") +
          " Numbers are the ranks above.",
      tag("div", {{"class", "card"}}, class_legend(before, after, sides) + charts));
}

Markup timeline_part(const analyze::Analysis& before, const analyze::Analysis* after) {
  if (before.timeline.empty()) return {};
  Markup charts = chart([&](const svg::Canvas& canvas) { return svg::timeline(before, after, canvas); });
  return section("timeline", "One step",
                 "The step nearest to the median, operator by operator, on one time axis.",
                 tag("div", {{"class", "card"}}, class_legend(before, after, Markup()) + charts));
}

}  // namespace hone::report::html

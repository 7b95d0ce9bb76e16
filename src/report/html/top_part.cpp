// The operators that take the most time, the roofline, the timeline.
#include <set>

#include <fmt/format.h>

#include "report/description/grids.h"
#include "report/html/parts.h"
#include "report/svg/roofline.h"
#include "report/svg/timeline.h"
#include "report/text.h"
#include "report/words.h"

namespace hone::report::html {
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

Section top_part(const analyze::Analysis& before, const analyze::Analysis* after) {
  const std::string_view noun = top_noun(before);
  if (before.top.empty() || noun.empty()) return {};
  Markup content = after == nullptr ? table(top_grid(before, Form::kPage))
                                    : tabs("top-rows", "Before", table(top_grid(before, Form::kPage)),
                                           "After", table(top_grid(*after, Form::kPage)));
  return section("top", most_time(before.top.size(), noun),
                 fmt::format("Each kernel against the roof that bounds it, with the reason in words. {}",
                             kernel_flops_note()),
                 content, fmt::format("Top {}s", noun));
}

Section roofline_part(const Roofs& roofs, const analyze::Analysis& before, const analyze::Analysis* after) {
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
          " Numbers are the ranks above. Operators without arithmetic, or of unknown cost, have no point.",
      tag("div", {{"class", "card"}}, class_legend(before, after, sides) + charts));
}

Section timeline_part(const analyze::Analysis& before, const analyze::Analysis* after) {
  if (before.timeline.empty()) return {};
  Markup charts = chart([&](const svg::Canvas& canvas) { return svg::timeline(before, after, canvas); });
  return section("timeline", "One step",
                 "The step nearest to the median, operator by operator, on one time axis.",
                 tag("div", {{"class", "card"}}, class_legend(before, after, Markup()) + charts));
}

}  // namespace hone::report::html

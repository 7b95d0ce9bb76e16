// The ledger: the waterfall, and under it every row with its evidence and fix.
#include <fmt/format.h>

#include "core/units.h"
#include "report/description/memory_fields.h"
#include "report/html/parts.h"
#include "report/svg/waterfall.h"
#include "report/text.h"
#include "report/words.h"

namespace hone::report::html {
namespace {

Markup evidence(const analyze::Analysis& side, const analyze::LedgerRow& row) {
  std::vector<analyze::FindingPart> parts;
  for (const analyze::Finding& finding : side.findings)
    if (finding.cause == row.cause) parts.insert(parts.end(), finding.parts.begin(), finding.parts.end());
  Markup items;
  for (const std::string& line : row.evidence) items += tag("li", evidence_line(line, parts));
  Markup inside = tag("p", with_code(row.title + ".")) + tag("ul", items);
  if (!row.fix.empty()) inside += tag("p", tag("b", "What to do: ") + with_code(row.fix + "."));
  if (!row.caveat.empty()) inside += tag("p", with_code("Note: " + row.caveat + "."));
  return tag("div", {{"class", "evidence"}}, inside);
}

Markup ledger_row(const analyze::Analysis& side, const analyze::LedgerRow& row) {
  const double step_ms = side.step.ms.median;
  Markup summary = tag("span", {{"class", "chip-dot " + svg::cause_class(row.cause)}}, Markup());
  summary += tag("span", row_label(side, row.cause));
  summary += tag("span", {{"class", "n"}}, fixed_ms(row.ms, step_ms));
  summary += tag("span", {{"class", "n"}}, format_percent(row.share));
  summary += tag("span", {{"class", "gain-note"}}, gain_text(row, step_ms));
  summary += tag("span", {{"class", "more"}, {"aria-hidden", "true"}}, "›");
  return tag("details", tag("summary", summary) + evidence(side, row));
}

Markup rows(const analyze::Analysis& side) {
  Markup all = tag("div", {{"class", "heads"}},
                   Markup::literal("<span></span><span></span><span>per step</span><span>share</span>"
                                   "<span>a fix could win</span><span></span>"));
  for (const analyze::LedgerRow& row : side.ledger) all += ledger_row(side, row);
  return all;
}

}  // namespace

Section ledger_part(const analyze::Analysis& before, const analyze::Analysis* after) {
  if (is_of_memory_alone(before)) return {};
  Markup content;
  if (after != nullptr)
    content += Markup::literal(
        "<div class=\"legend\"><span><i class=\"pale\"></i>before</span><span><i "
        "class=\"full\"></i>after</span></div>");
  content += chart([&](const svg::Canvas& canvas) { return svg::waterfall(before, after, canvas); });
  Markup card = tag("div", {{"class", "card"}}, content);
  Markup details =
      after == nullptr ? rows(before) : tabs("ledger-rows", "Before", rows(before), "After", rows(*after));
  return section(
      "ledger", "Where the time goes",
      std::string("The step, split by cause. Rows do not overlap and add up to the whole; ") +
          (before.floor_known
               ? "the floor is what this machine needs at its roofs with the cheapest known algorithms."
               : "without roofs nothing says how much of the busy time is needed.") +
          " Open a row for the evidence.",
      card + tag("div", {{"style", "margin-top:24px"}}, details));
}

}  // namespace hone::report::html

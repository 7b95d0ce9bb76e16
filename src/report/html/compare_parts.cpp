// The parts of a comparison's page: what changed by cause and by operator.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/units.h"
#include "report/html/parts.h"
#include "report/rank_words.h"
#include "report/svg/bars.h"
#include "report/text.h"
#include "report/words.h"

namespace hone::report::html {
namespace {

constexpr std::size_t kOperatorRows = 40;

// How sure a change is; what takes longer now is no good news.
Markup certainty_cell(analyze::Certainty certainty, double change_ms) {
  const std::string_view words = certainty_words(certainty);
  if (words.empty()) return tag("td", Markup());
  const bool certain = certainty == analyze::Certainty::kSure || certainty == analyze::Certainty::kLikely;
  return tag("td", {{"class", "n"}},
             tag("span",
                 {{"class", !certain        ? "no"
                            : change_ms > 0 ? "fail"
                                            : "yes"}},
                 words));
}

Markup bar_cell(double ms, double largest, const std::string& css) {
  return tag("td", {{"class", "sharecell alone"}}, svg::share(largest > 0 ? ms / largest : 0, css));
}

}  // namespace

Section compare_causes_part(const analyze::Comparison& comparison) {
  if (comparison.ledger.empty()) return {};
  const double step = std::max(comparison.a_ms.median, comparison.b_ms.median);
  double largest = 0;
  for (const analyze::CauseChange& row : comparison.ledger) largest = std::max({largest, row.a_ms, row.b_ms});
  Markup body;
  auto add = [&](std::string_view label, const std::string& css, double a, double b, bool bars,
                 const analyze::Difference& difference) {
    Markup name =
        css.empty() ? Markup() : tag("span", {{"class", "chip-dot " + css}}, Markup()) + Markup::text(" ");
    Markup cells = tag("td", name + tag(bars ? "span" : "b", label));
    cells += cell("first", fixed_ms(a, step)) + (bars ? bar_cell(a, largest, css) : tag("td", Markup()));
    cells += cell("second", fixed_ms(b, step)) + (bars ? bar_cell(b, largest, css) : tag("td", Markup()));
    cells += cell("change", signed_ms(b - a, step)) + certainty_cell(difference.certainty, b - a);
    body += tag("tr", {{"class", "single"}}, cells);
  };
  for (const analyze::CauseChange& row : comparison.ledger)
    add(analyze::cause_label(row.cause), svg::cause_class(row.cause), row.a_ms, row.b_ms, true,
        row.difference);
  add("step", "", comparison.a_ms.median, comparison.b_ms.median, false, comparison.difference);
  Markup head = Markup::literal(
      "<thead><tr><th></th><th class=\"n\">first</th><th></th><th class=\"n\">second</th><th></th>"
      "<th class=\"n\">change</th><th></th></tr></thead>");
  return section("causes", "By cause", "The two ledgers, row by row; each adds up to its step.",
                 tag("table", {{"class", "cards"}}, head + tag("tbody", body)));
}

Section compare_findings_part(const analyze::Comparison& comparison) {
  if (comparison.findings.empty()) return {};
  const double step = std::max(comparison.a_ms.median, comparison.b_ms.median);
  Markup body;
  for (const analyze::RuleChange& row : comparison.findings) {
    Markup cells = tag("td", Markup::text(rule_change_name(row)) +
                                 tag("span", {{"class", "kind"}}, analyze::cause_label(row.cause)));
    cells += cell("first", row.a_ms > 0 ? fixed_ms(row.a_ms, step) : "–", row.a_ms);
    cells += cell("second", row.b_ms > 0 ? fixed_ms(row.b_ms, step) : "–", row.b_ms);
    cells += cell("change", signed_ms(row.b_ms - row.a_ms, step), row.b_ms - row.a_ms);
    body += tag("tr", {{"class", "single"}}, cells);
  }
  Markup head = Markup::literal(
      "<thead><tr><th>finding</th><th class=\"n\">first</th><th class=\"n\">second</th>"
      "<th class=\"n\">change</th></tr></thead>");
  return section("findings", "By finding", std::string(rule_changes_note()),
                 tag("table", {{"class", "cards sortable"}}, head + tag("tbody", body)));
}

Section compare_operators_part(const analyze::Comparison& comparison) {
  if (comparison.operators.empty()) return {};
  const double step = std::max(comparison.a_ms.median, comparison.b_ms.median);
  const std::size_t changed = changed_operators(comparison), shown = std::min(kOperatorRows, changed);
  if (changed == 0)
    return section("operators", "By operator", "No operator changes by 0.1 % of the step.", Markup());
  Markup body;
  for (std::size_t i = 0; i < shown; ++i) {
    const analyze::OperatorChange& row = comparison.operators[i];
    const ChangeName name = change_name(row);
    Markup title = tag("code", shortened(clean_utf8(name.head), 90));
    if (!name.detail.empty())
      title += tag("span", {{"class", "kind"}}, shortened(clean_utf8(name.detail), 200));
    Markup cells = tag("td", title);
    cells += cell("first", row.a.empty() ? "–" : fixed_ms(row.a_ms, step), row.a_ms);
    cells += cell("second", row.b.empty() ? "–" : fixed_ms(row.b_ms, step), row.b_ms);
    cells += cell("change", signed_ms(row.b_ms - row.a_ms, step), row.b_ms - row.a_ms);
    cells += certainty_cell(row.difference.certainty, row.b_ms - row.a_ms);
    body += tag("tr", {{"class", "single"}}, cells);
  }
  Markup head = Markup::literal(
      "<thead><tr><th>operator</th><th class=\"n\">first</th><th class=\"n\">second</th>"
      "<th class=\"n\">change</th><th></th></tr></thead>");
  std::string lead = fmt::format(
      "Largest change first. Sure: the interval over the steps of both excludes no change. Likely: too few "
      "steps for that, but all of one lie above all of the other. Changes below {:.0f} % of an operator or "
      "{:.0f} % of the step are not marked: recordings of one program differ as much.",
      std::max(analyze::kPartDrift, comparison.drift) * 100, analyze::kPartOfStep * 100);
  if (changed > shown) lead += fmt::format(" The first {} of {}.", shown, changed);
  return section("operators", "By operator", lead,
                 tag("table", {{"class", "cards sortable"}}, head + tag("tbody", body)));
}

Section compare_elsewhere_part(const analyze::Comparison& comparison) {
  if (comparison.elsewhere.empty()) return {};
  const double step = std::max(comparison.a_ms.median, comparison.b_ms.median);
  const std::size_t shown = std::min(kOperatorRows, comparison.elsewhere.size());
  Markup body;
  for (std::size_t i = 0; i < shown; ++i) {
    const analyze::ElsewhereChange& row = comparison.elsewhere[i];
    const OperatorName name = operator_name(row.name, row.kind);
    Markup cells =
        tag("td", tag("code", shortened(clean_utf8(name.head), 90)) +
                      tag("span", {{"class", "kind"}}, prose(shortened(clean_utf8(name.inputs), 200))));
    cells += cell("on", elsewhere_ranks(row));
    cells += cell("first", row.a_ranks.empty() ? "–" : fixed_ms(row.a_ms, step), row.a_ms);
    cells += cell("second", row.b_ranks.empty() ? "–" : fixed_ms(row.b_ms, step), row.b_ms);
    cells += cell("change", signed_ms(row.b_ms - row.a_ms, step), row.b_ms - row.a_ms);
    cells += certainty_cell(row.difference.certainty, row.b_ms - row.a_ms);
    body += tag("tr", {{"class", "single"}}, cells);
  }
  Markup head = Markup::literal(
      "<thead><tr><th>operator</th><th class=\"n\">on</th><th class=\"n\">first</th>"
      "<th class=\"n\">second</th><th class=\"n\">change</th><th></th></tr></thead>");
  std::string lead = elsewhere_note(comparison);
  if (comparison.elsewhere.size() > shown)
    lead += fmt::format(" The first {} of {}.", shown, comparison.elsewhere.size());
  return section("elsewhere", elsewhere_title(), lead,
                 tag("table", {{"class", "cards sortable"}}, head + tag("tbody", body)));
}

}  // namespace hone::report::html

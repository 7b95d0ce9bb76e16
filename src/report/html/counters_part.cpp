// Kernels under the hardware counters on the page: a table, then a card for each.
#include <algorithm>

#include <fmt/format.h>

#include "report/code_text.h"
#include "report/counter_words.h"
#include "report/description/grids.h"
#include "report/html/parts.h"
#include "report/text.h"
#include "report/words.h"

namespace hone::report::html {
namespace {

using analyze::CountedKernel, analyze::KernelFinding;

constexpr std::size_t kCards = 20;

Markup wrong_card(const KernelFinding& row) {
  Markup line = tag("b", row.title) + with_code(": " + row.fix);
  if (const std::string gain = kernel_gain_text(row); !gain.empty())
    line += Markup::text(" ") + tag("span", {{"class", "wins"}}, prose("wins " + gain));
  Markup items;
  for (const std::string& each : row.evidence) items += tag("li", prose(each));
  return tag("p", line) + tag("ul", items);
}

Markup counted_card(const analyze::Analysis& analysis, const CountedKernel& kernel, std::size_t number) {
  Markup head = tag("span", {{"class", "number"}}, fmt::format("{}", number));
  head += tag("h3", tag("code", shortened(clean_utf8(kernel.name), 90)));
  Markup inside = tag("div", {{"class", "finding-head"}}, head);
  inside += tag("p", {{"class", "mind"}}, prose(launch_text(kernel)));
  inside += tag("p", prose(capitalised(kernel.sentence)));
  for (const KernelFinding& row : kernel.findings) inside += wrong_card(row);
  if (!kernel.disagreement.empty())
    inside += tag("p", {{"class", "mind"}}, prose("Note: " + kernel.disagreement));
  if (!kernel.lines.empty()) {
    inside += tag("h4", lines_title(kernel)) + table(hot_line_grid(analysis, kernel, Form::kPage));
    if (const std::string note = lines_note(kernel); !note.empty())
      inside += tag("p", {{"class", "mind"}}, prose(capitalised(note) + "."));
  }
  Markup tables;
  for (const std::string_view section : figure_sections(kernel))
    tables += tag("h4", capitalised(std::string(section))) +
              table(figure_grid(analysis, kernel, section, Form::kPage));
  inside += tag("details", tag("summary", "Its counters") + tables);
  return tag("div", {{"class", "card finding"}}, inside);
}

}  // namespace

Section counters_part(const analyze::Analysis& analysis) {
  if (analysis.counted_kernels.empty()) return {};
  Markup cards;
  const std::size_t shown = std::min(kCards, analysis.counted_kernels.size());
  for (std::size_t i = 0; i < shown; ++i) cards += counted_card(analysis, analysis.counted_kernels[i], i + 1);
  return section(
      "counters", "Kernels under the counters", fmt::format("{}.", counters_note(analysis)),
      table(counted_grid(analysis, Form::kPage)) + tag("div", {{"class", "findings below"}}, cards),
      "Counters");
}

Section compare_counters_part(const analyze::Comparison& comparison) {
  if (comparison.kernels.empty()) return {};
  Markup cards;
  std::size_t number = 0;
  for (const analyze::KernelChange& kernel : comparison.kernels) {
    if (++number > kCards) break;
    Markup head = tag("span", {{"class", "number"}}, fmt::format("{}", number));
    head += tag("h3", tag("code", shortened(clean_utf8(kernel.name), 90)));
    Markup rows;
    for (const analyze::FigureChange& row : kernel.figures) {
      Markup cells = tag("td", tag("span", row.label) + tag("span", {{"class", "kind"}}, row.section));
      cells += cell("first", figure_text(row.a, row.unit)) + cell("second", figure_text(row.b, row.unit));
      cells += cell("change", has_changed(row) ? figure_change_text(row) : "");
      rows += tag("tr", {{"class", "single"}}, cells);
    }
    const Markup heads = Markup::literal(
        "<thead><tr><th>counter</th><th class=\"n\">first</th><th class=\"n\">second</th>"
        "<th class=\"n\">change</th></tr></thead>");
    Markup words = tag("p", prose(kernel_change_text(kernel)));
    if (const std::string hottest = hot_line_change_text(kernel); !hottest.empty())
      words += tag("p", prose(capitalised(hottest)));
    cards += tag("div", {{"class", "card finding"}},
                 tag("div", {{"class", "finding-head"}}, head) + words +
                     tag("details", tag("summary", "Its counters") +
                                        tag("table", {{"class", "cards"}}, heads + tag("tbody", rows))));
  }
  const bool once =
      std::all_of(comparison.kernels.begin(), comparison.kernels.end(),
                  [](const analyze::KernelChange& kernel) { return kernel.a.once && kernel.b.once; });
  return section("counters", "Kernels under the counters", fmt::format("{}.", counters_note(once)),
                 tag("div", {{"class", "findings"}}, cards), "Counters");
}

}  // namespace hone::report::html

// What changed between two trainings, for a terminal.
#include <algorithm>

#include <fmt/format.h>

#include "core/units.h"
#include "report/terminal/parts.h"
#include "report/text.h"
#include "report/training_words.h"
#include "report/words.h"

namespace hone::report {
namespace {

using namespace terminal;

constexpr std::size_t kNumber = 12, kVerdict = 15;
constexpr std::size_t kChangedOperators = 5;

std::string learning_head(std::size_t name_width, const TerminalStyle& style) {
  return paint("  " + left("", name_width) + right("first", kNumber) + right("second", kNumber) +
                   right("change", kNumber) + "\n",
               Colour::kFaint, style);
}

std::string time_line(std::string_view name, std::size_t name_width, double a_ms, double b_ms, double step,
                      analyze::Certainty certainty) {
  const std::string_view mark = certainty_words(certainty);
  return "  " + left(name, name_width) + right(fixed_ms(a_ms, step), kNumber) +
         right(fixed_ms(b_ms, step), kNumber) + right(signed_ms(b_ms - a_ms, step), kNumber) +
         (mark.empty() ? "" : fmt::format("  {}", mark)) + "\n";
}

std::string times(const analyze::TrainingComparison& comparison, std::size_t name_width,
                  const TerminalStyle& style) {
  const double step = std::max(comparison.step.a_ms, comparison.step.b_ms);
  std::string out = heading("In time: the median step", style) + learning_head(name_width, style);
  out += time_line("step", name_width, comparison.step.a_ms, comparison.step.b_ms, step,
                   comparison.step.certainty);
  out += time_line("of it, waiting for data", name_width, comparison.wait.a_ms, comparison.wait.b_ms, step,
                   comparison.wait.certainty);
  if (comparison.ledger.empty()) return out;
  out += heading("By cause, of the recorded steps", style) + learning_head(name_width, style);
  for (const analyze::CauseChange& row : comparison.ledger)
    out += time_line(analyze::cause_label(row.cause), name_width, row.a_ms, row.b_ms, step,
                     row.difference.certainty);
  if (comparison.operators.empty()) return out;
  out += heading("By operator, those that changed", style) + learning_head(name_width, style);
  for (std::size_t i = 0; i < std::min(kChangedOperators, comparison.operators.size()); ++i) {
    const analyze::OperatorChange& row = comparison.operators[i];
    out += time_line(shortened(clean_utf8(change_name(row).head), name_width), name_width, row.a_ms, row.b_ms,
                     step, row.difference.certainty);
  }
  if (comparison.operators.size() > kChangedOperators)
    out += fmt::format("  and {} more\n", comparison.operators.size() - kChangedOperators);
  return out;
}

std::string learning(const analyze::TrainingComparison& comparison, const TerminalStyle& style) {
  constexpr std::size_t kWithSpread = 18, kChange = 9, kTest = 21;
  const std::size_t name_width = style.width - 2 - 2 * kWithSpread - kChange - kTest;
  std::string out = heading("In learning", style);
  out += paint("  " + left("", name_width) + right("first", kWithSpread) + right("second", kWithSpread) +
                   right("change", kChange) + "\n",
               Colour::kFaint, style);
  for (const analyze::LearningNumber& row : comparison.numbers) {
    out += "  " + left(shortened(clean_utf8(row.name), name_width), name_width) +
           right(learning_value(row.a, row.a_runs), kWithSpread) +
           right(learning_value(row.b, row.b_runs), kWithSpread) + right(learning_difference(row), kChange);
    const std::string mark = learning_mark(row);
    out += (mark.empty() ? "" : "  " + mark) + "\n";
  }
  return out;
}

std::string recipes(const analyze::TrainingComparison& comparison, const TerminalStyle& style) {
  if (comparison.recipe.empty()) return paint("\nThe recipes are the same\n", Colour::kFaint, style);
  std::string out = heading("The recipes differ in", style);
  for (const analyze::RecipeChange& row : comparison.recipe)
    out += wrapped(clean_utf8(recipe_change_text(row)), 2, style, 2);
  return out;
}

}  // namespace

std::string compare_training_terminal(const analyze::TrainingComparison& comparison,
                                      const TerminalStyle& style) {
  const std::size_t name_width = style.width - 2 - 3 * kNumber - kVerdict;
  std::string out = "\n" + paint(wrapped(comparison.time_sentence + ".", 0, style), Colour::kBold, style);
  out += paint(wrapped(comparison.learning_sentence + ".", 0, style), Colour::kBold, style);
  out += wrapped("first: " + clean_utf8(folders_text(comparison.a)), 2, style, 2);
  out += wrapped("second: " + clean_utf8(folders_text(comparison.b)), 2, style, 2);
  out += warnings(comparison.caveats, style);
  return out + times(comparison, name_width, style) + learning(comparison, style) +
         recipes(comparison, style);
}

}  // namespace hone::report

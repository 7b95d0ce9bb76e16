#include "report/terminal/parts.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/units.h"
#include "report/code_text.h"
#include "report/description/grids.h"
#include "report/device_words.h"
#include "report/text.h"
#include "report/words.h"

namespace hone::report::terminal {
namespace {

using analyze::Analysis;

constexpr std::string_view kNoBreak = "\u00a0";

Colour colour_of(analyze::Cause cause) {
  if (cause == analyze::Cause::kFloor) return Colour::kBlue;
  return analyze::is_busy(cause) ? Colour::kYellow : Colour::kRed;
}

// Code that fits into a line stays in one.
std::string bind_code(std::string_view text, std::size_t room) {
  std::string bound;
  for (const TextPart& part : code_parts(text))
    for (const char c : part.text)
      bound += part.code && c == ' ' && columns(part.text) <= room ? kNoBreak : std::string_view(&c, 1);
  return bound;
}

std::string spaces_for_no_break(std::string text) {
  for (std::size_t at = text.find(kNoBreak); at != std::string::npos; at = text.find(kNoBreak, at))
    text.replace(at, kNoBreak.size(), " ");
  return text;
}

}  // namespace

std::string paint(std::string_view text, Colour colour, const TerminalStyle& style) {
  if (!style.colour) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", static_cast<int>(colour), text);
}

std::string heading(std::string_view text, const TerminalStyle& style) {
  return "\n" + paint(text, Colour::kBold, style) + "\n";
}

std::string wrapped(std::string_view text, std::size_t indent, const TerminalStyle& style, std::size_t hang) {
  std::size_t room = style.width - indent - hang;
  std::string bound = bind_units(bind_code(clean_utf8(text), room)), result, line;
  auto flush = [&] {
    result += std::string(result.empty() ? indent : indent + hang, ' ') + spaces_for_no_break(line) + "\n";
    line.clear();
  };
  for (std::size_t at = 0; at <= bound.size();) {
    std::size_t end = std::min(bound.find(' ', at), bound.size());
    // A bullet or a number does not stand alone in a line.
    const std::size_t taken = !line.empty() && columns(line) <= 2 ? columns(line) + 1 : 0;
    std::string word = shortened(std::string_view(bound).substr(at, end - at), room - taken);
    if (!line.empty() && columns(line) + 1 + columns(word) > room) flush();
    line += line.empty() ? word : " " + word;
    at = end + 1;
  }
  flush();
  return result;
}

std::string name_cell(std::string_view name, std::size_t width) {
  return left(shortened(clean_utf8(name), width), width);
}

std::string ledger_table(const analyze::Analysis& side, const TerminalStyle& style) {
  constexpr std::size_t kLabel = 20, kMs = 11, kShare = 8, kGain = 18;
  const double step = side.step.ms.median;
  std::size_t bar_width = style.width - 2 - kLabel - kMs - kShare - kGain - 2;
  std::string out;
  for (const analyze::LedgerRow& row : side.ledger) {
    std::string gain = gain_text(row, step);
    if (!gain.empty()) gain = "  can win " + gain;
    std::string drawn = bar(row.share, bar_width);
    if (gain.empty()) drawn.erase(drawn.find_last_not_of(' ') + 1);
    out += "  " + left(row_label(side, row.cause), kLabel) + right(fixed_ms(row.ms, step), kMs) +
           right(format_percent(row.share), kShare) + "  " + paint(drawn, colour_of(row.cause), style) +
           paint(gain, Colour::kFaint, style) + "\n";
  }
  out += "  " + left("step", kLabel) + right(fixed_ms(step, step), kMs) + right("100 %", kShare) +
         fmt::format("  {}\n", range_text(side.step));
  return out;
}

std::string top_table(const analyze::Analysis& side, const TerminalStyle& style) {
  return table(top_grid(side, Form::kTerminal), style, true);
}

std::string warnings(const std::vector<std::string>& list, const TerminalStyle& style) {
  std::string out;
  for (const std::string& warning : list)
    out += paint(wrapped("warning: " + warning, 2, style), Colour::kYellow, style);
  return out;
}

}  // namespace hone::report::terminal

#include "report/terminal/parts.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/units.h"
#include "report/device_words.h"
#include "report/text.h"
#include "report/words.h"

namespace hone::report::terminal {
namespace {

using analyze::Analysis;

Colour colour_of(analyze::Cause cause) {
  if (cause == analyze::Cause::kFloor) return Colour::kBlue;
  return analyze::is_busy(cause) ? Colour::kYellow : Colour::kRed;
}

std::string spaces_for_no_break(std::string text) {
  constexpr std::string_view kNoBreak = "\u00a0";
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
  std::string bound = bind_units(clean_utf8(text)), result, line;
  std::size_t room = style.width - indent - hang;
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
  const std::size_t traffic = style.width >= 90 ? 11 : 0;  // on a narrow terminal names need the room
  const std::size_t name_width = style.width - 5 - (11 + 8 + 12 + traffic + 13 + 8);
  auto line = [&](const std::string& start, std::string_view ms, std::string_view share,
                  std::string_view work, std::string_view bytes, std::string_view roof,
                  std::string_view fraction) {
    return start + right(ms, 11) + right(share, 8) + right(work, 12) +
           (traffic > 0 ? right(bytes, traffic) : "") + right(roof, 13) + right(fraction, 8);
  };
  std::string head =
      line("  #  " + left("operator", name_width), "time", "share", "work", "traffic", "roof", "of it");
  std::string out = paint(head, Colour::kFaint, style) + "\n";
  for (const analyze::TopOperator& row : side.top) {
    const OperatorName name = operator_name(row.name, row.kind);
    out += line(fmt::format("{:3}  ", row.rank) + name_cell(name.head, name_width),
                fixed_ms(row.ms, side.step.ms.median), format_percent(row.share),
                row.flops > 0 ? format_flops(row.flops) : "–", row.bytes > 0 ? format_bytes(row.bytes) : "–",
                row.roof == "unknown" ? "–" : shortened(clean_utf8(row.roof), 12), roof_share(row)) +
           "\n";
    if (!name.inputs.empty())
      out += paint(wrapped(shortened(clean_utf8(name.inputs), style.width - 5), 5, style), Colour::kFaint,
                   style);
    out += paint(wrapped(row.why, 5, style), Colour::kFaint, style);
  }
  return out;
}

std::string warnings(const std::vector<std::string>& list, const TerminalStyle& style) {
  std::string out;
  for (const std::string& warning : list)
    out += paint(wrapped("warning: " + warning, 2, style), Colour::kYellow, style);
  return out;
}

}  // namespace hone::report::terminal

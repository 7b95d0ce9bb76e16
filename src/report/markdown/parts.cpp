#include "report/markdown/parts.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/units.h"
#include "report/code_text.h"
#include "report/description/grids.h"
#include "report/text.h"
#include "report/words.h"

namespace hone::report::markdown {
namespace {

constexpr std::size_t kLongestCode = 80;  // columns; longer names are shortened

std::string row(const Cells& cells) {
  std::string line = "|";
  for (const std::string& cell : cells) line += " " + cell + " |";
  return line + "\n";
}

}  // namespace

std::string plain(std::string_view text) {
  std::string result;
  for (char c : clean_utf8(text)) {
    if (std::string_view("\\`*_[]<>|#").find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result;
}

std::string with_code(std::string_view text) {
  const std::string cleaned = clean_utf8(text);
  std::string result;
  for (const TextPart& part : code_parts(cleaned))
    result += part.code && columns(part.text) <= kLongestCode ? code(part.text) : plain(part.text);
  return result;
}

std::string code(std::string_view text) {
  std::string cleaned = shortened(clean_utf8(text), kLongestCode);
  std::replace(cleaned.begin(), cleaned.end(), '`', '\'');
  std::replace(cleaned.begin(), cleaned.end(), '|', '/');
  return "`" + cleaned + "`";
}

std::string table(const Cells& head, std::size_t texts, const std::vector<Cells>& rows) {
  Cells rule;
  for (std::size_t i = 0; i < head.size(); ++i) rule.push_back(i < texts ? "---" : "---:");
  std::string out = row(head) + row(rule);
  for (const Cells& cells : rows) out += row(cells);
  return out + "\n";
}

std::string ledger(const analyze::Analysis& side) {
  const double step = side.step.ms.median;
  std::string out = table(ledger_grid(side, Form::kMarkdown),
                          {{"**step**", fmt::format("**{}**", fixed_ms(step, step)), "100 %", ""}});
  for (const analyze::LedgerRow& line : side.ledger) {
    out += fmt::format("- **{}**: {}.", row_label(side, line.cause), with_code(line.title));
    if (!line.fix.empty()) out += fmt::format(" Fix: {}.", with_code(line.fix));
    out += "\n";
    for (const std::string& evidence : line.evidence) out += fmt::format("  - {}\n", with_code(evidence));
  }
  return out + "\n";
}

std::string top(const analyze::Analysis& side) { return table(top_grid(side, Form::kMarkdown)); }

std::string warnings(const std::vector<std::string>& list) {
  std::string out;
  for (const std::string& warning : list) out += fmt::format("> {}\n\n", with_code(warning));
  return out;
}

}  // namespace hone::report::markdown

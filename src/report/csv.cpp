#include "report/csv.h"

#include <algorithm>

#include <fmt/format.h>

#include "report/sql.h"

namespace hone::report {
namespace {

using Value = trace::AddedTable::Value;

// Names of kernels come from the program, and whoever opens the file trusts it as little as a page.
std::string csv_text(const std::string& text) {
  constexpr std::string_view kFormulas = "=+-@\t\r";
  std::string safe = !text.empty() && kFormulas.find(text[0]) != std::string_view::npos ? "'" + text : text;
  if (safe.find_first_of(",\"\r\n") == std::string::npos) return safe;
  std::string quoted = "\"";
  for (const char c : safe) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::string csv_cell(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return csv_text(*text);
  if (const auto* integer = std::get_if<int64_t>(&value)) return fmt::format("{}", *integer);
  if (const auto* real = std::get_if<double>(&value)) return fmt::format("{:.17g}", *real);
  return {};
}

}  // namespace

std::string kernels_csv(const analyze::Analysis& analysis) {
  constexpr std::string_view kTable = "step_kernels";
  const std::vector<trace::AddedTable> tables = analysis_tables(analysis);
  const auto table = std::find_if(tables.begin(), tables.end(),
                                  [&](const trace::AddedTable& each) { return each.name == kTable; });
  std::string out;
  if (table == tables.end()) return out;
  for (std::size_t i = 0; i < table->columns.size(); ++i) out += (i > 0 ? "," : "") + table->columns[i].name;
  out += '\n';
  for (const std::vector<Value>& row : table->rows) {
    for (std::size_t i = 0; i < row.size(); ++i) out += (i > 0 ? "," : "") + csv_cell(row[i]);
    out += '\n';
  }
  return out;
}

}  // namespace hone::report

#include "report/description/table.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/units.h"
#include "trace/operator_class.h"

namespace hone::report {

std::string_view unit_text(Unit unit) {
  switch (unit) {
    case Unit::kText:
      return "text";
    case Unit::kName:
      return "name";
    case Unit::kFlag:
      return "true or false";
    case Unit::kInteger:
      return "integer";
    case Unit::kCount:
      return "count a step";
    case Unit::kNumber:
      return "number";
    case Unit::kMs:
      return "ms";
    case Unit::kUs:
      return "µs";
    case Unit::kShare:
      return "share, 0 to 1";
    case Unit::kFlops:
      return "FLOP";
    case Unit::kBytes:
      return "bytes";
    case Unit::kFlopPerByte:
      return "FLOP/byte";
    case Unit::kFlopsPerSecond:
      return "FLOP/s";
    case Unit::kBytesPerSecond:
      return "bytes/s";
    case Unit::kList:
      return "list";
    case Unit::kObject:
      return "object";
    case Unit::kRows:
      return "table";
  }
  return "";
}

OrderedJson json_of(const analyze::Estimate& value) {
  return {{"median", value.median}, {"low", value.low}, {"high", value.high}};
}
OrderedJson json_of(analyze::Cause value) { return analyze::cause_name(value); }
OrderedJson json_of(trace::Phase value) { return trace::phase_name(value); }
OrderedJson json_of(trace::OperatorClass value) { return trace::operator_class_name(value); }

std::string value_text(const OrderedJson& value, Unit unit, double step_ms) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_number()) return "";
  const double number = value.get<double>();
  switch (unit) {
    case Unit::kInteger:
    case Unit::kCount:
      // What comes once in several steps is no nothing.
      return number > 0 && number < 0.95 ? fmt::format("{:.2g}", number) : fmt::format("{:.0f}", number);
    case Unit::kMs:
      return fixed_ms(number, step_ms);
    case Unit::kUs:
      return format_ms(number * 1e-3);
    case Unit::kShare:
      return format_percent(number);
    case Unit::kFlops:
      return number > 0 ? format_flops(number) : "–";
    case Unit::kBytes:
      return number > 0 ? format_bytes(number) : "–";
    case Unit::kFlopPerByte:
      return number > 0 ? format_intensity(number) : "–";
    case Unit::kFlopsPerSecond:
      return number > 0 ? format_flop_rate(number) : "–";
    case Unit::kBytesPerSecond:
      return number > 0 ? format_byte_rate(number) : "–";
    default:
      return fmt::format("{:.3g}", number);
  }
}

ColumnKind column_kind(Unit unit) {
  switch (unit) {
    case Unit::kName:
      return ColumnKind::kName;
    case Unit::kText:
    case Unit::kFlag:
    case Unit::kList:
    case Unit::kObject:
    case Unit::kRows:
      return ColumnKind::kText;
    default:
      return ColumnKind::kNumber;
  }
}

void drop_empty_columns(Grid& grid) {
  const auto says_nothing = [&](std::size_t column) {
    return std::ranges::all_of(grid.rows, [&](const GridRow& row) {
      return row.cells[column].text.empty() && row.cells[column].under.empty();
    });
  };
  for (std::size_t column = grid.columns.size(); !grid.rows.empty() && column-- > 0;) {
    if (!says_nothing(column)) continue;
    const auto at = static_cast<std::ptrdiff_t>(column);
    grid.columns.erase(grid.columns.begin() + at);
    for (GridRow& row : grid.rows) row.cells.erase(row.cells.begin() + at);
  }
}

}  // namespace hone::report

#include "analyze/device/rules/tables.h"

#include <array>
#include <stdexcept>

#include <fmt/format.h>

namespace hone::analyze::device {
namespace {

using RowsByRule = std::array<const DeviceRule*, kRuleCount>;

RowsByRule rows_by_rule() {
  RowsByRule rows{};
  for (const std::span<const DeviceRule> table :
       {precision_rules(), layout_rules(), traffic_rules(), inefficiency_rules(), counted_rules(),
        host_rules(), ranks_rules()})
    for (const DeviceRule& row : table) rows[static_cast<std::size_t>(row.rule)] = &row;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i] == nullptr) throw std::logic_error(fmt::format("rule {} of rule.h has no row", i));
  return rows;
}

}  // namespace

const DeviceRule& row_of(Rule rule) {
  static const RowsByRule rows = rows_by_rule();
  return *rows[static_cast<std::size_t>(rule)];
}

Rule general_rule(Cause cause) { return static_cast<Rule>(cause); }

const DeviceRule& row_of(Cause cause, Rule rule) {
  const DeviceRule& own = row_of(rule);
  return own.cause == cause ? own : row_of(general_rule(cause));
}

}  // namespace hone::analyze::device

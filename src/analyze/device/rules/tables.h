// The rows of each table, and all of them together.
#pragma once

#include <span>

#include "analyze/device/rules/device_rule.h"

namespace hone::analyze::device {

std::span<const DeviceRule> precision_rules();
std::span<const DeviceRule> layout_rules();
std::span<const DeviceRule> traffic_rules();
std::span<const DeviceRule> inefficiency_rules();
std::span<const DeviceRule> counted_rules();
std::span<const DeviceRule> host_rules();
std::span<const DeviceRule> ranks_rules();

const DeviceRule& row_of(Rule rule);
// What is said of a cause where nothing more specific is known.
Rule general_rule(Cause cause);
// The row that speaks for time of a cause that a rule has: the rule's own, or of another cause's time the
// general one.
const DeviceRule& row_of(Cause cause, Rule rule);

}  // namespace hone::analyze::device

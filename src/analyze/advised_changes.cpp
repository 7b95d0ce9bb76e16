#include "analyze/advised_changes.h"

#include <algorithm>

#include "analyze/device/rules/tables.h"
#include "analyze/findings.h"
#include "analyze/rules.h"

namespace hone::analyze {
namespace {

void append_changes(const AdvisedChanges& changes, std::vector<std::string_view>& names) {
  std::copy_if(changes.begin(), changes.end(), std::back_inserter(names),
               [](std::string_view name) { return !name.empty(); });
}

}  // namespace

std::vector<std::string_view> advised_changes(const Finding& finding, bool on_device) {
  std::vector<std::string_view> names;
  if (on_device) {
    for (int i = 0; i < device::kRuleCount; ++i)
      if (const device::DeviceRule& row = device::row_of(static_cast<device::Rule>(i));
          row.id == finding.rule)
        append_changes(row.changes, names);
    return names;
  }
  for (const CauseRule* row : {&written_broadcasts(), &rule_of(finding.cause, Subject::kHostProgram)})
    if (row->id == finding.rule) append_changes(row->changes, names);
  return names;
}

std::vector<std::string_view> all_advised_changes() {
  std::vector<std::string_view> names;
  for (int i = 0; i < device::kRuleCount; ++i)
    append_changes(device::row_of(static_cast<device::Rule>(i)).changes, names);
  for (const Cause cause : all_causes()) append_changes(rule_of(cause, Subject::kHostProgram).changes, names);
  append_changes(written_broadcasts().changes, names);
  return names;
}

}  // namespace hone::analyze

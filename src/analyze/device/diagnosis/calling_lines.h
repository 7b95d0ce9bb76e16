// Which lines of the program's source a finding's operators were called from, where stacks were recorded.
#pragma once

#include <string>
#include <vector>

#include "analyze/device/accounts.h"
#include "analyze/findings.h"

namespace hone::analyze::device {

// The lines of most of the entries' time, largest first.
std::vector<CallingLine> calling_lines(const std::vector<const AccountEntry*>& entries);

// "called from train.py:31: 3.10 ms; eval.py:8, within torchvision/ops/boxes.py:11: 0.40 ms". `step_ms`: of the ledger.
// Empty: no line is known.
std::string calling_lines_text(const std::vector<CallingLine>& lines, double step_ms);

// Whether most of that time is that of calls that a package makes, whose code is not the program's.
bool are_of_packages(const std::vector<CallingLine>& lines);

}  // namespace hone::analyze::device

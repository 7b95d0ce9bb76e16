// All kernels of a step as a table for spreadsheets: explain.json's `kernels`, a line each.
#pragma once

#include <string>

#include "analyze/findings.h"

namespace hone::report {

// RFC 4180, with the fields' names as the first line, ended by LF alone; what is not known is empty. Texts that a
// spreadsheet would take for a formula begin with an apostrophe.
std::string kernels_csv(const analyze::Analysis& analysis);

}  // namespace hone::report

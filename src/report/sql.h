// Findings as tables of the SQLite database that trace/sql writes.
#pragma once

#include <vector>

#include "analyze/findings.h"
#include "trace/sql/writer.h"

namespace hone::report {

// A table for each table of explain.json, and `analysis`, which has everything else by name: "floor_ms",
// "step.median_ms". Lists are JSON text, which SQLite's json_each() takes apart. Rows of a table within a row
// ("finding_parts") have that row's number, from 1, in their first column.
std::vector<trace::AddedTable> analysis_tables(const analyze::Analysis& analysis);

}  // namespace hone::report

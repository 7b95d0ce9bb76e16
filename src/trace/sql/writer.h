// A trace as an SQLite database, for questions that no report answers: the columns of trace.h as tables, and
// views that join what people ask for (docs/explain.md has examples). schema.cpp says what each table holds.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/result.h"
#include "trace/trace.h"

namespace hone::trace {

// A row of the table `ledger`: analysis is not this folder's to know.
struct LedgerLine {
  std::string cause;
  double ms = 0;
  double share = 0;
  std::string title;
  std::string fix;
  double predicted_gain_ms = 0;
};

// When a step took place, host and device together.
struct StepLine {
  int rank = 0;
  int32_t step = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
};

// What an analysis found that the tables show.
struct Findings {
  std::vector<LedgerLine> ledger = {};
  std::vector<StepLine> steps = {};
  std::map<int, int64_t> clock_shift_ns = {};  // by rank
};

// The file appears whole or not at all. `progress`, where given, is called with 0 to 1. Errors: an invalid
// trace, or the operating system's.
Status write_sqlite(const Trace& trace, const Findings& findings, const std::filesystem::path& path,
                    const std::function<void(double)>& progress = {});

}  // namespace hone::trace

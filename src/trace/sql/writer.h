// A trace as an SQLite database, for questions that no report answers: the columns of trace.h as tables, and
// views that join what people ask for (docs/explain.md has examples). schema.cpp says what each table holds.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "core/result.h"
#include "trace/trace.h"

namespace hone::trace {

// A table that is not of the trace: what an analysis found is not this folder's to know.
struct AddedTable {
  enum class Type { kAny, kInteger, kReal, kText };
  using Value = std::variant<std::monostate, int64_t, double, std::string>;  // monostate: NULL
  struct Column {
    std::string name;
    Type type = Type::kText;
  };
  std::string name;  // an identifier that no table of schema.cpp has; so are the columns' names
  std::vector<Column> columns;
  std::vector<std::vector<Value>> rows;  // a value a column
};

// When a step took place, host and device together.
struct StepLine {
  int rank = 0;
  int32_t step = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
};

// What an analysis found: tables of its own, and what the trace's tables show of it.
struct Findings {
  std::vector<AddedTable> tables = {};
  std::vector<StepLine> steps = {};
  std::map<int, int64_t> clock_shift_ns = {};  // by rank
};

// The file appears whole or not at all. `progress`, where given, is called with 0 to 1. Errors: an invalid
// trace, or the operating system's.
Status write_sqlite(const Trace& trace, const Findings& findings, const std::filesystem::path& path,
                    const std::function<void(double)>& progress = {});

}  // namespace hone::trace

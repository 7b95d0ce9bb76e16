// Tables of text with a heading: RFC 4180's CSV, with commas, semicolons or tabs as the heading has them.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace hone::data {

struct Table {
  struct Row {
    int64_t line = 0;  // in the file, from 1
    std::vector<std::string> cells;
  };
  std::vector<std::string> heading;
  std::vector<Row> rows;  // each with as many cells as the heading

  // Where a column is; an error names those that are there.
  Result<std::size_t> column(std::string_view name) const;
};

// Errors name the line.
Result<Table> parse_table(std::string_view text);
// And the file.
Result<Table> read_table(const std::filesystem::path& path);

}  // namespace hone::data

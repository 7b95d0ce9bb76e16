// TOML as a tree of plain values that remember where they stand in the file. toml++ stays behind toml.cpp: its headers
// take seconds to compile.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/result.h"

namespace hone::model {

struct TomlValue;
struct TomlEntry;
using TomlArray = std::vector<TomlValue>;
using TomlTable = std::vector<TomlEntry>;  // in the order of the file

struct TomlValue {
  std::variant<TomlTable, TomlArray, std::string, int64_t, double, bool> value;
  std::string place;  // "digits.toml:12:3", or "--set train.batch" of a value that the command line gave

  const TomlTable* table() const;
  const TomlValue* find(std::string_view key) const;  // null where it is no table or has no such key
};

struct TomlEntry {
  std::string key;
  TomlValue value;
};

// An error says file, line and column. Dates and times are none of a recipe's values.
Result<TomlValue> parse_toml(std::string_view text, const std::string& file);

// Sets "train.batch=64" (a path of tables, then a TOML value; a bare word is text) in `root`.
Status set_in_toml(TomlValue& root, const std::string& assignment);

// Text as a value of TOML, quoted.
std::string toml_string(const std::string& text);

// The tree as a TOML file that parses to the same.
std::string toml_text(const TomlValue& root);

}  // namespace hone::model

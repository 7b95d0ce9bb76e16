// Tables of names by what is in them: the first row that matches decides. One form for every such table
// (frameworks, roles, kernels, collectives), so that one test finds the rows that no name can reach.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace hone::trace {

// Where in a name the pattern must stand; kWhole: it is the name.
enum class At : uint8_t { kFront, kAnywhere, kWhole };

template <typename Value>
struct NamePattern {
  std::string_view text;
  Value value;
  At at = At::kAnywhere;

  bool matches(std::string_view name) const {
    if (at == At::kWhole) return name == text;
    return at == At::kFront ? name.starts_with(text) : name.find(text) != std::string_view::npos;
  }
  // Whether every name that matches `other` matches this row too.
  bool covers(const NamePattern& other) const {
    if (at == At::kAnywhere) return other.text.find(text) != std::string_view::npos;
    if (at == At::kWhole) return other.at == At::kWhole && other.text == text;
    return other.at != At::kAnywhere && other.text.starts_with(text);
  }
};

// The value of the first row that matches; nothing if none does.
template <typename Value, std::size_t kRows>
std::optional<Value> first_match(std::span<const NamePattern<Value>, kRows> table, std::string_view name) {
  for (const NamePattern<Value>& row : table)
    if (row.matches(name)) return row.value;
  return std::nullopt;
}

// The rows that can never decide, because an earlier one matches all that they match. For tests: empty.
template <typename Value, std::size_t kRows>
std::vector<std::string_view> unreachable_rows(std::span<const NamePattern<Value>, kRows> table) {
  std::vector<std::string_view> dead;
  for (std::size_t row = 0; row < table.size(); ++row)
    for (std::size_t before = 0; before < row; ++before)
      if (table[before].covers(table[row])) {
        dead.push_back(table[row].text);
        break;
      }
  return dead;
}

}  // namespace hone::trace

#include "model/recipe/toml.h"

#include <algorithm>
#include <sstream>
#include <version>

#define TOML_EXCEPTIONS 0
// Numbers in the fewest digits that read back the same: 0.1 stays 0.1. toml++ believes that no compiler can do it.
#ifdef __cpp_lib_to_chars
#define TOML_FLOAT_CHARCONV 1
#endif
#define TOML_ENABLE_FORMATTERS 1
#include <fmt/core.h>
#include <toml++/toml.h>

namespace hone::model {
namespace {

std::string place_of(const std::string& file, const toml::source_region& source) {
  return fmt::format("{}:{}:{}", file, source.begin.line, source.begin.column);
}

constexpr int kDeepest = 32;  // tables and lists in each other; what walks a tree recurses

Error too_deep(const std::string& place) {
  return invalid(fmt::format("{}: tables are nested more than {} deep", place, kDeepest));
}

// toml++ limits how deep values lie in each other, but not how long the path of a key is, and takes its tree down by
// recursion. No line of a recipe has that many points.
bool has_endless_key(std::string_view text) {
  constexpr int kMostPoints = 10'000;
  int points = 0;
  for (const char c : text) {
    if (c == '.' && ++points > kMostPoints) return true;
    if (c == '\n' || c == '=') points = 0;
  }
  return false;
}

Result<TomlValue> converted(const toml::node& node, const std::string& file, int depth = 0) {
  TomlValue made;
  made.place = place_of(file, node.source());
  if (depth > kDeepest) return too_deep(made.place);
  if (const toml::table* table = node.as_table()) {
    std::vector<std::pair<toml::source_position, TomlEntry>> entries;
    for (const auto& [key, value] : *table) {
      HONE_ASSIGN(TomlValue child, converted(value, file, depth + 1));
      // What is said of a value is said where its key stands, if it has one of its own there.
      if (key.source().begin.line != 0) child.place = place_of(file, key.source());
      entries.push_back({key.source().begin, TomlEntry{std::string(key.str()), std::move(child)}});
    }
    std::stable_sort(entries.begin(), entries.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    TomlTable list;
    for (auto& [position, entry] : entries) list.push_back(std::move(entry));
    made.value = std::move(list);
  } else if (const toml::array* array = node.as_array()) {
    TomlArray list;
    for (const toml::node& element : *array) {
      HONE_ASSIGN(TomlValue child, converted(element, file, depth + 1));
      list.push_back(std::move(child));
    }
    made.value = std::move(list);
  } else if (const auto text = node.value_exact<std::string>()) {
    made.value = *text;
  } else if (const auto integer = node.value_exact<int64_t>()) {
    made.value = *integer;
  } else if (const auto real = node.value_exact<double>()) {
    made.value = *real;
  } else if (const auto flag = node.value_exact<bool>()) {
    made.value = *flag;
  } else {
    return invalid(
        fmt::format("{}: dates and times have no meaning here; write a number or \"text\"", made.place));
  }
  return made;
}

void insert_into(toml::table& table, const std::string& key, const TomlValue& value);

toml::array array_of(const TomlArray& values) {
  toml::array made;
  for (const TomlValue& value : values) {
    toml::table holder;  // converts one value of any kind
    insert_into(holder, "value", value);
    if (const toml::node* node = holder.get("value")) made.push_back(*node);
  }
  return made;
}

toml::table table_of(const TomlTable& entries) {
  toml::table made;
  for (const auto& [key, value] : entries) insert_into(made, key, value);
  return made;
}

void insert_into(toml::table& table, const std::string& key, const TomlValue& value) {
  std::visit(
      [&](const auto& held) {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, TomlTable>)
          table.insert_or_assign(key, table_of(held));
        else if constexpr (std::is_same_v<Held, TomlArray>)
          table.insert_or_assign(key, array_of(held));
        else
          table.insert_or_assign(key, held);
      },
      value.value);
}

TomlValue* child_of(TomlTable& table, const std::string& key) {
  for (auto& [name, value] : table)
    if (name == key) return &value;
  return nullptr;
}

void replace_places(TomlValue& value, const std::string& place) {
  value.place = place;
  if (auto* table = std::get_if<TomlTable>(&value.value))
    for (auto& [key, child] : *table) replace_places(child, place);
  if (auto* array = std::get_if<TomlArray>(&value.value))
    for (TomlValue& child : *array) replace_places(child, place);
}

// The TOML value, or text where it is none.
Result<TomlValue> assigned_value(const std::string& text, const std::string& place) {
  auto parsed = parse_toml("value = " + text + "\n", place);
  if (parsed.ok() && parsed->table()->size() == 1) {
    TomlValue value = parsed->table()->front().value;
    replace_places(value, place);
    return value;
  }
  if (text.empty() || text.find_first_of("\"'[]{}\n") != std::string::npos)
    return invalid(fmt::format("{}: '{}' is no TOML value", place, text));
  return TomlValue{text, place};
}

}  // namespace

const TomlTable* TomlValue::table() const { return std::get_if<TomlTable>(&value); }

const TomlValue* TomlValue::find(std::string_view key) const {
  if (table() == nullptr) return nullptr;
  for (const auto& [name, child] : *table())
    if (name == key) return &child;
  return nullptr;
}

Result<TomlValue> parse_toml(std::string_view text, const std::string& file) {
  if (has_endless_key(text)) return too_deep(file);
  const toml::parse_result parsed = toml::parse(text, file);
  if (parsed.failed())
    return invalid(
        fmt::format("{}: {}", place_of(file, parsed.error().source()), parsed.error().description()));
  return converted(parsed.table(), file);
}

Status set_in_toml(TomlValue& root, const std::string& assignment) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0)
    return invalid(fmt::format("--set {}: write KEY=VALUE, as train.batch=64", assignment));
  const std::string path = assignment.substr(0, equals);
  const std::string place = "--set " + path;
  if (std::count(path.begin(), path.end(), '.') > kDeepest) return too_deep(place);
  HONE_ASSIGN(TomlValue value, assigned_value(assignment.substr(equals + 1), place));
  TomlValue* at = &root;
  std::istringstream keys(path);
  for (std::string key; std::getline(keys, key, '.');) {
    auto* table = std::get_if<TomlTable>(&at->value);
    if (table == nullptr || key.empty())
      return invalid(fmt::format("{}: '{}' is no key of a table", place, key));
    TomlValue* child = child_of(*table, key);
    if (child == nullptr) {
      table->push_back({key, TomlValue{TomlTable{}, place}});
      child = &table->back().value;
    }
    at = child;
  }
  *at = std::move(value);
  return {};
}

std::string toml_string(const std::string& text) {
  std::ostringstream quoted;
  quoted << toml::toml_formatter(toml::value<std::string>(text));
  return quoted.str();
}

std::string toml_text(const TomlValue& root) {
  std::ostringstream text;
  if (root.table() != nullptr) text << toml::toml_formatter(table_of(*root.table()));
  text << '\n';
  return text.str();
}

}  // namespace hone::model

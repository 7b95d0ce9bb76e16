#include "report/python_types.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "report/description/analysis.h"

namespace hone::report {
namespace {

constexpr std::array<std::string_view, 8> kKeywords = {"class",  "def", "from", "global",
                                                       "import", "in",  "is",   "pass"};

// "step_operators" → "StepOperators".
std::string camel_case(std::string_view name) {
  std::string out;
  bool upper = true;
  for (const char c : name) {
    if (c != '_') out += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    upper = c == '_';
  }
  return out;
}

// The class of a row of the table "rank_summaries" is RankSummary; where the name is no plural, "Row" follows it.
std::string class_name(const FieldInfo& field) {
  if (field.sql.empty()) return camel_case(field.name);
  std::string name = camel_case(field.sql);
  if (name.ends_with("ies")) return name.substr(0, name.size() - 3) + "y";
  return name.ends_with("s") ? name.substr(0, name.size() - 1) : name + "Row";
}

// An attribute may not be called as a keyword is.
std::string attribute(std::string_view name) {
  const bool keyword = std::ranges::find(kKeywords, name) != kKeywords.end();
  return std::string(name) + (keyword ? "_" : "");
}

std::string_view type_by_unit(Unit unit) {
  switch (unit) {
    case Unit::kText:
    case Unit::kName:
      return "str";
    case Unit::kFlag:
      return "bool";
    case Unit::kInteger:
      return "int";
    case Unit::kList:
      return "List[Any]";
    case Unit::kObject:
      return "Dict[str, float]";
    case Unit::kRows:
      return "List[Dict[str, Any]]";
    default:
      return "float";
  }
}

std::string type_of(const FieldInfo& field) {
  if (!field.inner.empty())
    return field.unit == Unit::kRows ? fmt::format("List[{}]", class_name(field)) : class_name(field);
  switch (field.holds) {
    case Holds::kText:
      return "str";
    case Holds::kFlag:
      return "bool";
    case Holds::kInteger:
      return "int";
    case Holds::kNumber:
      return "float";
    case Holds::kEstimate:
      return "Estimate";
    case Holds::kTexts:
      return "List[str]";
    case Holds::kIntegers:
      return "List[int]";
    case Holds::kNumbers:
      return "List[float]";
    case Holds::kAny:
      break;
  }
  return std::string(type_by_unit(field.unit));
}

void add_class(std::string& out, const std::string& name, std::string_view meaning,
               const std::vector<FieldInfo>& fields) {
  std::string parts;
  for (const FieldInfo& field : fields) {
    if (field.inner.empty() && field.holds != Holds::kEstimate) continue;
    if (!field.inner.empty()) add_class(out, class_name(field), field.meaning, field.inner);
    parts += fmt::format("{}\"{}\": {}", parts.empty() ? "" : ", ", field.name,
                         field.inner.empty() ? "Estimate" : class_name(field));
  }
  out += fmt::format("\n\nclass {}(Record):\n    \"\"\"{}\"\"\"\n\n", name, meaning);
  for (const FieldInfo& field : fields) {
    const std::string type = type_of(field);
    out += fmt::format("    {}: {}\n    \"\"\"{}\"\"\"\n", attribute(field.name),
                       field.nullable ? fmt::format("Optional[{}]", type) : type, field.meaning);
  }
  if (!parts.empty()) out += fmt::format("\n    _parts = {{{}}}\n", parts);
}

}  // namespace

std::string python_types() {
  std::string out =
      "\"\"\"What hone.explain() returns, field by field. Made from hone's own description "
      "(src/report/description) when "
      "the\npackage is built; docs/explain-fields.md is the same as a page.\"\"\"\n"
      "from __future__ import annotations\n\n"
      "from typing import Any, Dict, List, Optional\n\n"
      "from ._record import Record\n\n\n"
      "class Estimate(Record):\n"
      "    \"\"\"A median with the ends of its distribution-free interval.\"\"\"\n\n"
      "    median: float\n    low: float\n    high: float\n";
  add_class(out, "Fields", "explain.json", field_infos(analysis_fields()));
  return out;
}

}  // namespace hone::report

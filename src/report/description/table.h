// What an analysis holds is described once: each table as a list of fields, each field with its name, its
// unit, what it means, where its value is and, if people see it in a table, under which heading and in which
// forms. analysis.h has the list. JSON, SQL, the tables of all forms and docs/explain-fields.md are made of
// it, so a new field is one line. Decision 17 says why it is so.
#pragma once

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "analyze/findings.h"
#include "report/description/grid.h"

namespace hone::report {

using OrderedJson = nlohmann::ordered_json;

// How a value is to be read. It decides the type of the column in SQL and how people are shown the value.
enum class Unit {
  kText,  // words
  kName,  // of something in the program or the trace
  kFlag,  // true or false
  kInteger,
  kCount,   // of things, a step: seldom whole
  kNumber,  // without a unit, or with one that stands beside it
  kMs,
  kUs,
  kShare,  // 0 to 1
  kFlops,
  kBytes,
  kFlopPerByte,
  kFlopsPerSecond,
  kBytesPerSecond,
  kList,    // several of the above
  kObject,  // fields of their own
  kRows,    // a table of its own
};

// "ms", "share (0 to 1)", "text": for the documentation.
std::string_view unit_text(Unit unit);

// How values become JSON: estimates as {median, low, high}, enumerations by their names, nothing as null.
OrderedJson json_of(const analyze::Estimate& value);
OrderedJson json_of(analyze::Cause value);
OrderedJson json_of(trace::Phase value);
OrderedJson json_of(trace::OperatorClass value);
template <typename T>
OrderedJson json_of(const T& value) {
  return OrderedJson(value);
}
template <typename T>
OrderedJson json_of(const std::optional<T>& value) {
  return value ? json_of(*value) : OrderedJson();
}

// How tables for people show a field. What is left empty follows from the field's unit.
template <typename Row>
struct Shown {
  std::string heading = {};
  Forms forms = kAllForms;
  std::string narrow = {};
  bool wide_only = false;
  std::optional<ColumnKind> kind = {};
  // Instead of `heading`, where that depends on the analysis.
  std::function<std::string(const analyze::Analysis&)> heading_of = {};
  std::function<std::string(const Row&, const analyze::Analysis&)> text = {};
  // Completes the cell: what stands under a name, the colour of a bar, a place.
  std::function<void(GridCell&, const Row&, const analyze::Analysis&, Form)> more = {};
};

// What a value is in JSON: for languages with types (python_types.h).
enum class Holds { kAny, kText, kFlag, kInteger, kNumber, kEstimate, kTexts, kIntegers, kNumbers };

template <typename T>
constexpr Holds what_holds() {
  using enum Holds;
  if constexpr (std::is_same_v<T, OrderedJson>)
    return kAny;
  else if constexpr (std::is_same_v<T, analyze::Estimate>)
    return kEstimate;
  else if constexpr (std::is_same_v<T, bool>)
    return kFlag;
  else if constexpr (std::is_integral_v<T>)
    return kInteger;
  else if constexpr (std::is_floating_point_v<T>)
    return kNumber;
  else if constexpr (std::is_enum_v<T> || std::is_convertible_v<T, std::string_view>)
    return kText;
  else if constexpr (requires { typename T::value_type; })
    return what_holds<typename T::value_type>() == kText      ? kTexts
           : what_holds<typename T::value_type>() == kInteger ? kIntegers
           : what_holds<typename T::value_type>() == kNumber  ? kNumbers
                                                              : kAny;
  else
    return kAny;
}

template <typename T>
struct Held {
  static constexpr Holds holds = what_holds<T>();
  static constexpr bool nullable = false;
};
template <typename T>
struct Held<std::optional<T>> {
  static constexpr Holds holds = what_holds<T>();
  static constexpr bool nullable = true;
};

// What the documentation and SQL need of a field.
struct FieldInfo {
  std::string_view name;  // key of the JSON, column of the SQL table; empty: neither
  Unit unit = Unit::kText;
  std::string_view meaning = {};
  std::vector<FieldInfo> inner = {};  // of an object, or of a row of a table
  std::string_view sql = {};          // the table in SQL; empty: none
  Holds holds = Holds::kAny;          // where it has no fields of its own
  bool nullable = false;              // null: there is none
};

template <typename Row>
struct Field {
  // `at` is a member of Row, or a function of one.
  template <typename At>
  Field(std::string_view name_, Unit unit_, std::string_view meaning_, At at)
      : info{name_, unit_, meaning_}, value([at](const Row& row) { return json_of(std::invoke(at, row)); }) {
    using Value = Held<std::remove_cvref_t<std::invoke_result_t<At, const Row&>>>;
    info.holds = Value::holds;
    info.nullable = Value::nullable;
  }
  // A column that only people see: it says in words what other fields say.
  explicit Field(Shown<Row> shown_) : shown(std::move(shown_)) {}

  Field& show(Shown<Row> how) {
    shown = std::move(how);
    return *this;
  }

  FieldInfo info;
  std::function<OrderedJson(const Row&)> value;  // none: there is nothing but what is shown
  std::optional<Shown<Row>> shown;
};

template <typename Row>
using Fields = std::vector<Field<Row>>;

template <typename Row>
std::vector<FieldInfo> field_infos(const Fields<Row>& fields) {
  std::vector<FieldInfo> infos;
  for (const Field<Row>& field : fields)
    if (!field.info.name.empty()) infos.push_back(field.info);
  return infos;
}

template <typename Row>
OrderedJson object_json(const Fields<Row>& fields, const Row& row) {
  OrderedJson object = OrderedJson::object();
  for (const Field<Row>& field : fields)
    if (!field.info.name.empty()) object[std::string(field.info.name)] = field.value(row);
  return object;
}

// Only the fields with these names, in the order of the description.
template <typename Row>
OrderedJson chosen_json(const Fields<Row>& fields, const Row& row,
                        std::initializer_list<std::string_view> names) {
  OrderedJson object = OrderedJson::object();
  for (const Field<Row>& field : fields)
    if (std::find(names.begin(), names.end(), field.info.name) != names.end())
      object[std::string(field.info.name)] = field.value(row);
  return object;
}

template <typename Row>
OrderedJson rows_json(const Fields<Row>& fields, const std::vector<Row>& rows) {
  OrderedJson list = OrderedJson::array();
  for (const Row& row : rows) list.push_back(object_json(fields, row));
  return list;
}

// A field that is a table of its own: `rows` is a member of Row, a vector of what `fields` describe. `sql` is
// its name among the tables of SQL.
template <typename Row, typename Inner>
Field<Row> table_field(std::string_view name, std::string_view sql, std::string_view meaning,
                       const Fields<Inner>& fields, std::vector<Inner> Row::*rows) {
  Field<Row> field(name, Unit::kRows, meaning,
                   [&fields, rows](const Row& row) { return rows_json(fields, row.*rows); });
  field.info.inner = field_infos(fields);
  field.info.sql = sql;
  return field;
}

// A field with fields of its own; null where the member is empty.
template <typename Row, typename Inner>
Field<Row> object_field(std::string_view name, std::string_view sql, std::string_view meaning,
                        const Fields<Inner>& fields, std::optional<Inner> Row::*object) {
  Field<Row> field(name, Unit::kObject, meaning, [&fields, object](const Row& row) {
    return row.*object ? object_json(fields, *(row.*object)) : OrderedJson();
  });
  field.info.inner = field_infos(fields);
  field.info.sql = sql;
  field.info.nullable = true;
  return field;
}

// A value as people are shown it, in a step of `step_ms`; empty where the unit does not decide.
std::string value_text(const OrderedJson& value, Unit unit, double step_ms);
ColumnKind column_kind(Unit unit);

template <typename Row>
GridColumn grid_column(const Field<Row>& field, const analyze::Analysis& analysis) {
  const Shown<Row>& shown = *field.shown;
  return {shown.heading_of ? shown.heading_of(analysis) : shown.heading, shown.narrow,
          shown.kind.value_or(column_kind(field.info.unit)), shown.wide_only};
}

template <typename Row>
GridCell grid_cell(const Field<Row>& field, const Row& row, const analyze::Analysis& analysis, Form form) {
  const Shown<Row>& shown = *field.shown;
  const OrderedJson value = field.value ? field.value(row) : OrderedJson();
  GridCell cell;
  cell.text =
      shown.text ? shown.text(row, analysis) : value_text(value, field.info.unit, analysis.step.ms.median);
  if (value.is_number()) cell.value = value.get<double>();
  if (shown.more) shown.more(cell, row, analysis, form);
  return cell;
}

// Columns of which no row has anything: targets, where no number has one.
void drop_empty_columns(Grid& grid);

// The columns that `form` shows of these rows.
template <typename Row, typename Rows>
Grid make_grid(const Fields<Row>& fields, const Rows& rows, const analyze::Analysis& analysis, Form form) {
  std::vector<const Field<Row>*> shown;
  Grid grid;
  for (const Field<Row>& field : fields)
    if (field.shown && (field.shown->forms & static_cast<Forms>(form)) != 0) {
      shown.push_back(&field);
      grid.columns.push_back(grid_column(field, analysis));
    }
  for (const Row& row : rows) {
    GridRow line;
    for (const Field<Row>* field : shown) line.cells.push_back(grid_cell(*field, row, analysis, form));
    grid.rows.push_back(std::move(line));
  }
  drop_empty_columns(grid);
  return grid;
}

}  // namespace hone::report

#include "report/sql.h"

#include <string>
#include <utility>

#include "report/description/analysis.h"

namespace hone::report {
namespace {

using trace::AddedTable;

AddedTable::Value sql_value(const OrderedJson& value) {
  if (value.is_boolean()) return int64_t{value.get<bool>() ? 1 : 0};
  if (value.is_number_integer()) return value.get<int64_t>();
  if (value.is_number()) return value.get<double>();
  if (value.is_string()) return value.get<std::string>();
  if (value.is_structured()) return value.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
  return std::monostate();
}

AddedTable::Type sql_type(Unit unit) {
  switch (unit) {
    case Unit::kFlag:
    case Unit::kInteger:
      return AddedTable::Type::kInteger;
    case Unit::kText:
    case Unit::kName:
    case Unit::kList:
    case Unit::kObject:
    case Unit::kRows:
      return AddedTable::Type::kText;
    default:
      return AddedTable::Type::kReal;
  }
}

class TableWriter {
 public:
  explicit TableWriter(std::vector<AddedTable>& tables) : tables_(tables) {
    tables_.push_back(
        {"analysis", {{"name", AddedTable::Type::kText}, {"value", AddedTable::Type::kAny}}, {}});
  }

  // The members of an object: tables become tables, the rest rows of `analysis`.
  void add_members(const std::vector<FieldInfo>& fields, const OrderedJson& object,
                   const std::string& prefix) {
    for (const FieldInfo& field : fields) {
      const std::string key(field.name);
      const OrderedJson value = object.is_object() ? object[key] : OrderedJson();
      if (field.unit == Unit::kRows)
        add_table(field, value);
      else if (field.unit == Unit::kObject && !field.inner.empty())
        add_members(field.inner, value, prefix + key + ".");
      else if (value.is_object())  // figures by name
        for (const auto& [name, figure] : value.items()) add_figure(prefix + key + "." + name, figure);
      else
        add_figure(prefix + key, value);
    }
  }

 private:
  void add_figure(std::string name, const OrderedJson& value) {
    tables_.front().rows.push_back({std::move(name), sql_value(value)});
  }

  void add_table(const FieldInfo& info, const OrderedJson& rows) {
    AddedTable table;
    table.name = info.sql;
    for (const FieldInfo& field : info.inner)
      if (field.unit != Unit::kRows) table.columns.push_back({std::string(field.name), sql_type(field.unit)});
    for (const OrderedJson& row : rows) {
      std::vector<AddedTable::Value> values;
      for (const FieldInfo& field : info.inner)
        if (field.unit != Unit::kRows) values.push_back(sql_value(row[std::string(field.name)]));
      table.rows.push_back(std::move(values));
    }
    tables_.push_back(std::move(table));
    for (const FieldInfo& field : info.inner)
      if (field.unit == Unit::kRows) add_inner_table(field, rows);
  }

  // The tables within the rows of a table, as one.
  void add_inner_table(const FieldInfo& info, const OrderedJson& outer) {
    AddedTable table;
    table.name = info.sql;
    table.columns.push_back({"row", AddedTable::Type::kInteger});
    for (const FieldInfo& field : info.inner)
      table.columns.push_back({std::string(field.name), sql_type(field.unit)});
    int64_t number = 0;
    for (const OrderedJson& row : outer) {
      ++number;
      for (const OrderedJson& part : row[std::string(info.name)]) {
        std::vector<AddedTable::Value> values = {number};
        for (const FieldInfo& field : info.inner) values.push_back(sql_value(part[std::string(field.name)]));
        table.rows.push_back(std::move(values));
      }
    }
    tables_.push_back(std::move(table));
  }

  std::vector<AddedTable>& tables_;
};

}  // namespace

std::vector<AddedTable> analysis_tables(const analyze::Analysis& analysis) {
  std::vector<AddedTable> tables;
  TableWriter(tables).add_members(field_infos(analysis_fields()), object_json(analysis_fields(), analysis),
                                  "");
  return tables;
}

}  // namespace hone::report

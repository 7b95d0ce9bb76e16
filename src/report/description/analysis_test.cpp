// The description is whole, and every form is made of it.
#include "report/description/analysis.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

#include "report/fabricate_device.h"
#include "report/fields_page.h"
#include "report/html.h"
#include "report/json.h"
#include "report/markdown.h"
#include "report/sql.h"
#include "report/terminal.h"

namespace hone::report {
namespace {

void expect_described(const std::vector<FieldInfo>& fields, const std::string& where,
                      std::set<std::string_view>& sql_names) {
  std::set<std::string_view> names;
  for (const FieldInfo& field : fields) {
    const std::string place = where + "." + std::string(field.name);
    EXPECT_TRUE(names.insert(field.name).second) << place << " stands there twice";
    EXPECT_FALSE(field.meaning.empty()) << place;
    EXPECT_EQ(field.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), std::string_view::npos) << place;
    if (field.unit == Unit::kRows) {
      EXPECT_FALSE(field.inner.empty()) << place;
      EXPECT_FALSE(field.sql.empty()) << place << " has no name in SQL";
      EXPECT_TRUE(sql_names.insert(field.sql).second) << field.sql << " is the name of two tables";
    }
    expect_described(field.inner, place, sql_names);
  }
}

TEST(Description, SaysOfEveryFieldOnceWhatItMeans) {
  std::set<std::string_view> sql_names;
  expect_described(field_infos(analysis_fields()), "", sql_names);
  EXPECT_GT(sql_names.size(), 12u);
}

// The keys of a JSON value, and below them those of its parts: "ledger.cause".
void collect_keys(const OrderedJson& value, const std::string& prefix, std::set<std::string>& keys) {
  if (value.is_array())
    for (const OrderedJson& part : value) collect_keys(part, prefix, keys);
  if (!value.is_object()) return;
  for (const auto& [name, part] : value.items()) {
    keys.insert(prefix + name);
    collect_keys(part, prefix + name + ".", keys);
  }
}

TEST(Description, HasEveryKeyOfTheJson) {
  std::set<std::string> keys;
  collect_keys(OrderedJson::parse(explain_json(fabricate::device_analysis())), "", keys);
  const std::string page = fields_page();
  for (const std::string& key : keys) {
    if (key.starts_with("metrics.") || key.ends_with(".median") || key.ends_with(".low") ||
        key.ends_with(".high"))
      continue;
    const std::string name = key.substr(key.rfind('.') + 1);
    EXPECT_NE(page.find("| `" + name + "` |"), std::string::npos) << key;
  }
}

// What people see in tables is what the description gives them a heading for.
TEST(Description, GivesTheFormsTheirHeadings) {
  const analyze::Analysis analysis = fabricate::device_analysis();
  const std::string markdown = explain_markdown(analysis), page = explain_html(analysis, {}),
                    terminal = explain_terminal(analysis, {100, false});
  for (const Field<analyze::KernelTime>& field : kernel_fields()) {
    if (!field.shown || field.shown->heading.empty()) continue;
    const std::string& heading = field.shown->heading;
    const auto in = [&](Form form) { return (field.shown->forms & only(form)) != 0; };
    EXPECT_EQ(markdown.find("| " + heading + " |") != std::string::npos, in(Form::kMarkdown)) << heading;
    EXPECT_TRUE(!in(Form::kPage) || page.find(">" + heading + "</th>") != std::string::npos) << heading;
    EXPECT_TRUE(!in(Form::kTerminal) || terminal.find(heading) != std::string::npos) << heading;
  }
}

const trace::AddedTable* find_table(const std::vector<trace::AddedTable>& tables, std::string_view name) {
  for (const trace::AddedTable& table : tables)
    if (table.name == name) return &table;
  return nullptr;
}

TEST(Description, PredictsNothingOfFindingsThatWinNothing) {
  analyze::Analysis analysis = fabricate::device_analysis();
  ASSERT_GT(analysis.findings.size(), 1u);
  analysis.findings.front().predicted_gain_ms = 0;
  const auto rows = OrderedJson::parse(explain_json(analysis)).at("findings");
  EXPECT_TRUE(rows.at(0).at("predicted_gain_ms").is_null());
  EXPECT_TRUE(rows.at(1).at("predicted_gain_ms").is_number());
}

TEST(AnalysisTables, HoldWhatTheJsonHolds) {
  const analyze::Analysis analysis = fabricate::device_analysis();
  const std::vector<trace::AddedTable> tables = analysis_tables(analysis);
  const trace::AddedTable* ledger = find_table(tables, "ledger");
  ASSERT_NE(ledger, nullptr);
  ASSERT_EQ(ledger->rows.size(), analysis.ledger.size());
  ASSERT_EQ(ledger->columns.size(), ledger->rows.front().size());
  EXPECT_EQ(ledger->columns.front().name, "cause");
  EXPECT_EQ(std::get<std::string>(ledger->rows.front().front()), "floor");
  const trace::AddedTable* kernels = find_table(tables, "step_kernels");
  ASSERT_NE(kernels, nullptr);
  EXPECT_EQ(kernels->rows.size(), analysis.kernels.size());
  const trace::AddedTable* figures = find_table(tables, "analysis");
  ASSERT_NE(figures, nullptr);
  bool found = false;
  for (const auto& row : figures->rows)
    if (std::get<std::string>(row[0]) == "step.median_ms") {
      found = true;
      EXPECT_EQ(std::get<double>(row[1]), analysis.step.ms.median);
    }
  EXPECT_TRUE(found);
}

TEST(AnalysisTables, NumberTheRowsThatPartsBelongTo) {
  analyze::Analysis analysis = fabricate::device_analysis();
  analysis.findings.front().parts.clear();
  analysis.findings[1].parts = {{"aten::item", 7.1, 148}};
  const std::vector<trace::AddedTable> tables = analysis_tables(analysis);
  const trace::AddedTable* parts = find_table(tables, "finding_parts");
  ASSERT_NE(parts, nullptr);
  ASSERT_FALSE(parts->rows.empty());
  EXPECT_EQ(std::get<int64_t>(parts->rows.front()[0]), 2);
  EXPECT_EQ(std::get<std::string>(parts->rows.front()[1]), "aten::item");
}

// Tables are there without rows, too: a query about ranks has an answer for one rank.
TEST(AnalysisTables, AreAllThereWhateverWasFound) {
  const auto names = [](const analyze::Analysis& analysis) {
    std::set<std::string> all;
    for (const trace::AddedTable& table : analysis_tables(analysis)) all.insert(table.name);
    return all;
  };
  EXPECT_EQ(names({}), names(fabricate::device_analysis()));
}

}  // namespace
}  // namespace hone::report

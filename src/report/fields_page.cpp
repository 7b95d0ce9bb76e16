#include "report/fields_page.h"

#include <fmt/format.h>

#include "report/description/analysis.h"
#include "report/description/live_fields.h"
#include "report/live.h"

namespace hone::report {
namespace {

std::string field_table(const std::vector<FieldInfo>& fields) {
  std::string out = "| name | type | meaning |\n|---|---|---|\n";
  for (const FieldInfo& field : fields) {
    std::string more;
    if (!field.inner.empty()) more = fmt::format("; [fields](#{})", field.name);
    out += fmt::format("| `{}` | {} | {}{} |\n", field.name, unit_text(field.unit), field.meaning, more);
  }
  return out + "\n";
}

std::string sections(const std::vector<FieldInfo>& fields) {
  std::string out;
  for (const FieldInfo& field : fields) {
    if (field.inner.empty()) continue;
    out += fmt::format("## {}\n\n{}{}.\n\n", field.name,
                       field.sql.empty() ? "" : fmt::format("In SQL `{}`: ", field.sql), field.meaning);
    out += field_table(field.inner) + sections(field.inner);
  }
  return out;
}

}  // namespace

std::string fields_page() {
  const std::vector<FieldInfo> fields = field_infos(analysis_fields());
  return "# What explain.json holds\n\n"
         "Every number of the report, unrounded; sentences are for people, and what they count stands beside "
         "them. A name never changes its meaning. `hone explain --sql FILE` has the tables as tables and "
         "everything "
         "else in `analysis(name, value)`, by names such as `floor_ms` and `step.median_ms`; lists are JSON "
         "text, for "
         "`json_each()`. Times are those of one step unless a field says otherwise.\n\n"
         "This page is generated from the description that the program itself writes from "
         "(`src/report/description`): `hone explain --fields`.\n\n" +
         field_table(fields) + sections(fields);
}

std::string live_fields_page() {
  const std::vector<FieldInfo> fields = field_infos(live_fields());
  return "# What hone top --json writes\n\n"
         "One object a picture. What is not known is null, never 0. Shares are parts of 1, rates are means "
         "over the "
         "interval; a name never changes its meaning. [top.md](top.md) says where the figures come from.\n\n"
         "This page is generated from the description that the program itself writes from "
         "(`src/report/description/live_fields.cpp`): `hone top --fields`.\n\n" +
         field_table(fields) + sections(fields);
}

}  // namespace hone::report

#include "report/precision_words.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "core/units.h"
#include "report/text.h"

namespace hone::report {
namespace {

using analyze::OperatorPrecision;

std::string measured_text(const std::optional<double>& error) { return error ? error_text(*error) : ""; }

// What stays in f32 in the order of the graph, then the others, the farthest off first.
std::vector<const OperatorPrecision*> by_weight(const analyze::PassRow& pass) {
  std::vector<const OperatorPrecision*> rows;
  for (const OperatorPrecision& row : pass.precision) rows.push_back(&row);
  const auto weight = [](const OperatorPrecision& row) {
    return row.kept_f32 ? HUGE_VAL : row.rel_err.value_or(-1);
  };
  std::stable_sort(rows.begin(), rows.end(), [&](const OperatorPrecision* a, const OperatorPrecision* b) {
    if (a->kept_f32 != b->kept_f32) return a->kept_f32;
    return weight(*a) > weight(*b);
  });
  return rows;
}

}  // namespace

std::string precision_sentence(const analyze::PassRow& pass, std::size_t most) {
  if (pass.precision.empty()) return "";
  const auto narrow = std::find_if(pass.precision.begin(), pass.precision.end(),
                                   [](const OperatorPrecision& row) { return !row.kept_f32; });
  const auto kept =
      static_cast<std::size_t>(std::count_if(pass.precision.begin(), pass.precision.end(),
                                             [](const OperatorPrecision& row) { return row.kept_f32; }));
  const std::size_t all = pass.precision.size();
  std::string text = fmt::format(
      "{}: {} in {}, {} beside them in f32", pass.name, counted(static_cast<int64_t>(all - kept), "operator"),
      narrow != pass.precision.end() ? narrow->type : std::string("a narrow type"), kept);
  if (all > most) text += fmt::format("; the {} that tell most", most);
  return text;
}

Grid precision_grid(const analyze::PassRow& pass, std::size_t most) {
  Grid grid;
  grid.columns = {
      {.heading = "operator", .narrow = "", .kind = ColumnKind::kName},
      {.heading = "type", .narrow = "in", .kind = ColumnKind::kText},
      {.heading = "error alone", .narrow = "alone", .kind = ColumnKind::kNumber},
      {.heading = "in the model", .narrow = "in the model", .kind = ColumnKind::kNumber},
      {.heading = "largest", .narrow = "largest", .kind = ColumnKind::kNumber, .wide_only = true}};
  for (const OperatorPrecision* row : by_weight(pass)) {
    if (grid.rows.size() == most) break;
    GridCell name{.text = shortened(clean_utf8(row->node), 48)};
    name.under = {clean_utf8(row->op)};
    if (name.text != row->node) name.whole = shortened(clean_utf8(row->node), 400);
    grid.rows.push_back(
        {.cells = {std::move(name),
                   {.text = row->type},
                   {.text = measured_text(row->rel_err), .value = row->rel_err},
                   {.text = measured_text(row->carried_rel_err), .value = row->carried_rel_err},
                   {.text = row->largest ? fmt::format("{:.3g}", *row->largest) : "", .value = row->largest}},
         .note = shortened(clean_utf8(row->why), 240)});
  }
  return grid;
}

std::string_view precision_note() {
  return "Relative L2 errors against the reference, on this experiment's inputs: of the operator when it "
         "alone is in the narrow type, and in the model as it is after the pass.";
}

}  // namespace hone::report

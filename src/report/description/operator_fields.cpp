// Operators: those that take most, all of them, and those that only other ranks run.
#include "core/units.h"
#include "report/description/analysis.h"
#include "report/description/grids.h"
#include "report/svg/chart.h"
#include "report/text.h"
#include "report/words.h"

namespace hone::report {
namespace {

using analyze::Analysis, analyze::ElsewhereOperator, analyze::OperatorTime, analyze::TopOperator;

constexpr std::size_t kTopPageInputs = 90, kTopTerminalInputs = 75;

trace::OperatorClass class_of(const Analysis& side, uint32_t op) {
  for (const OperatorTime& row : side.operators)
    if (row.op == op) return row.op_class;
  return trace::OperatorClass::kOther;
}

// What it is under its name: inputs, and where the form has no column for it the reason.
void complete_name(GridCell& cell, const TopOperator& row, const Analysis&, Form form) {
  if (form == Form::kMarkdown) return;
  const OperatorName name = operator_name(row.name, row.kind);
  cell.text = name.head;
  if (form == Form::kPage)
    cell.under = {clipped(clean_utf8(name.inputs.empty() ? row.kind : name.inputs), kTopPageInputs)};
  if (form == Form::kTerminal && !name.inputs.empty())
    cell.under = {shortened(clean_utf8(name.inputs), kTopTerminalInputs)};
}

std::string known_roof(const TopOperator& row, const Analysis&) {
  return row.roof == "unknown" ? "–" : row.roof;
}

}  // namespace

const Fields<TopOperator>& top_fields() {
  using Row = TopOperator;
  static const Fields<Row> fields = {
      Field<Row>("rank", Unit::kInteger, "from 1", &Row::rank)
          .show({.heading = "#", .forms = Form::kMarkdown | Form::kPage}),
      {"op", Unit::kName, "its kind: `Conv`, `aten::mm`", &Row::kind},
      Field<Row>("name", Unit::kName, "in the model; in a trace the kind with its inputs", &Row::name)
          .show({.heading = "operator", .more = complete_name}),
      Field<Row>("ms", Unit::kMs, "of the step's wall time", &Row::ms)
          .show({.heading = "time", .narrow = "takes"}),
      Field<Row>("share", Unit::kShare, "of the step", &Row::share)
          .show({.heading = "share",
                 .kind = ColumnKind::kShare,
                 .more = [](GridCell& cell, const Row& row, const Analysis& a,
                            Form) { cell.css = svg::operator_class_css(class_of(a, row.op)); }}),
      Field<Row>("flops", Unit::kFlops, "of the operator's definition", &Row::flops)
          .show({.heading = "work", .narrow = "does"}),
      {"least_flops", Unit::kFlops, "of the known algorithm that needs fewest", &Row::least_flops},
      {"executed_flops", Unit::kFlops, "of the algorithm that ran", &Row::executed_flops},
      {"algorithm", Unit::kText, "its name; empty: the definition", &Row::algorithm},
      Field<Row>("bytes", Unit::kBytes, "read and written", &Row::bytes)
          .show({.heading = "traffic", .narrow = "moves", .wide_only = true}),
      Field<Row>("intensity", Unit::kFlopPerByte, "executed FLOP per byte", &Row::intensity)
          .show({.heading = "intensity",
                 .forms = Form::kMarkdown | Form::kPage,
                 .narrow = "at",
                 .text =
                     [](const Row& row, const Analysis&) {
                       return row.bytes > 0 ? format_intensity(row.intensity) : "–";
                     }}),
      Field<Row>("roof", Unit::kText, "what bounds the kernel that ran: `f32 compute`, `DRAM`; `unknown`",
                 &Row::roof)
          .show({.heading = "roof", .narrow = "roof", .kind = ColumnKind::kNumber, .text = known_roof}),
      {"floor_ms", Unit::kMs, "what this machine needs at least", &Row::floor_ms},
      Field<Row>("fraction_of_roof", Unit::kShare, "what the kernel that ran reaches of its roof",
                 &Row::fraction_of_roof)
          .show({.heading = "of roof",
                 .narrow = "reaches",
                 .text = [](const Row& row, const Analysis&) { return roof_share(row); }}),
      Field<Row>("why", Unit::kText, "why it takes what it takes, in words", &Row::why)
          .show({.heading = "why", .forms = only(Form::kMarkdown)}),
  };
  return fields;
}

const Fields<OperatorTime>& operator_fields() {
  using Row = OperatorTime;
  static const Fields<Row> fields = {
      {"name", Unit::kName, "unique in its plan", &Row::name},
      {"op", Unit::kName, "its kind", &Row::kind},
      {"class", Unit::kText, "`matrix`, `convolution`, `pointwise`, …", &Row::op_class},
      {"implementation", Unit::kName, "the kernel that ran", &Row::implementation},
      {"provenance", Unit::kList, "names in the user's model", &Row::provenance},
      {"ms", Unit::kMs, "`median`, `low` and `high` of the step's wall time", &Row::ms},
      {"share", Unit::kShare, "of the step", &Row::share},
      {"flops", Unit::kFlops, "of the operator's definition", &Row::flops},
      {"bytes", Unit::kBytes, "read and written", &Row::bytes},
      {"floor_ms", Unit::kMs, "what this machine needs at least", &Row::floor_ms},
      {"roof", Unit::kText, "what bounds the kernel that ran", &Row::roof},
      {"fraction_of_roof", Unit::kShare, "what the kernel that ran reaches of it", &Row::fraction_of_roof},
      {"main_cause", Unit::kText, "the cause of most of its time", &Row::main_cause},
      {"calls", Unit::kCount, "executions; null: not counted",
       [](const Row& row) { return row.calls > 0 ? std::optional(row.calls) : std::nullopt; }},
  };
  return fields;
}

const Fields<ElsewhereOperator>& elsewhere_fields() {
  using Row = ElsewhereOperator;
  static const Fields<Row> fields = {
      {"name", Unit::kName, "the kind with its inputs", &Row::name},
      {"op", Unit::kName, "its kind", &Row::kind},
      {"ranks", Unit::kList, "that run it", &Row::ranks},
      {"ms", Unit::kMs, "a step of the rank on which it takes longest", &Row::ms},
      {"calls", Unit::kCount, "there", &Row::calls},
  };
  return fields;
}

Grid top_grid(const Analysis& analysis, Form form) {
  constexpr std::size_t kNameColumn = 1;
  Grid grid = make_grid(top_fields(), analysis.top, analysis, form);
  if (kNameColumn < grid.columns.size() && !top_noun(analysis).empty())
    grid.columns[kNameColumn].heading = top_noun(analysis);
  if (form == Form::kMarkdown) return grid;
  for (std::size_t i = 0; i < grid.rows.size(); ++i) grid.rows[i].note = analysis.top[i].why;
  return grid;
}

}  // namespace hone::report

// What only traces of devices have: kernels, numbers to steer by, phases, the critical path, coverage.
#include <algorithm>

#include <fmt/format.h>

#include "core/units.h"
#include "report/description/analysis.h"
#include "report/description/grids.h"
#include "report/device_words.h"
#include "report/svg/chart.h"
#include "report/text.h"

namespace hone::report {
namespace {

using analyze::Analysis, analyze::Coverage, analyze::KernelTime, analyze::Metric, analyze::PathSegment,
    analyze::PhaseShare;

constexpr std::size_t kTerminalNames = 60, kPageNames = 160;  // columns of an operator's name

void complete_kernel(GridCell& cell, const KernelTime& row, const Analysis&, Form form) {
  if (form == Form::kMarkdown) return;
  cell.whole = row.full_name;
  const std::string what = kernel_detail(row, form == Form::kPage ? kPageNames : kTerminalNames);
  if (!what.empty()) cell.under = {what};
}

void complete_metric(GridCell& cell, const Metric& row, const Analysis&, Form form) {
  if (form == Form::kPage) cell.under = {metric_detail(row)};
  if (form == Form::kTerminal && !row.doubt.empty()) cell.under = {row.doubt};
}

}  // namespace

const Fields<KernelTime>& kernel_fields() {
  using Row = KernelTime;
  static const Fields<Row> fields = {
      Field<Row>("name", Unit::kName, "short enough to read", &Row::name)
          .show({.heading = "kernel", .more = complete_kernel}),
      {"full_name", Unit::kName, "as the trace has it", &Row::full_name},
      Field<Row>("family", Unit::kText, "what it does: `matrix product, cuBLAS`", &Row::family)
          .show({.heading = "what it does", .forms = only(Form::kMarkdown)}),
      Field<Row>("precision", Unit::kText, "`bf16 on tensor cores`; empty: unknown", &Row::precision)
          .show({.heading = "precision", .forms = only(Form::kMarkdown)}),
      Field<Row>(
          {.heading = "launched by",
           .forms = only(Form::kMarkdown),
           .kind = ColumnKind::kName,
           .text = [](const Row& row,
                      const Analysis&) { return row.operators.empty() ? "" : row.operators.front(); }}),
      Field<Row>("ms", Unit::kMs, "of the step's wall time", &Row::ms)
          .show({.heading = "time", .narrow = "takes"}),
      Field<Row>("share", Unit::kShare, "of the step", &Row::share)
          .show({.heading = "share",
                 .kind = ColumnKind::kShare,
                 .more = [](GridCell& cell, const Row& row, const Analysis&,
                            Form) { cell.css = svg::cause_class(row.main_cause); }}),
      Field<Row>("launches", Unit::kCount, "of this kernel", &Row::launches)
          .show({.heading = "launches", .narrow = "launches"}),
      Field<Row>("mean_us", Unit::kUs, "of one launch", &Row::mean_us)
          .show({.heading = "mean", .narrow = "each"}),
      {"main_cause", Unit::kText, "the cause of most of its time", &Row::main_cause},
      {"operators", Unit::kList, "that launch it, largest first", &Row::operators},
      {"why", Unit::kText, "why it takes what it takes, in words", &Row::why},
  };
  return fields;
}

const Fields<Metric>& metric_fields() {
  using Row = Metric;
  static const Fields<Row> fields = {
      {"name", Unit::kText, "`gpu_busy_share`", &Row::name},
      Field<Row>("label", Unit::kText, "the name for people", &Row::label)
          .show({.heading = "number",
                 .text = [](const Row& row,
                            const Analysis&) { return row.measured ? row.label + " (measured)" : row.label; },
                 .more = complete_metric}),
      Field<Row>("formula", Unit::kText, "how it is computed, in words", &Row::formula)
          .show({.heading = "formula",
                 .forms = only(Form::kMarkdown),
                 .text = [](const Row& row, const Analysis&) { return metric_detail(row); }}),
      Field<Row>("value", Unit::kNumber, "in `unit`", &Row::value)
          .show({.heading = "value",
                 .narrow = "is",
                 .text = [](const Row& row, const Analysis&) { return metric_value(row); }}),
      {"unit", Unit::kText, "`%`, `ms`, `GB/s`, …; empty: a plain number", &Row::unit},
      Field<Row>("target", Unit::kNumber, "what it should be, in `unit`; null: none", &Row::target)
          .show({.heading = "target",
                 .narrow = "target",
                 .text = [](const Row& row, const Analysis&) { return metric_target(row); }}),
      {"higher_is_better", Unit::kFlag, "false: lower is better", &Row::higher_is_better},
      Field<Row>("reached", Unit::kFlag, "it is as good as its target, and can be right", &Row::reached)
          .show({.kind = ColumnKind::kMark,
                 .text = [](const Row& row, const Analysis&) { return std::string(metric_mark(row)); },
                 .more = [](GridCell& cell, const Row& row, const Analysis&,
                            Form) { cell.css = row.reached() ? "yes" : "fail"; }}),
      {"note", Unit::kText, "what to know before trusting it; may be empty", &Row::note},
      {"doubt", Unit::kText, "why it cannot be right; empty: it can", &Row::doubt},
      {"measured", Unit::kFlag, "by hardware counters, sampled over steps of the same run", &Row::measured},
  };
  return fields;
}

const Fields<PhaseShare>& phase_fields() {
  using Row = PhaseShare;
  static const Fields<Row> fields = {
      Field<Row>("phase", Unit::kText, "`forward`, `backward`, `optimizer`, …", &Row::phase)
          .show({.heading = "phase",
                 .text =
                     [](const Row& row, const Analysis&) {
                       return row.phase == trace::Phase::kUnknown ? "none"
                                                                  : std::string(trace::phase_name(row.phase));
                     }}),
      Field<Row>("ms", Unit::kMs, "in which the device is busy", &Row::ms).show({.heading = "device time"}),
      Field<Row>("share", Unit::kShare, "of the step", &Row::share).show({.heading = "share"}),
  };
  return fields;
}

const Fields<PathSegment>& path_fields() {
  using Row = PathSegment;
  static const Fields<Row> fields = {
      Field<Row>("name", Unit::kName, "what ran", &Row::name)
          .show({.heading = "what",
                 .more =
                     [](GridCell& cell, const Row& row, const Analysis&, Form form) {
                       if (form == Form::kPage) cell.under = {row.track};
                     }}),
      Field<Row>("kind", Unit::kText, "`host`, `kernel`, `copy`, `collective`, `latency`", &Row::kind)
          .show({.heading = "kind", .narrow = "kind"}),
      Field<Row>("track", Unit::kText, "`rank 0 · thread 597`, `rank 0 · stream 7`", &Row::track)
          .show({.heading = "where", .forms = Form::kTerminal | Form::kMarkdown}),
      Field<Row>("start_ms", Unit::kMs, "in the drawn step", &Row::start_ms)
          .show({.heading = "from", .forms = Form::kMarkdown | Form::kPage, .narrow = "from"}),
      Field<Row>("ms", Unit::kMs, "how long it takes", &Row::ms)
          .show({.heading = "takes", .narrow = "takes"}),
  };
  return fields;
}

const Fields<Coverage>& coverage_fields() {
  using Row = Coverage;
  static const Fields<Row> fields = {
      {"linked_share", Unit::kShare, "of the device's time: with the operator that launched it",
       &Row::linked_share},
      {"costed_share", Unit::kShare, "of the device's time: with known FLOPs or bytes", &Row::costed_share},
      {"unlinked_kernels", Unit::kCount, "kernels without an operator", &Row::unlinked_kernels},
      {"unknown", Unit::kList, "the largest operators and kernels without costs", &Row::unknown},
  };
  return fields;
}

Grid kernel_grid(const Analysis& analysis, Form form, std::size_t most) {
  std::vector<KernelTime> rows = analysis.kernels;
  rows.resize(std::min(most, rows.size()));
  return make_grid(kernel_fields(), rows, analysis, form);
}

Grid metric_grid(const Analysis& analysis, Form form) {
  return make_grid(metric_fields(), analysis.targets, analysis, form);
}

Grid phase_grid(const Analysis& analysis, Form form) {
  return make_grid(phase_fields(), analysis.phases, analysis, form);
}

Grid path_grid(const Analysis& analysis, Form form, const std::vector<PathSegment>& rows) {
  return make_grid(path_fields(), rows, analysis, form);
}

}  // namespace hone::report

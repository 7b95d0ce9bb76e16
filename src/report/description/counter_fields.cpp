// Kernels under the hardware counters.
#include <fmt/format.h>

#include "core/units.h"
#include "report/counter_words.h"
#include "report/description/analysis.h"
#include "report/description/grids.h"

namespace hone::report {
namespace {

using analyze::Analysis, analyze::CountedKernel, analyze::CounterFigure, analyze::HotLine,
    analyze::KernelFinding;

void complete_counted(GridCell& cell, const CountedKernel& row, const Analysis&, Form form) {
  if (form == Form::kMarkdown) return;
  cell.whole = row.full_name;
  cell.under = {launch_text(row)};
}

}  // namespace

const Fields<CounterFigure>& counter_figure_fields() {
  using Row = CounterFigure;
  static const Fields<Row> fields = {
      {"section", Unit::kText, "`speed of light`, `memory`, `compute`, `occupancy`, `stalls`", &Row::section},
      {"name", Unit::kText, "`dram_throughput`: of one meaning in all kernels", &Row::name},
      Field<Row>("label", Unit::kText, "the name for people", &Row::label)
          .show({.heading = "counter",
                 .more =
                     [](GridCell& cell, const Row& row, const Analysis&, Form form) {
                       if (form == Form::kPage && !row.note.empty()) cell.under = {row.note};
                     }}),
      Field<Row>("value", Unit::kNumber, "in `unit`", &Row::value)
          .show({.heading = "value",
                 .narrow = "is",
                 .text = [](const Row& row, const Analysis&) { return figure_text(row); }}),
      {"unit", Unit::kText, "`%`, `bytes`, `FLOP`, `us`, …; empty: a plain number", &Row::unit},
      Field<Row>("note", Unit::kText, "what it means; may be empty", &Row::note)
          .show({.heading = "", .forms = only(Form::kMarkdown)}),
  };
  return fields;
}

const Fields<KernelFinding>& kernel_finding_fields() {
  using Row = KernelFinding;
  static const Fields<Row> fields = {
      {"rule", Unit::kText, "its stable name, as `rule` of a finding: `bank_conflicts`", &Row::rule},
      {"cause", Unit::kText, "the cause in the ledger", &Row::cause},
      {"title", Unit::kText, "what is wrong, in words", &Row::title},
      {"evidence", Unit::kList, "what was measured, with what it should be", &Row::evidence},
      {"fix", Unit::kText, "what to do", &Row::fix},
      {"predicted_gain_us", Unit::kUs, "of one launch; no more than the roofs allow",
       &Row::predicted_gain_us},
      {"gain_is_bound", Unit::kFlag, "the fix wins that at most", &Row::gain_is_bound},
  };
  return fields;
}

const Fields<HotLine>& hot_line_fields() {
  using Row = HotLine;
  static const Fields<Row> fields = {
      Field<Row>("file", Unit::kName, "path of the source; empty: not known", &Row::file)
          .show({.heading = "line",
                 .text = [](const Row& row, const Analysis&) { return place_text(row); },
                 .more =
                     [](GridCell& cell, const Row& row, const Analysis&, Form form) {
                       if (form == Form::kMarkdown) return;
                       if (!row.file.empty()) cell.whole = fmt::format("{}:{}", row.file, row.line);
                       if (!row.source.empty()) cell.under = {row.source};
                     }}),
      {"line", Unit::kInteger, "in it; 0: not known", &Row::line},
      Field<Row>("source", Unit::kName, "what stands there; empty: the file could not be read", &Row::source)
          .show({.heading = "source", .forms = only(Form::kMarkdown)}),
      {"function", Unit::kName, "that its first sampled instruction is in", &Row::function},
      {"offset", Unit::kInteger, "of that instruction, bytes from the beginning of the function",
       &Row::offset},
      {"samples", Unit::kCount, "how often a warp was found there", &Row::samples},
      Field<Row>("share", Unit::kShare, "of the kernel's samples", &Row::share)
          .show({.heading = "of samples"}),
      {"stall", Unit::kText, "why most of them had not gone on: `long_scoreboard`, as CUPTI names it",
       &Row::stall},
      Field<Row>("waits_for", Unit::kText, "that, in words", &Row::waits_for)
          .show(
              {.heading = "mostly", .text = [](const Row& row, const Analysis&) { return stall_text(row); }}),
      {"stall_share", Unit::kShare, "of the line's samples, that reason", &Row::stall_share},
  };
  return fields;
}

const Fields<CountedKernel>& counted_kernel_fields() {
  using Row = CountedKernel;
  static const Fields<Row> fields = {
      Field<Row>("name", Unit::kName, "short enough to read", &Row::name)
          .show({.heading = "kernel", .more = complete_counted}),
      {"full_name", Unit::kName, "as the trace has it", &Row::full_name},
      {"family", Unit::kText, "what it does: `matrix product, cuBLAS`; empty: unknown", &Row::family},
      {"rank", Unit::kInteger, "the process that ran it", &Row::rank},
      {"device", Unit::kInteger, "where it ran", &Row::device},
      {"grid", Unit::kText, "its blocks: `512×1×1`", &Row::grid},
      {"block", Unit::kText, "threads of a block: `256×1×1`", &Row::block},
      {"blocks", Unit::kCount, "of its grid", &Row::blocks},
      {"threads", Unit::kCount, "of a block", &Row::threads},
      {"registers", Unit::kCount, "of a thread; 0: not known", &Row::registers},
      {"shared_bytes", Unit::kBytes, "shared memory of a block", &Row::shared_bytes},
      {"launches", Unit::kCount, "that were counted; all numbers are their means", &Row::launches},
      {"passes", Unit::kCount, "how often each ran to be counted, at most; 0: not known", &Row::passes},
      {"in_full", Unit::kFlag, "all that can be counted was, as of a kernel that is named by --kernel",
       &Row::in_full},
      {"once", Unit::kFlag,
       "time and traffic to DRAM are of launches that ran once, with caches as the program left them",
       &Row::once},
      Field<Row>("us", Unit::kUs, "of one launch, as counted, alone", &Row::us)
          .show({.heading = "a launch", .narrow = "a launch takes"}),
      Field<Row>("step_ms", Unit::kMs, "of the step, in the timeline; 0: it is not there", &Row::step_ms)
          .show({.heading = "of the step",
                 .narrow = "of the step",
                 .text =
                     [](const Row& row, const Analysis& a) {
                       return row.step_ms > 0 ? fixed_ms(row.step_ms, a.step.ms.median) : "–";
                     }}),
      {"share", Unit::kShare, "of the step", &Row::share},
      Field<Row>("flops", Unit::kFlops, "of one launch, as instructions did them", &Row::flops)
          .show({.heading = "measured work", .narrow = "does", .wide_only = true}),
      Field<Row>("dram_bytes", Unit::kBytes, "read from and written to DRAM by one launch", &Row::dram_bytes)
          .show({.heading = "DRAM", .narrow = "moves", .wide_only = true}),
      {"intensity", Unit::kFlopPerByte, "measured FLOP per byte of DRAM", &Row::intensity},
      Field<Row>("roof", Unit::kText, "by what was measured: `f32 compute`, `DRAM`; empty: unknown",
                 &Row::roof)
          .show({.heading = "roof",
                 .narrow = "roof",
                 .kind = ColumnKind::kNumber,
                 .text = [](const Row& row,
                            const Analysis&) { return row.roof.empty() ? std::string("–") : row.roof; }}),
      Field<Row>("fraction_of_roof", Unit::kShare, "what it reaches of that", &Row::fraction_of_roof)
          .show({.heading = "of roof",
                 .narrow = "reaches",
                 .text =
                     [](const Row& row, const Analysis&) {
                       return row.roof.empty() ? std::string("–") : format_percent(row.fraction_of_roof);
                     }}),
      Field<Row>("bound", Unit::kText,
                 "the busiest unit: `DRAM`, `L2`, `L1 and shared memory`, `compute`; `latency`: none is busy",
                 &Row::bound)
          .show({.heading = "bound by", .narrow = "bound by", .wide_only = true}),
      Field<Row>("sentence", Unit::kText, "what bounds it and what is wrong, in words", &Row::sentence)
          .show({.heading = "why", .forms = only(Form::kMarkdown)}),
      {"operator_flops", Unit::kFlops, "of one launch, by the shapes of its operator; 0: unknown",
       &Row::operator_flops},
      {"operator_bytes", Unit::kBytes, "likewise: each input read once, each output written once",
       &Row::operator_bytes},
      {"disagreement", Unit::kText, "where what was measured and what follows from shapes differ much",
       &Row::disagreement},
      table_field("figures", "kernel_counters", "the numbers, by section", counter_figure_fields(),
                  &Row::figures),
      table_field("findings", "kernel_findings", "what is wrong with it, largest gain first",
                  kernel_finding_fields(), &Row::findings),
      {"samples", Unit::kCount, "of the places where its warps were; 0: it was not sampled", &Row::samples},
      {"line_info", Unit::kText,
       "whether the source lines of most samples are known: `known`, `none` (compiled without), `code "
       "unseen`",
       &Row::line_info},
      table_field("lines", "kernel_lines", "where its warps were found, hottest line first",
                  hot_line_fields(), &Row::lines),
  };
  return fields;
}

Grid counted_grid(const Analysis& analysis, Form form) {
  Grid grid = make_grid(counted_kernel_fields(), analysis.counted_kernels, analysis, form);
  if (form == Form::kMarkdown) return grid;
  for (std::size_t i = 0; i < grid.rows.size(); ++i) grid.rows[i].note = analysis.counted_kernels[i].sentence;
  return grid;
}

Grid hot_line_grid(const Analysis& analysis, const CountedKernel& kernel, Form form) {
  return make_grid(hot_line_fields(), kernel.lines, analysis, form);
}

Grid figure_grid(const Analysis& analysis, const CountedKernel& kernel, std::string_view section, Form form) {
  std::vector<CounterFigure> rows;
  for (const CounterFigure& row : kernel.figures)
    if (row.section == section) rows.push_back(row);
  return make_grid(counter_figure_fields(), rows, analysis, form);
}

}  // namespace hone::report

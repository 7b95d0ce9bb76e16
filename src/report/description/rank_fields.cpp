// Ranks, what the late one does otherwise, collectives.
#include <fmt/format.h>

#include "core/units.h"
#include "report/description/analysis.h"
#include "report/description/grids.h"
#include "report/device_words.h"
#include "report/rank_words.h"
#include "report/text.h"

namespace hone::report {
namespace {

using analyze::Analysis, analyze::CollectiveSummary, analyze::LateRank, analyze::LeftOutRank,
    analyze::RankOperator, analyze::RankSummary;

constexpr std::size_t kLatePageInputs = 180;

std::string late_heading(const Analysis& a) { return fmt::format("rank {}", a.late_rank->rank); }
std::string shown_heading(const Analysis& a) { return fmt::format("rank {}", a.ledger_rank); }

// On the page the inputs stand under the kind, and the name leads to the longest in the timeline.
void complete_operator(GridCell& cell, const RankOperator& row, const Analysis& a, Form form) {
  if (form != Form::kPage) return;
  cell.text = operator_name(row.name, row.kind).head;
  cell.under = {clipped(clean_utf8(late_inputs(row, a)), kLatePageInputs)};
  cell.place = row.place;
}

// On the page the file stands under the rank, with the device.
void complete_rank(GridCell& cell, const RankSummary& row, const Analysis&, Form form) {
  if (form != Form::kPage) return;
  cell.text = "rank " + cell.text;
  cell.under = {row.source + (row.device.empty() ? "" : ", " + row.device)};
}

}  // namespace

const Fields<LeftOutRank>& left_out_fields() {
  static const Fields<LeftOutRank> fields = {
      {"rank", Unit::kInteger, "its number", &LeftOutRank::rank},
      {"why", Unit::kText, "it is of another run", &LeftOutRank::why},
  };
  return fields;
}

const Fields<RankSummary>& rank_fields() {
  using Row = RankSummary;
  static const Fields<Row> fields = {
      Field<Row>("rank", Unit::kInteger, "its number", &Row::rank)
          .show({.heading = "rank",
                 .kind = ColumnKind::kText,
                 .text = [](const Row& row, const Analysis&) { return rank_text(row); },
                 .more = complete_rank}),
      {"device_index", Unit::kInteger, "of a process that drives several; null: it drives one",
       [](const Row& row) { return row.device_index < 0 ? std::nullopt : std::optional(row.device_index); }},
      {"device", Unit::kText, "its name", &Row::device},
      Field<Row>("step_ms", Unit::kMs, "its step", &Row::step_ms).show({.heading = "step", .narrow = "step"}),
      Field<Row>("busy_share", Unit::kShare, "in which its device works", &Row::busy_share)
          .show({.heading = "busy", .narrow = "busy"}),
      Field<Row>("compute_ms", Unit::kMs, "device time of its own, without collectives", &Row::compute_ms)
          .show({.heading = "computes", .narrow = "computes"}),
      {"collectives", Unit::kCount, "with other ranks", &Row::collectives},
      Field<Row>("latest_ms", Unit::kMs,
                 "its largest delay behind the first rank at any collective of a step", &Row::latest_ms)
          .show(
              {.heading = "latest",
               .narrow = "latest",
               .text = [](const Row& row, const Analysis& a) { return latest_text(row, a.step.ms.median); }}),
      Field<Row>("usually_late_us", Unit::kUs, "its median delay at collectives", &Row::usually_late_us)
          .show({.heading = "usually",
                 .narrow = "usually late",
                 .text = [](const Row& row, const Analysis&) { return usually_late_text(row); }}),
      {"lateness_ms", Unit::kMs,
       "its delays summed over a step: one delay counts for every collective under way", &Row::lateness_ms},
      Field<Row>("waiting_ms", Unit::kMs,
                 "in collectives that a later rank had not reached, while its device computed nothing",
                 &Row::waiting_ms)
          .show({.heading = "waits", .narrow = "waits"}),
      Field<Row>("source", Unit::kName, "its file", &Row::source)
          .show({.heading = "file", .forms = Form::kTerminal | Form::kMarkdown}),
      {"clock_shift_us", Unit::kUs, "added to its clock to align the ends of collectives",
       &Row::clock_shift_us},
  };
  return fields;
}

const Fields<RankOperator>& rank_operator_fields() {
  using Row = RankOperator;
  static const Fields<Row> fields = {
      Field<Row>("name", Unit::kName, "the late rank's; the shown rank's where only that runs it", &Row::name)
          .show({.heading = "operator", .more = complete_operator}),
      Field<Row>("shown_name", Unit::kName, "the shown rank's, where that runs it on other inputs; else null",
                 [](const Row& row) {
                   return row.shown_name.empty() ? std::nullopt : std::optional(row.shown_name);
                 })
          .show({.forms = only(Form::kMarkdown),
                 .kind = ColumnKind::kText,
                 .heading_of = [](const Analysis& a) { return "on " + shown_heading(a); }}),
      {"op", Unit::kName, "its kind", &Row::kind},
      Field<Row>("late_ms", Unit::kMs, "a step of the late rank", &Row::late_ms)
          .show({.narrow = "late rank",
                 .heading_of = late_heading,
                 .text =
                     [](const Row& row, const Analysis& a) {
                       return row.late_calls > 0 ? fixed_ms(row.late_ms, a.step.ms.median) : "–";
                     }}),
      Field<Row>("late_calls", Unit::kCount, "of the late rank", &Row::late_calls)
          .show({.heading = "calls",
                 .narrow = "calls",
                 .text = [](const Row& row, const Analysis&) { return calls_text(row.late_calls); }}),
      Field<Row>("shown_ms", Unit::kMs, "a step of the shown rank", &Row::shown_ms)
          .show({.narrow = "shown rank",
                 .heading_of = shown_heading,
                 .text =
                     [](const Row& row, const Analysis& a) {
                       return row.shown_calls > 0 ? fixed_ms(row.shown_ms, a.step.ms.median) : "–";
                     }}),
      Field<Row>("shown_calls", Unit::kCount, "of the shown rank", &Row::shown_calls)
          .show({.heading = "calls",
                 .narrow = "calls",
                 .text = [](const Row& row, const Analysis&) { return calls_text(row.shown_calls); }}),
      Field<Row>(
          {.heading = "difference",
           .narrow = "difference",
           .kind = ColumnKind::kNumber,
           .text = [](const Row& row,
                      const Analysis& a) { return signed_ms(row.late_ms - row.shown_ms, a.step.ms.median); },
           .more = [](GridCell& cell, const Row& row, const Analysis&,
                      Form) { cell.value = row.late_ms - row.shown_ms; }}),
  };
  return fields;
}

const Fields<LateRank>& late_rank_fields() {
  using Row = LateRank;
  static const Fields<Row> fields = {
      {"rank", Unit::kInteger, "its number", &Row::rank},
      {"cause", Unit::kText, "of the idle time that it alone has; null: it computes longer",
       [](const Row& row) {
         return row.cause == analyze::Cause::kFloor ? std::nullopt : std::optional(row.cause);
       }},
      {"longer_ms", Unit::kMs, "than the rank whose ledger is shown", &Row::longer_ms},
      {"removed_gain_ms", Unit::kMs, "what the step wins without what it does longer", &Row::removed_gain_ms},
      {"shared_gain_ms", Unit::kMs, "what it wins with that shared out; 0: it cannot be shared",
       &Row::shared_gain_ms},
      table_field("operators", "late_rank_operators",
                  "what it computes otherwise than the shown rank, largest difference first",
                  rank_operator_fields(), &Row::operators),
  };
  return fields;
}

const Fields<CollectiveSummary>& collective_fields() {
  using Row = CollectiveSummary;
  static const Fields<Row> fields = {
      Field<Row>("name", Unit::kName, "`all_reduce`", &Row::name)
          .show({.heading = "collective",
                 .more =
                     [](GridCell& cell, const Row& row, const Analysis&, Form form) {
                       if (form == Form::kTerminal) cell.text += ", " + row.group;
                       if (form == Form::kPage) cell.under = {row.group};
                     }}),
      Field<Row>("group", Unit::kText, "`default_pg (2 ranks)`", &Row::group)
          .show({.heading = "group", .forms = only(Form::kMarkdown)}),
      Field<Row>("count", Unit::kCount, "of collectives", &Row::count)
          .show({.heading = "a step",
                 .narrow = "a step",
                 .text = [](const Row& row, const Analysis&) { return fmt::format("{:.3g}", row.count); }}),
      Field<Row>("bytes", Unit::kBytes, "a step, of one rank", &Row::bytes)
          .show({.heading = "bytes",
                 .narrow = "bytes",
                 .text = [](const Row& row, const Analysis&) { return format_bytes(row.bytes); }}),
      Field<Row>("ms", Unit::kMs, "from the arrival of the last rank to the end", &Row::ms)
          .show({.heading = "takes", .narrow = "takes"}),
      Field<Row>("exposed_ms", Unit::kMs, "of that, while the device computed nothing", &Row::exposed_ms)
          .show({.heading = "exposed", .narrow = "exposed"}),
      Field<Row>("bus_bytes_per_s", Unit::kBytesPerSecond, "busbw: bytes on the busiest link ÷ `ms`",
                 &Row::bus_bytes_per_s)
          .show({.heading = "busbw", .narrow = "busbw"}),
      Field<Row>("roof_bytes_per_s", Unit::kBytesPerSecond, "what that link can carry; 0: unknown",
                 &Row::roof_bytes_per_s)
          .show({.heading = "roof", .forms = only(Form::kMarkdown)}),
      Field<Row>({.heading = "of roof",
                  .forms = Form::kTerminal | Form::kPage,
                  .narrow = "of roof",
                  .kind = ColumnKind::kNumber,
                  .text = [](const Row& row, const Analysis&) { return link_share(row); }}),
  };
  return fields;
}

Grid rank_grid(const Analysis& analysis, Form form) {
  return make_grid(rank_fields(), analysis.rank_summaries, analysis, form);
}

Grid late_rank_grid(const Analysis& analysis, Form form) {
  return make_grid(rank_operator_fields(), late_operators(analysis), analysis, form);
}

Grid collective_grid(const Analysis& analysis, Form form) {
  return make_grid(collective_fields(), analysis.collectives, analysis, form);
}

}  // namespace hone::report

#include "report/description/analysis.h"

#include "report/description/memory_fields.h"

namespace hone::report {
namespace {

using analyze::Analysis, analyze::RoofLine, analyze::StepTime;

const Fields<StepTime>& step_fields() {
  static const Fields<StepTime> fields = {
      {"count", Unit::kInteger, "steps measured", &StepTime::count},
      {"median_ms", Unit::kMs,
       "of the step that users run: measured without the recorder, where that was done in the same run and "
       "recorded "
       "steps are longer; else the median of the samples",
       [](const StepTime& step) { return step.ms.median; }},
      {"low_ms", Unit::kMs, "lower end of the median's distribution-free interval",
       [](const StepTime& step) { return step.ms.low; }},
      {"high_ms", Unit::kMs, "upper end of it", [](const StepTime& step) { return step.ms.high; }},
      {"recorded_ms", Unit::kMs,
       "`median`, `low` and `high` of the steps as they were recorded, where `median_ms` is not that; else "
       "null",
       &StepTime::recorded_ms},
      {"stalled_steps", Unit::kInteger,
       "where every few steps one takes far longer than the others, and that costs much: how many; "
       "`median_ms` then is the mean "
       "of the steps. Else 0",
       [](const StepTime& step) { return step.stalls ? step.stalls->count : 0; }},
      {"typical_ms", Unit::kMs, "where steps stall: the median of all, as recorded; else null",
       [](const StepTime& step) {
         return step.stalls ? std::optional(step.stalls->typical_ms) : std::nullopt;
       }},
      {"stalls_ms", Unit::kMs, "where steps stall: what that adds to a step on average; else null",
       [](const StepTime& step) { return step.stalls ? std::optional(step.stalls->cost_ms) : std::nullopt; }},
      {"samples_ms", Unit::kList, "one a step, in order of time, scaled to `median_ms`",
       &StepTime::samples_ms},
      {"unrecorded_ms", Unit::kMs,
       "`median`, `low` and `high` of the step without the recorder, from which gains are counted: measured "
       "where `unrecorded_measured` is true, else predicted; null: it cannot be predicted",
       &StepTime::unrecorded_ms},
      {"unrecorded_measured", Unit::kFlag,
       "whether that was measured in the same run, in steps that were not recorded",
       &StepTime::unrecorded_measured},
      {"recorder_ms", Unit::kMs,
       "`median`, `low` and `high` of what recording adds to a step; null: it was not measured",
       &StepTime::recorder_ms},
      {"how_found", Unit::kText, "`ProfilerStep ranges`, …", &StepTime::how_found},
      {"confidence", Unit::kShare, "that these are the program's steps; 1: marked", &StepTime::confidence},
      {"notes", Unit::kList, "warm-up and outlier steps by name", &StepTime::notes},
  };
  return fields;
}

const Fields<RoofLine>& roof_line_fields() {
  const auto known = [](double rate) { return rate > 0 ? std::optional(rate) : std::nullopt; };
  static const Fields<RoofLine> fields = {
      {"name", Unit::kText, "`bf16 compute`, `DRAM`", &RoofLine::name},
      {"flops_per_second", Unit::kFlopsPerSecond, "null: a roof of memory",
       [known](const RoofLine& line) { return known(line.flops_per_second); }},
      {"bytes_per_second", Unit::kBytesPerSecond, "null: a roof of arithmetic",
       [known](const RoofLine& line) { return known(line.bytes_per_second); }},
  };
  return fields;
}

const Fields<Analysis>& roofs_fields() {
  static const Fields<Analysis> fields = {
      {"source", Unit::kText, "`measured on one H200 (2026-11-21)`, `data sheet`; empty: none",
       &Analysis::roofs_source},
      table_field("lines", "roofs", "arithmetic and memory", roof_line_fields(), &Analysis::roof_lines),
  };
  return fields;
}

// What is always there and has fields of its own.
template <typename Part, typename At>
Field<Analysis> part_field(std::string_view name, std::string_view meaning, const Fields<Part>& fields,
                           At at) {
  Field<Analysis> field(name, Unit::kObject, meaning, [&fields, at](const Analysis& analysis) {
    return object_json(fields, std::invoke(at, analysis));
  });
  field.info.inner = field_infos(fields);
  return field;
}

std::string_view verdict_name(const Analysis& analysis) {
  if (analysis.verdict.cause) return analyze::cause_name(*analysis.verdict.cause);
  return analysis.verdict.judged ? "healthy" : "unjudged";
}

Field<Analysis> elsewhere_field() {
  Field<Analysis> field("elsewhere", Unit::kRows, "operators that only ranks run whose ledger is not shown",
                        [](const Analysis& analysis) {
                          std::vector<analyze::ElsewhereOperator> rows;
                          for (const analyze::ElsewhereOperator& row : analysis.elsewhere)
                            if (!row.stands_for_shown) rows.push_back(row);
                          return rows_json(elsewhere_fields(), rows);
                        });
  field.info.inner = field_infos(elsewhere_fields());
  field.info.sql = "elsewhere";
  return field;
}

Field<Analysis> memory_field() {
  Field<Analysis> field(
      "memory", Unit::kRows, "what was taken of devices' memory, where the recording says that",
      [](const Analysis& analysis) { return rows_json(device_memory_fields(), memory_of(analysis)); });
  field.info.inner = field_infos(device_memory_fields());
  field.info.sql = "device_memory";
  return field;
}

}  // namespace

const Fields<Analysis>& analysis_fields() {
  static const Fields<Analysis> fields = {
      {"schema", Unit::kInteger, "1: fields are added, none changes its meaning",
       [](const Analysis&) { return 1; }},
      {"source", Unit::kText, "the file or run folder", &Analysis::source},
      {"device", Unit::kText, "its name", &Analysis::device},
      {"ranks", Unit::kList, "the ranks that are analysed", &Analysis::ranks},
      {"world_size", Unit::kInteger, "ranks of the job; more than `ranks`: some recordings are missing",
       &Analysis::world_size},
      table_field("left_out", "left_out", "ranks left out of the analysis", left_out_fields(),
                  &Analysis::left_out),
      {"ledger_rank", Unit::kInteger, "whose ledger, operators and kernels these are",
       &Analysis::ledger_rank},
      {"ledger_device", Unit::kInteger, "of a process that drives several; null: it drives one",
       [](const Analysis& analysis) {
         return analysis.ledger_device < 0 ? std::nullopt : std::optional(analysis.ledger_device);
       }},
      object_field("late_rank", "", "the rank that the others wait for; null: none", late_rank_fields(),
                   &Analysis::late_rank),
      part_field("step", "the repeated unit of work", step_fields(), &Analysis::step),
      {"floor_ms", Unit::kMs, "what this machine needs at least for the step's operators",
       &Analysis::floor_ms},
      {"floor_known", Unit::kFlag, "false: no roofs; the ledger's `floor` is all busy time",
       &Analysis::floor_known},
      table_field("ledger", "ledger", "the step by cause", ledger_fields(), &Analysis::ledger),
      table_field(
          "top", "top_operators",
          "the operators that take the most time; of a program that tells of none, its ranges or kernels",
          top_fields(), &Analysis::top),
      {"verdict", Unit::kText, "the cause with the largest recoverable time; `healthy`; `unjudged`",
       verdict_name},
      {"verdict_sentence", Unit::kText, "the same for people",
       [](const Analysis& analysis) { return analysis.verdict.sentence; }},
      {"recoverable_ms", Unit::kMs, "what fixing it wins",
       [](const Analysis& analysis) { return analysis.verdict.recoverable_ms; }},
      {"recoverable_share", Unit::kShare, "of the step that gains are counted from",
       [](const Analysis& analysis) { return analysis.verdict.share; }},
      table_field("findings", "findings", "what to change: what the verdict names first, then by gain",
                  finding_fields(), &Analysis::findings),
      table_field("changes", "changes",
                  "changes that `hone lab -- COMMAND` can make in a PyTorch program, largest gain first; "
                  "none of others",
                  change_fields(), &Analysis::changes),
      {"metrics", Unit::kObject, "figures by name with their unit: `achieved_gflop_per_s`, `replay_error`",
       [](const Analysis& analysis) {
         OrderedJson json = OrderedJson::object();
         for (const auto& [name, value] : analysis.figures) json[name] = value;
         return json;
       }},
      table_field("targets", "targets", "the numbers to steer by, with what each should be", metric_fields(),
                  &Analysis::targets),
      table_field("kernels", "step_kernels", "all launches of a kernel in a step together", kernel_fields(),
                  &Analysis::kernels),
      table_field("sampled", "sampled_devices", "devices whose hardware counters were sampled over time",
                  sampled_device_fields(), &Analysis::sampled),
      memory_field(),
      table_field("counted_kernels", "counted_kernels",
                  "kernels whose hardware counters were read, those that take most of the step first",
                  counted_kernel_fields(), &Analysis::counted_kernels),
      table_field("operators", "step_operators", "all operators of a step, longest first", operator_fields(),
                  &Analysis::operators),
      elsewhere_field(),
      table_field("phases", "phases", "device time by what the program did", phase_fields(),
                  &Analysis::phases),
      table_field("rank_summaries", "rank_summaries", "each process, or each device of a process",
                  rank_fields(), &Analysis::rank_summaries),
      table_field("collectives", "step_collectives", "by kind and process group", collective_fields(),
                  &Analysis::collectives),
      table_field("critical_path", "critical_path", "the longest chain of dependent work, in order of time",
                  path_fields(), &Analysis::critical_path),
      object_field("coverage", "", "how much of the device's time the analysis can speak about",
                   coverage_fields(), &Analysis::coverage),
      part_field("roofs", "the roofs that operators were judged by", roofs_fields(),
                 [](const Analysis& analysis) -> const Analysis& { return analysis; }),
      {"without_cpu_share", Unit::kShare,
       "of the time that was watched, how long the main thread of an observed program could have run and had "
       "no CPU; 0 "
       "where the step does not depend on it",
       &Analysis::without_cpu},
      {"dropped_records", Unit::kNumber, "records that the recorder lost", &Analysis::dropped_records},
      {"warnings", Unit::kList, "what to know before trusting the numbers", &Analysis::warnings},
  };
  return fields;
}

}  // namespace hone::report

#include "report/json.h"

#include <string_view>

#include "report/description/analysis.h"
#include "report/json/parts.h"
#include "report/words.h"
#include "trace/roofs_json.h"

namespace hone::report {
namespace {

using namespace json;
using analyze::Analysis;

Json estimate(const analyze::Estimate& value) { return json_of(value); }

Json pairs(const std::vector<std::pair<std::string, std::string>>& list) {
  Json json = Json::object();
  for (const auto& [name, value] : list) json[name] = value;
  return json;
}

Json beaten_roofs(const std::vector<analyze::BeatenRoof>& rows) {
  Json list = Json::array();
  for (const analyze::BeatenRoof& row : rows)
    list.push_back({{"name", row.name}, {"roof", row.roof}, {"ms", row.ms}, {"least_ms", row.least_ms}});
  return list;
}

// What report.json says of the plan before and after: of its analysis what stands in explain.json, too.
Json side(const Analysis& analysis, const analyze::MemoryUse& memory) {
  Json json = {{"step_ms", estimate(analysis.step.ms)}, {"steps", analysis.step.count}};
  json.update(chosen_json(
      analysis_fields(), analysis,
      {"floor_ms", "ledger", "top", "verdict", "verdict_sentence", "metrics", "counted_kernels"}));
  json["memory"] = {{"arena_bytes", memory.arena_bytes},
                    {"weights_bytes", memory.weights_bytes},
                    {"peak_bytes", memory.peak_bytes}};
  if (!memory.device.empty()) json["memory"]["device_peak_bytes"] = memory.device_peak_bytes;
  json["beaten_roofs"] = beaten_roofs(analysis.beaten_roofs);
  json.update(chosen_json(analysis_fields(), analysis, {"warnings"}));
  return json;
}

Json arena_gain(const analyze::ArenaGain& arena) {
  return {{"before", arena.before_bytes},
          {"after", arena.after_bytes},
          {"predicted_gain", arena.predicted_gain_bytes},
          {"measured_gain", arena.before_bytes - arena.after_bytes}};
}

Json measured(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

Json precision(const std::vector<analyze::OperatorPrecision>& rows) {
  Json list = Json::array();
  for (const analyze::OperatorPrecision& row : rows)
    list.push_back({{"node", row.node},
                    {"op", row.op},
                    {"type", row.type},
                    {"rel_err", measured(row.rel_err)},
                    {"carried_rel_err", measured(row.carried_rel_err)},
                    {"largest", measured(row.largest)},
                    {"kept_f32", row.kept_f32},
                    {"why", row.why}});
  return list;
}

Json passes(const std::vector<analyze::PassRow>& rows) {
  Json list = Json::array();
  for (const analyze::PassRow& row : rows)
    list.push_back({{"name", row.name},
                    {"numerics", row.numerics},
                    {"predicted_gain_ms", row.is_predicted ? Json(row.predicted_gain_ms) : Json()},
                    {"measured_gain_ms", row.measured_gain_ms ? estimate(*row.measured_gain_ms) : Json()},
                    {"changed", row.changed || row.measured_gain_ms},
                    {"kept", row.kept},
                    {"undecided", row.undecided},
                    {"reason", row.reason},
                    {"max_rel_err", row.max_rel_err},
                    {"arena_bytes", row.arena ? arena_gain(*row.arena) : Json()},
                    {"precision", precision(row.precision)}});
  return list;
}

Json combinations(const std::vector<analyze::PassCombination>& rows) {
  Json list = Json::array();
  for (const analyze::PassCombination& row : rows)
    list.push_back({{"passes", row.passes},
                    {"predicted_gain_ms", row.predicted_gain_ms},
                    {"measured_gain_ms", estimate(row.measured_gain_ms)},
                    {"kept", row.kept},
                    {"reason", row.reason}});
  return list;
}

Json causes(const analyze::LabReport& report) {
  Json list = Json::array();
  for (const CauseTimes& row : causes_before_and_after(report))
    list.push_back({{"cause", analyze::cause_name(row.cause)},
                    {"before_ms", row.before_ms},
                    {"after_ms", row.after_ms}});
  return list;
}

Json result_json(const analyze::LabReport& report) {
  const analyze::LabResult& result = report.result;
  return {{"speedup", estimate(result.speedup)},
          {"max_rel_err", result.max_rel_err},
          {"passed", result.passed},
          {"pairs", result.pairs},
          {"baseline_operators", report.baseline_operators},
          {"baseline_on_reference", report.baseline_on_reference},
          {"confidence", result.confidence},
          {"predicted_gain_ms", result.predicted_gain_ms},
          {"measured_gain_ms", estimate(result.measured_gain_ms)},
          {"paired_before_ms", estimate(result.paired_before_ms)},
          {"paired_after_ms", estimate(result.paired_after_ms)},
          {"step_before_ms", estimate(step_before(report))},
          {"step_after_ms", estimate(step_after(report))},
          {"causes", causes(report)}};
}

Json training(const std::optional<analyze::TrainingGain>& gain) {
  if (!gain) return {};
  return {{"step_ms", estimate(gain->step_ms)},
          {"speedup", gain->speedup ? estimate(*gain->speedup) : Json()},
          {"changes", gain->changes}};
}

Json roofs_origin(const analyze::RoofsOrigin& origin) {
  if (origin.measured_at.empty()) return {};
  return {{"measured_at", origin.measured_at}, {"age_hours", origin.age_hours},
          {"seconds", origin.seconds},         {"repetitions", origin.repetitions},
          {"disturbed", origin.disturbed},     {"doubtful", origin.doubtful}};
}

Json phases(const std::vector<analyze::PhaseTime>& rows) {
  Json list = Json::array();
  for (const analyze::PhaseTime& row : rows) list.push_back({{"name", row.name}, {"seconds", row.seconds}});
  return list;
}

Json model_info(const analyze::ModelInfo& model) {
  return {{"path", model.path},   {"nodes", model.nodes},          {"parameters", model.parameters},
          {"flops", model.flops}, {"inputs", pairs(model.inputs)}, {"outputs", pairs(model.outputs)}};
}

Json environment_json(const analyze::Environment& where) {
  return {{"machine", where.machine},
          {"device", where.device},
          {"threads", where.threads},
          {"os", where.os},
          {"hone_version", where.hone_version},
          {"compiler", where.compiler},
          {"libraries", pairs(where.libraries)},
          {"settings", pairs(where.settings)},
          {"when", where.when}};
}

Json numerics(const std::vector<analyze::NumericCheck>& rows) {
  Json list = Json::array();
  for (const analyze::NumericCheck& row : rows)
    list.push_back({{"output", row.output},
                    {"max_rel_err", row.max_rel_err},
                    {"limit", row.limit},
                    {"passed", row.passed}});
  return list;
}

Json reference_rows(const analyze::ReferenceRows& of) {
  if (of.batch == 0) return {};
  return {{"batch", of.batch},
          {"rows", of.rows},
          {"all_rows_given", of.all_given},
          {"why_all", of.why_all.empty() ? Json() : Json(of.why_all)}};
}

Json curves(const std::vector<analyze::LearningCurve>& all) {
  Json list = Json::array();
  for (const analyze::LearningCurve& curve : all)
    list.push_back({{"name", curve.name},
                    {"unchanged", curve.unchanged},
                    {"disturbed", curve.disturbed},
                    {"changed", curve.changed},
                    {"allowed", curve.allowed}});
  return list;
}

Json change(double a_ms, double b_ms, const analyze::Difference& difference) {
  return {{"a_ms", a_ms},
          {"b_ms", b_ms},
          {"change_ms", estimate(difference.change_ms)},
          {"sure", difference.sure},
          {"apart", difference.apart},
          {"difference", analyze::certainty_name(difference.certainty)}};
}

Json unrecorded(const std::optional<analyze::Estimate>& ms) { return ms ? estimate(*ms) : Json(); }

Json advice(const analyze::Advice& first) {
  if (first.fix.empty()) return {};
  return {{"fix", first.fix},
          {"predicted_gain_ms", first.predicted_gain_ms},
          {"gain_is_bound", first.gain_is_bound}};
}

}  // namespace

std::string lab_json(const analyze::LabReport& report) {
  const bool whole = report.interrupted.empty();
  return dump({{"schema", report.schema},
               {"machine", report.environment.machine},
               {"model", report.model.name},
               {"device", report.environment.device},
               {"training", training(report.training)},
               {"baseline", side(report.baseline, report.baseline_memory)},
               {"passes", passes(report.passes)},
               {"combinations", combinations(report.combinations)},
               {"settings", passes(report.settings)},
               {"optimised", whole ? side(report.optimised, report.optimised_memory) : Json()},
               {"result", whole ? result_json(report) : Json()},
               {"interrupted", whole ? Json() : Json(report.interrupted)},
               {"numerics", numerics(report.numerics)},
               {"reference_rows", reference_rows(report.reference_rows)},
               {"curves", curves(report.curves)},
               {"model_info", model_info(report.model)},
               {"environment", environment_json(report.environment)},
               {"roofs", trace::roofs_to_json(report.roofs)},
               {"roofs_origin", roofs_origin(report.roofs_origin)},
               {"phases", phases(report.phases)},
               {"reproduce", {{"command", report.reproduce.command}, {"notes", report.reproduce.notes}}},
               {"warnings", report.warnings}});
}

std::string compare_json(const analyze::Comparison& comparison) {
  Json causes = Json::array(), operators = Json::array(), elsewhere = Json::array();
  Json findings = Json::array();
  for (const analyze::CauseChange& row : comparison.ledger) {
    Json line = {{"cause", analyze::cause_name(row.cause)}};
    line.update(change(row.a_ms, row.b_ms, row.difference));
    causes.push_back(std::move(line));
  }
  for (const analyze::RuleChange& row : comparison.findings)
    findings.push_back({{"rule", row.rule},
                        {"cause", analyze::cause_name(row.cause)},
                        {"a_ms", row.a_ms},
                        {"b_ms", row.b_ms},
                        {"a_predicted_gain_ms", row.a_gain_ms},
                        {"b_predicted_gain_ms", row.b_gain_ms}});
  for (const analyze::OperatorChange& row : comparison.operators) {
    Json line = {{"a", row.a}, {"b", row.b}, {"kind", row.kind}};
    line.update(change(row.a_ms, row.b_ms, row.difference));
    operators.push_back(std::move(line));
  }
  for (const analyze::ElsewhereChange& row : comparison.elsewhere) {
    Json line = {{"name", row.name}, {"op", row.kind}, {"a_ranks", row.a_ranks}, {"b_ranks", row.b_ranks}};
    line.update(change(row.a_ms, row.b_ms, row.difference));
    elsewhere.push_back(std::move(line));
  }
  Json kernels = Json::array();
  for (const analyze::KernelChange& row : comparison.kernels) {
    Json line = {{"name", row.name},        {"a_us", row.a.us},       {"b_us", row.b.us},
                 {"a_bound", row.a.bound},  {"b_bound", row.b.bound}, {"mended", row.mended},
                 {"appeared", row.appeared}};
    line["figures"] = Json::array();
    for (const analyze::FigureChange& figure : row.figures)
      line["figures"].push_back({{"section", figure.section},
                                 {"name", figure.name},
                                 {"unit", figure.unit},
                                 {"a", figure.a ? Json(*figure.a) : Json()},
                                 {"b", figure.b ? Json(*figure.b) : Json()}});
    kernels.push_back(std::move(line));
  }
  const analyze::Difference& difference = comparison.difference;
  return dump({{"schema", 1},
               {"a", comparison.a},
               {"b", comparison.b},
               {"a_ms", estimate(comparison.a_ms)},
               {"b_ms", estimate(comparison.b_ms)},
               {"a_unrecorded_ms", unrecorded(comparison.a_unrecorded_ms)},
               {"b_unrecorded_ms", unrecorded(comparison.b_unrecorded_ms)},
               {"change_ms", estimate(difference.change_ms)},
               {"ratio", comparison.ratio},
               {"sure", difference.sure},
               {"apart", difference.apart},
               {"chance", difference.chance},
               {"difference", analyze::certainty_name(difference.certainty)},
               {"compared", comparison.comparable},
               {"same_steps", comparison.same_steps},
               {"a_verdict", comparison.a_verdict},
               {"b_verdict", comparison.b_verdict},
               {"a_advice", advice(comparison.a_advice)},
               {"b_advice", advice(comparison.b_advice)},
               {"ledger", causes},
               {"findings", findings},
               {"operators", operators},
               {"kernels", kernels},
               {"a_rank", comparison.a_rank},
               {"b_rank", comparison.b_rank},
               {"elsewhere", elsewhere},
               {"sentence", comparison.sentence},
               {"caveats", comparison.caveats}});
}

}  // namespace hone::report

// explain.json: everything that analysis found, but for the bars of the timeline, which the trace has.
#include "report/json.h"
#include "report/json/parts.h"
#include "trace/operator_class.h"

namespace hone::report {
namespace {

using namespace json;
using analyze::Analysis;

Json step(const analyze::StepTime& time) {
  return {{"count", time.count},
          {"median_ms", time.ms.median},
          {"low_ms", time.ms.low},
          {"high_ms", time.ms.high},
          {"samples_ms", time.samples_ms},
          {"unrecorded_ms", time.unrecorded_ms ? estimate(*time.unrecorded_ms) : Json()},
          {"how_found", time.how_found},
          {"confidence", time.confidence},
          {"notes", time.notes}};
}

Json parts(const std::vector<analyze::FindingPart>& rows) {
  Json list = Json::array();
  for (const analyze::FindingPart& row : rows)
    list.push_back({{"name", row.name}, {"ms", row.ms}, {"count", row.count}});
  return list;
}

Json left_out(const std::vector<analyze::LeftOutRank>& rows) {
  Json list = Json::array();
  for (const analyze::LeftOutRank& row : rows) list.push_back({{"rank", row.rank}, {"why", row.why}});
  return list;
}

Json late_operators_json(const std::vector<analyze::RankOperator>& rows) {
  Json list = Json::array();
  for (const analyze::RankOperator& row : rows)
    list.push_back({{"name", row.name},
                    {"shown_name", row.shown_name.empty() ? Json() : Json(row.shown_name)},
                    {"op", row.kind},
                    {"late_ms", row.late_ms},
                    {"shown_ms", row.shown_ms},
                    {"late_calls", row.late_calls},
                    {"shown_calls", row.shown_calls}});
  return list;
}

Json elsewhere(const std::vector<analyze::ElsewhereOperator>& rows) {
  Json list = Json::array();
  for (const analyze::ElsewhereOperator& row : rows)
    if (!row.stands_for_shown)
      list.push_back(
          {{"name", row.name}, {"op", row.kind}, {"ranks", row.ranks}, {"ms", row.ms}, {"calls", row.calls}});
  return list;
}

Json late_rank(const std::optional<analyze::LateRank>& row) {
  if (!row) return {};
  const bool computes = row->cause == analyze::Cause::kFloor;
  return {{"rank", row->rank},
          {"cause", computes ? Json() : Json(analyze::cause_name(row->cause))},
          {"longer_ms", row->longer_ms},
          {"removed_gain_ms", row->removed_gain_ms},
          {"shared_gain_ms", row->shared_gain_ms},
          {"operators", late_operators_json(row->operators)}};
}

Json roofs(const Analysis& analysis) {
  Json list = Json::array();
  for (const analyze::RoofLine& row : analysis.roof_lines)
    list.push_back({{"name", row.name},
                    {"flops_per_second", row.flops_per_second > 0 ? Json(row.flops_per_second) : Json()},
                    {"bytes_per_second", row.bytes_per_second > 0 ? Json(row.bytes_per_second) : Json()}});
  return {{"source", analysis.roofs_source}, {"lines", list}};
}

Json findings(const std::vector<analyze::Finding>& rows) {
  Json list = Json::array();
  for (const analyze::Finding& row : rows)
    list.push_back({{"rule", row.rule},
                    {"cause", analyze::cause_name(row.cause)},
                    {"title", row.title},
                    {"evidence", row.evidence},
                    {"fix", row.fix},
                    {"caveat", row.caveat},
                    {"ms", row.ms},
                    {"predicted_gain_ms", row.predicted_gain_ms},
                    {"gain_is_bound", row.gain_is_bound},
                    {"parts", parts(row.parts)}});
  return list;
}

Json operators(const std::vector<analyze::OperatorTime>& rows) {
  Json list = Json::array();
  for (const analyze::OperatorTime& row : rows)
    list.push_back({{"name", row.name},
                    {"op", row.kind},
                    {"class", trace::operator_class_name(row.op_class)},
                    {"implementation", row.implementation},
                    {"provenance", row.provenance},
                    {"ms", estimate(row.ms)},
                    {"share", row.share},
                    {"flops", row.flops},
                    {"bytes", row.bytes},
                    {"floor_ms", row.floor_ms},
                    {"roof", row.roof},
                    {"fraction_of_roof", row.fraction_of_roof},
                    {"main_cause", analyze::cause_name(row.main_cause)},
                    {"calls", row.calls > 0 ? Json(row.calls) : Json()}});
  return list;
}

Json kernels(const std::vector<analyze::KernelTime>& rows) {
  Json list = Json::array();
  for (const analyze::KernelTime& row : rows)
    list.push_back({{"name", row.name},
                    {"full_name", row.full_name},
                    {"family", row.family},
                    {"precision", row.precision},
                    {"launches", row.launches},
                    {"ms", row.ms},
                    {"share", row.share},
                    {"mean_us", row.mean_us},
                    {"main_cause", analyze::cause_name(row.main_cause)},
                    {"operators", row.operators},
                    {"why", row.why}});
  return list;
}

Json targets(const std::vector<analyze::Metric>& rows) {
  Json list = Json::array();
  for (const analyze::Metric& row : rows)
    list.push_back({{"name", row.name},
                    {"label", row.label},
                    {"value", row.value},
                    {"unit", row.unit},
                    {"target", row.target ? Json(*row.target) : Json()},
                    {"higher_is_better", row.higher_is_better},
                    {"reached", row.reached()},
                    {"formula", row.formula},
                    {"note", row.note},
                    {"doubt", row.doubt}});
  return list;
}

Json phases(const std::vector<analyze::PhaseShare>& rows) {
  Json list = Json::array();
  for (const analyze::PhaseShare& row : rows)
    list.push_back({{"phase", trace::phase_name(row.phase)}, {"ms", row.ms}, {"share", row.share}});
  return list;
}

Json critical_path(const std::vector<analyze::PathSegment>& rows) {
  Json list = Json::array();
  for (const analyze::PathSegment& row : rows)
    list.push_back({{"track", row.track},
                    {"name", row.name},
                    {"kind", row.kind},
                    {"start_ms", row.start_ms},
                    {"ms", row.ms}});
  return list;
}

Json rank_summaries(const std::vector<analyze::RankSummary>& rows) {
  Json list = Json::array();
  for (const analyze::RankSummary& row : rows)
    list.push_back({{"rank", row.rank},
                    {"device_index", row.device_index < 0 ? Json() : Json(row.device_index)},
                    {"source", row.source},
                    {"device", row.device},
                    {"step_ms", row.step_ms},
                    {"busy_share", row.busy_share},
                    {"compute_ms", row.compute_ms},
                    {"collectives", row.collectives},
                    {"latest_ms", row.latest_ms},
                    {"usually_late_us", row.usually_late_us},
                    {"lateness_ms", row.lateness_ms},
                    {"waiting_ms", row.waiting_ms},
                    {"clock_shift_us", row.clock_shift_us}});
  return list;
}

Json collectives(const std::vector<analyze::CollectiveSummary>& rows) {
  Json list = Json::array();
  for (const analyze::CollectiveSummary& row : rows)
    list.push_back({{"name", row.name},
                    {"group", row.group},
                    {"count", row.count},
                    {"bytes", row.bytes},
                    {"ms", row.ms},
                    {"exposed_ms", row.exposed_ms},
                    {"bus_bytes_per_s", row.bus_bytes_per_s},
                    {"roof_bytes_per_s", row.roof_bytes_per_s}});
  return list;
}

Json coverage(const std::optional<analyze::Coverage>& row) {
  if (!row) return {};
  return {{"linked_share", row->linked_share},
          {"costed_share", row->costed_share},
          {"unlinked_kernels", row->unlinked_kernels},
          {"unknown", row->unknown}};
}

}  // namespace

std::string explain_json(const Analysis& analysis) {
  return dump({{"schema", 1},
               {"source", analysis.source},
               {"device", analysis.device},
               {"ranks", analysis.ranks},
               {"world_size", analysis.world_size},
               {"left_out", left_out(analysis.left_out)},
               {"ledger_rank", analysis.ledger_rank},
               {"ledger_device", analysis.ledger_device < 0 ? Json() : Json(analysis.ledger_device)},
               {"late_rank", late_rank(analysis.late_rank)},
               {"step", step(analysis.step)},
               {"floor_ms", analysis.floor_ms},
               {"floor_known", analysis.floor_known},
               {"ledger", ledger(analysis.ledger)},
               {"top", top(analysis.top)},
               {"verdict", verdict(analysis.verdict)},
               {"verdict_sentence", analysis.verdict.sentence},
               {"recoverable_ms", analysis.verdict.recoverable_ms},
               {"recoverable_share", analysis.verdict.share},
               {"findings", findings(analysis.findings)},
               {"metrics", metrics(analysis)},
               {"targets", targets(analysis.targets)},
               {"kernels", kernels(analysis.kernels)},
               {"operators", operators(analysis.operators)},
               {"elsewhere", elsewhere(analysis.elsewhere)},
               {"phases", phases(analysis.phases)},
               {"rank_summaries", rank_summaries(analysis.rank_summaries)},
               {"collectives", collectives(analysis.collectives)},
               {"critical_path", critical_path(analysis.critical_path)},
               {"coverage", coverage(analysis.coverage)},
               {"roofs", roofs(analysis)},
               {"dropped_records", analysis.dropped_records},
               {"warnings", analysis.warnings}});
}

}  // namespace hone::report

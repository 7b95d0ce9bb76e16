// lab.json: what `hone lab -- COMMAND` found. Times in milliseconds; docs/lab-on-your-program.md says what is measured.
#include "report/description/table.h"
#include "report/json.h"
#include "report/json/parts.h"
#include "report/program_words.h"

namespace hone::report {
namespace {

using namespace json;

Json program_steps(const analyze::PairedSteps& steps) {
  if (!steps.measured()) return nullptr;
  return {{"before_ms", steps.before_ms},
          {"after_ms", steps.after_ms},
          {"speedup", steps.speedup.median},
          {"least_speedup", steps.least_speedup},
          {"most_speedup", steps.most_speedup},
          {"speedup_interval", steps.has_interval ? json_of(steps.speedup) : Json(nullptr)},
          {"within_one_run", steps.within_one_run}};
}

Json program_numbers(const analyze::ComparedNumbers& numbers) {
  if (numbers.steps == 0) return nullptr;
  return {{"same", numbers.same},
          {"difference", numbers.difference},
          {"allowed", numbers.allowed},
          {"steps", numbers.steps}};
}

Json program_change(const analyze::ProgramChange& change) {
  return {
      {"change", change.name},
      {"title", change.title},
      {"because", change.because},
      {"predicted_gain_ms", change.predicted_gain_ms > 0 ? Json(change.predicted_gain_ms) : Json(nullptr)},
      {"why_not_predicted", change.why_not_predicted},
      {"outcome", outcome_words(change.outcome)},
      {"why", change.why},
      {"did", change.did},
      {"gain_ms", change.measured_gain_ms ? Json(change.measured_gain_ms->median) : Json(nullptr)},
      {"measured_gain_ms", change.measured_gain_ms ? json_of(*change.measured_gain_ms) : Json(nullptr)},
      {"runs", program_steps(change.steps)},
      {"numbers", program_numbers(change.numbers)},
      {"diff", change.diff}};
}

Json program_run(const analyze::ProgramRun& run) {
  return {{"changes", run.changes}, {"switched", run.switched},
          {"seconds", run.seconds}, {"first_step_s", run.first_step_s},
          {"ended_s", run.ended_s}, {"step_ms", run.step_ms > 0 ? Json(run.step_ms) : Json(nullptr)}};
}

// How the diff is applied; null where it is in no file.
Json program_patch(const analyze::ProgramReport& report) {
  if (report.patch_file.empty()) return nullptr;
  return {{"file", report.patch_file}, {"folder", report.patch_folder}, {"command", patch_command(report)}};
}

}  // namespace

std::string program_json(const analyze::ProgramReport& report) {
  const bool measured = report.step_ms.median > 0;
  Json changes = Json::array();
  for (const analyze::ProgramChange& change : report.changes) changes.push_back(program_change(change));
  Json each_run = Json::array();
  for (const analyze::ProgramRun& run : report.each_run) each_run.push_back(program_run(run));
  return dump({{"schema", 1},
               {"command", report.command},
               {"device", report.baseline.device},
               {"step_ms", measured ? Json(report.step_ms.median) : Json(nullptr)},
               {"step_interval_ms", measured ? json_of(report.step_ms) : Json(nullptr)},
               {"noise", report.noise ? Json(*report.noise) : Json(nullptr)},
               {"changes", changes},
               {"together", program_steps(report.together)},
               {"numbers", program_numbers(report.numbers)},
               {"losses",
                {{"unchanged", report.unchanged_losses},
                 {"unchanged_again", report.unchanged_again_losses},
                 {"changed", report.changed_losses}}},
               {"diff", report.diff},
               {"patch", program_patch(report)},
               {"why_nothing", report.why_nothing},
               {"notes", program_notes(report)},
               {"baseline_report", report.baseline_page},
               {"runs", report.runs},
               {"each_run", each_run},
               {"baseline_s", report.baseline_s},
               {"interrupted", report.interrupted},
               {"seconds", report.seconds},
               {"budget_s", report.budget_s}});
}

}  // namespace hone::report

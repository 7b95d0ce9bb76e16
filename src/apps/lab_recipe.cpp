#include "apps/lab_recipe.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "apps/lab_shared.h"
#include "core/clock.h"
#include "core/file.h"
#include "core/folder_lock.h"
#include "lab/gate/paired.h"
#include "lab/training/run_log.h"
#include "lab/training/training_lab.h"
#include "model/recipe/recipe.h"
#include "runtime/make_provider.h"

namespace hone::apps {
namespace {

// Runs of hone train, and recipes that no lab wrote, are somebody's work: a lab writes over its own files alone.
Status check_written_over(const LabRecipeOptions& options) {
  namespace fs = std::filesystem;
  const fs::path written = options.out / model::kRecipeFile;
  std::error_code none;
  if (!fs::exists(written, none)) return {};
  const std::string out = options.out.string();
  if (fs::equivalent(written, options.recipe, none))
    return invalid(
        fmt::format("--out {}: {} would be written over, which is the recipe to read; name another folder",
                    out, written.string()));
  if (fs::exists(options.out / lab::kMetricsFile, none))
    return invalid(fmt::format("--out {}: holds a run of hone train; name another folder", out));
  if (!fs::exists(options.out / "report.json", none))
    return invalid(fmt::format("--out {}: holds a {} that no lab has written; name another folder", out,
                               model::kRecipeFile));
  return {};
}

// The recipe with what was kept, ready for hone train.
Status write_tuned_recipe(const LabRecipeOptions& options, const lab::TrainingLab& result) {
  return write_file(options.out / model::kRecipeFile, result.recipe.resolved);
}

void print_tuned_recipe(const LabRecipeOptions& options, const lab::TrainingLab& result) {
  fmt::print("recipe    {}", (options.out / model::kRecipeFile).string());
  if (result.overrides.empty())
    fmt::print(" (as it was: what was kept and is not lossy hone train does already)\n");
  else
    fmt::print(" (with {})\n", fmt::join(result.overrides, " "));
  if (result.speedup)
    fmt::print("          its steps as hone train runs them: {} as fast as before\n",
               lab::ratio_text(*result.speedup));
}

}  // namespace

Status run_lab_recipe(const LabRecipeOptions& options, Program& program) {
  HONE_ASSIGN(const model::Recipe recipe, model::read_recipe(options.recipe, options.set));
  HONE_ASSIGN(const auto provider, runtime::make_provider(options.device, {.threads = options.threads}));
  HONE_CHECK(check_written_over(options));
  const EmptyFolderRemover remover(options.out);
  HONE_CHECK(make_folder(options.out));  // before the work: an unwritable folder is known now
  HONE_ASSIGN(const auto lock, lock_folder(options.out));
  const lab::Machine machine = lab::describe_machine();
  ProgressBar bar("hone lab");
  const int64_t start = now_ns();
  HONE_ASSIGN(const lab::Ceilings ceilings, find_ceilings(options.device, machine, bar));
  const double roofs_s = static_cast<double>(now_ns() - start) * 1e-9;
  lab::ExperimentOptions experiment = options.experiment;
  experiment.progress = [&](double fraction, const std::string& what) {
    bar.update(fraction, what);
    if (fraction >= lab::kBaselineIsMeasured) be_patient_when_interrupted();
    return !interrupted();
  };
  HONE_ASSIGN(lab::TrainingLab result,
              lab::run_training_lab(recipe, *provider, machine, ceilings.roofs, experiment));
  analyze::LabReport& report = result.experiment.report;
  describe_ceilings(ceilings, roofs_s, report);
  if (const std::string note = over_budget(report, experiment.budget_s); !note.empty())
    report.warnings.push_back(note);
  bar.finish();
  const bool is_partial = result.interrupted || !report.interrupted.empty();
  const bool had_recipe = std::filesystem::exists(options.out / model::kRecipeFile);
  if (!is_partial) HONE_CHECK(write_tuned_recipe(options, result));
  HONE_CHECK(write_experiment(options.out, options.json, result.experiment));
  if (is_partial) {
    say(fmt::format("hone: interrupted; the report in {} is partial{}\n", options.out.string(),
                    had_recipe ? fmt::format("; {} there is of an earlier lab", model::kRecipeFile) : ""));
    program.exit_code = interrupted_status();
    return {};
  }
  print_tuned_recipe(options, result);
  if (!report.result.passed) program.exit_code = 1;
  return {};
}

}  // namespace hone::apps

#include "apps/lab_recipe.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "apps/lab_shared.h"
#include "core/clock.h"
#include "core/file.h"
#include "lab/training/training_lab.h"
#include "model/recipe/recipe.h"
#include "runtime/make_provider.h"

namespace hone::apps {
namespace {

// The recipe with what was kept, ready for hone train.
Status write_tuned_recipe(const LabRecipeOptions& options, const lab::TrainingLab& result) {
  const std::filesystem::path file = options.out / model::kRecipeFile;
  HONE_CHECK(write_file(file, result.recipe.resolved));
  fmt::print("recipe    {}", file.string());
  if (result.overrides.empty())
    fmt::print(" (as it was: hone train does already what was kept)\n");
  else
    fmt::print(" (with {})\n", fmt::join(result.overrides, " "));
  return {};
}

}  // namespace

Status run_lab_recipe(const LabRecipeOptions& options, Program& program) {
  HONE_ASSIGN(const model::Recipe recipe, model::read_recipe(options.recipe, options.set));
  HONE_ASSIGN(const auto provider, runtime::make_provider(options.device, {.threads = options.threads}));
  const EmptyFolderRemover remover(options.out);
  HONE_CHECK(make_folder(options.out));  // before the work: an unwritable folder is known now
  const lab::Machine machine = lab::describe_machine();
  ProgressBar bar("hone lab");
  const int64_t start = now_ns();
  HONE_ASSIGN(const lab::Ceilings ceilings, find_ceilings(options.device, machine, bar));
  const double roofs_s = static_cast<double>(now_ns() - start) * 1e-9;
  lab::ExperimentOptions experiment = options.experiment;
  experiment.progress = [&](double fraction, const std::string& what) {
    bar.update(fraction, what);
    return !interrupted();
  };
  HONE_ASSIGN(lab::TrainingLab result,
              lab::run_training_lab(recipe, *provider, machine, ceilings.roofs, experiment));
  analyze::LabReport& report = result.experiment.report;
  describe_ceilings(ceilings, roofs_s, report);
  if (const std::string note = over_budget(report, experiment.budget_s); !note.empty())
    report.warnings.push_back(note);
  bar.finish();
  HONE_CHECK(write_experiment(options.out, options.json, result.experiment));
  if (!report.interrupted.empty()) {
    say(fmt::format("hone: interrupted; the report in {} is partial\n", options.out.string()));
    program.exit_code = interrupted_status();
    return {};
  }
  HONE_CHECK(write_tuned_recipe(options, result));
  if (!report.result.passed) program.exit_code = 1;
  return {};
}

}  // namespace hone::apps

// hone lab: the whole loop on a model.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "apps/command.h"
#include "apps/lab_program.h"
#include "apps/lab_recipe.h"
#include "apps/lab_shared.h"
#include "apps/model_options.h"
#include "apps/new_folder.h"
#include "apps/what_fits.h"
#include "core/clock.h"
#include "core/file.h"
#include "core/open_files.h"
#include "lab/ceilings/device_ceilings.h"
#include "lab/experiment/experiment.h"
#include "lab/program/change.h"
#include "model/onnx/writer.h"
#include "report/json.h"
#include "report/terminal.h"
#include "report/write.h"
#include "runtime/make_provider.h"
#include "runtime/timing_cache.h"
#include "trace/run_folder.h"

namespace hone::apps {
namespace {

constexpr double kBudget_s = 40;  // for a model
constexpr const char* kOut = "hone-lab";
constexpr const char *kLabCounts = "auto", *kLabCountsNothing = "off";

struct LabOptions {
  ModelOptions model;
  std::vector<std::string> inputs;
  std::vector<std::string> disabled;
  std::vector<std::string> lossy;  // each may hold several, with commas between
  std::string out;                 // empty: not said
  std::string json;
  std::string device = kAnyDevice;
  double budget_s = 0;  // 0: not said
  double wait_s = -1;   // negative: not said
  int top = 5;
  int threads = 0;
  uint64_t seed = 1;
  bool no_cache = false;
  bool no_overlap = false;
  std::string counters = kLabCounts;
  std::vector<std::string> tried;      // changes of a program, as `lossy`
  std::vector<std::string> set;        // of a recipe
  std::vector<std::string> arguments;  // after the first word of a program of somebody else's

  // Of a model.
  std::string folder() const { return out.empty() ? kOut : out; }
};

// Whether it is a program that was given after --, rather than a model whose name begins with a dash.
bool is_program(const LabOptions& options, const Program& program) {
  return program.divided && (!options.arguments.empty() || !options.model.path.ends_with(".onnx"));
}

// Options that say something of models alone.
Status check_options_of_program(const LabOptions& options) {
  const std::pair<const char*, bool> given[] = {{"--bind", !options.model.bindings.empty()},
                                                {"--shape", !options.model.shapes.empty()},
                                                {"--memory", !options.model.memory.empty()},
                                                {"--plugin", !options.model.plugins.empty()},
                                                {"--input", !options.inputs.empty()},
                                                {"--disable", !options.disabled.empty()},
                                                {"--lossy", !options.lossy.empty()},
                                                {"--set", !options.set.empty()},
                                                {"--threads", options.threads != 0},
                                                {"--device", options.device != LabOptions().device},
                                                {"--no-cache", options.no_cache},
                                                {"--counters", options.counters != kLabCounts},
                                                {"--no-overlap", options.no_overlap}};
  for (const auto& [name, is_given] : given)
    if (is_given) return usage_error(fmt::format("{}: is for models; a program runs as it is", name));
  return {};
}

// What lists with commas name.
std::vector<std::string> separated(const std::vector<std::string>& lists) {
  std::vector<std::string> all;
  for (const std::string& list : lists) {
    std::istringstream names(list);
    for (std::string name; std::getline(names, name, ',');) all.push_back(name);
  }
  return all;
}

// Whoever names nothing, a script with an empty variable, would get an experiment without what it is about.
Status check_lossy(const LabOptions& options) {
  for (const std::string& list : options.lossy)
    if (separated({list}).empty())
      return usage_error(
          fmt::format("--lossy '{}': names no pass; there are {}", list, fmt::join(lossy_passes(), ", ")));
  return check_lossy_passes("--lossy", separated(options.lossy));
}

Status run_lab_on(const LabOptions& options, Program& program) {
  HONE_CHECK(check_options_of_program(options));
  LabProgramOptions of_program;
  of_program.command = {options.model.path};
  of_program.command.insert(of_program.command.end(), options.arguments.begin(), options.arguments.end());
  of_program.out = options.out.empty() ? new_folder_name(kOut).string() : options.out;
  of_program.json = options.json;
  if (options.budget_s > 0) of_program.budget_s = options.budget_s;
  of_program.tried = separated(options.tried);
  of_program.wait_s = options.wait_s;
  of_program.seed = options.seed;
  of_program.top = options.top;
  return run_lab_program(of_program, program);
}

lab::ExperimentOptions experiment_options(const LabOptions& options, const std::string& command) {
  lab::ExperimentOptions experiment;
  constexpr double kLongest_s = 1e8;  // three years: what nanoseconds can count many times over
  experiment.budget_s = options.budget_s > 0 ? std::min(options.budget_s, kLongest_s) : kBudget_s;
  experiment.disabled_passes.insert(options.disabled.begin(), options.disabled.end());
  const std::vector<std::string> lossy = separated(options.lossy);
  experiment.lossy.insert(lossy.begin(), lossy.end());
  experiment.overlap = !options.no_overlap;
  experiment.seed = options.seed;
  experiment.top = options.top;
  experiment.model_path = options.model.path;
  experiment.command = command;
  if (!options.no_cache) experiment.timing_cache = runtime::TimingCache::default_path();
  if (options.counters == kLabCounts) experiment.counters = counting_of(options.device, options.folder());
  return experiment;
}

// Options that say something of models or of programs alone.
Status check_options_of_recipe(const LabOptions& options) {
  const std::pair<const char*, bool> given[] = {{"--bind", !options.model.bindings.empty()},
                                                {"--shape", !options.model.shapes.empty()},
                                                {"--memory", !options.model.memory.empty()},
                                                {"--plugin", !options.model.plugins.empty()},
                                                {"--input", !options.inputs.empty()},
                                                {"--try", !options.tried.empty()},
                                                {"--wait", options.wait_s >= 0}};
  for (const auto& [name, is_given] : given)
    if (is_given) return usage_error(fmt::format("{}: is not for recipes; see --set", name));
  if (!options.arguments.empty())
    return usage_error(
        fmt::format("'{}' is one too many: hone lab takes one recipe", options.arguments.front()));
  return {};
}

Status run_lab_on_recipe(LabOptions options, Program& program) {
  HONE_CHECK(check_options_of_recipe(options));
  for (const std::string& name : separated(options.lossy))
    if (name == "tf32") return usage_error("--lossy tf32: is for models; recipes have no such precision");
  HONE_CHECK(check_threads(options.threads));
  HONE_CHECK(check_passes("--disable", options.disabled));
  HONE_CHECK(settle_device(&options.device));
  LabRecipeOptions of_recipe;
  of_recipe.recipe = options.model.path;
  of_recipe.set = options.set;
  of_recipe.out = options.folder();
  of_recipe.json = options.json;
  of_recipe.device = options.device;
  of_recipe.threads = options.threads;
  of_recipe.experiment = experiment_options(options, program.command_line);
  HONE_CHECK(check_lossy(options));
  return run_lab_recipe(of_recipe, program);
}

// Of an interrupted experiment there is no model: what it had kept so far was not measured as a whole.
Status write_results(const LabOptions& options, const lab::Experiment& result) {
  const std::filesystem::path out(options.folder());
  const std::filesystem::path model = out / "optimised.onnx";
  HONE_CHECK(write_experiment(out, options.json, result));
  if (!result.report.interrupted.empty()) return {};
  HONE_CHECK(model::write_onnx(result.optimised, model));
  fmt::print("model     {}\n", model.string());
  return {};
}

Status run_lab(LabOptions options, Program& program) {
  if (is_program(options, program)) return run_lab_on(options, program);
  if (options.model.path.ends_with(".toml")) return run_lab_on_recipe(options, program);
  if (!options.tried.empty())
    return usage_error("--try: is for programs, after --; see --lossy and --disable");
  if (options.wait_s >= 0) return usage_error("--wait: is for programs, after --");
  if (!options.set.empty()) return usage_error("--set: is for recipes");
  if (!options.arguments.empty())
    return usage_error(
        fmt::format("'{}' is one too many: hone lab takes one model; write -- before a program",
                    options.arguments.front()));
  HONE_CHECK(check_threads(options.threads));
  HONE_CHECK(check_passes("--disable", options.disabled));
  HONE_CHECK(settle_device(&options.device));
  HONE_ASSIGN(const auto provider, runtime::make_provider(options.device, {.threads = options.threads}));
  lab::ExperimentOptions experiment = experiment_options(options, program.command_line);
  HONE_CHECK(check_lossy(options));
  HONE_ASSIGN(experiment.inputs, read_inputs(options.inputs));
  std::vector<std::string> assumed;
  HONE_ASSIGN(const graph::Graph graph,
              load_to_run(options.model, shapes_of(experiment.inputs), options.seed, &assumed));
  HONE_CHECK(check_names_of(experiment.inputs, graph, options.model.path));
  const EmptyFolderRemover remover(options.folder());
  HONE_CHECK(make_folder(options.folder()));  // before the work: an unwritable folder is known now

  const lab::Machine machine = lab::describe_machine();
  ProgressBar bar("hone lab");
  const int64_t start = now_ns();
  HONE_ASSIGN(const lab::Ceilings ceilings, find_ceilings(options.device, machine, bar));
  const double roofs_s = static_cast<double>(now_ns() - start) * 1e-9;
  experiment.progress = [&](double fraction, const std::string& what) {
    bar.update(fraction, what);
    if (fraction >= lab::kBaselineIsMeasured) be_patient_when_interrupted();
    return !interrupted();
  };
  auto result = lab::run_experiment(graph, *provider, machine, ceilings.roofs, experiment);
  if (!result.ok())  // it begins with the model as it is
    return with_what_fits(result.error().within(options.model.path), options.model,
                          shapes_of(experiment.inputs), *provider, [](graph::Graph read) { return read; });
  describe_ceilings(ceilings, roofs_s, result->report);
  if (!assumed.empty())
    result->report.warnings.push_back(fmt::format("measured with {}; optimised.onnx is for that alone",
                                                  assumed_text(options.model, assumed)));
  if (const std::string note = over_budget(result->report, experiment.budget_s); !note.empty())
    result->report.warnings.push_back(note);
  bar.finish();
  HONE_CHECK(check_mapped_files());
  HONE_CHECK(write_results(options, *result));
  if (!result->report.interrupted.empty()) {
    say(fmt::format("hone: interrupted; the report in {} is partial{}\n", options.folder(),
                    std::filesystem::exists(std::filesystem::path(options.folder()) / "optimised.onnx")
                        ? "; optimised.onnx and optimised there are of an earlier run"
                        : ""));
    program.exit_code = interrupted_status();
    return {};
  }
  // A result whose numbers are wrong is no result, however fast.
  if (!result->report.result.passed) program.exit_code = 1;
  if (interrupted())
    program.exit_code = interrupted_status();  // while kernels were counted: all else is there
  return {};
}

}  // namespace

void add_lab_command(Program& program) {
  auto options = std::make_shared<LabOptions>();
  Command command =
      program.add("lab", "the whole loop: measure a model, explain its time, make it faster, prove it",
                  [options, &program] { return run_lab(*options, program); });
  command.forms({"[OPTIONS] MODEL.onnx", "[OPTIONS] RECIPE.toml", "[OPTIONS] -- COMMAND..."});
  options->model.add_to(command);
  add_device_to(command, &options->device);
  command.option("--out DIR", &options->out,
                 "the folder for the report, the traces and the optimised model. Without it hone-lab; of a "
                 "program, hone-lab-<date>-<time>, which is new, as one that is named must be, or empty");
  command.option("--input NAME=FILE.npy", &options->inputs,
                 "data for an input: NAME=FILE.npy; others are made up");
  command
      .option("--disable PASS", &options->disabled,
              "passes or groups that do not run (hone optimize --list names them)")
      .offers(pass_and_group_names());
  const std::vector<std::string> lossy = lossy_passes();
  command
      .option(
          "--lossy PASS", &options->lossy,
          fmt::format("lossy passes to try, with commas between; they change the numbers beyond rounding, "
                      "and none is tried unnamed: {}",
                      fmt::join(lossy, ", ")))
      .offers(lossy);
  std::vector<std::string> changes;
  for (const lab::Change& change : lab::known_changes()) changes.emplace_back(change.name);
  command
      .option("--try CHANGE", &options->tried,
              fmt::format("changes of a program that are tried whether or not its baseline advises them, "
                          "with commas between: {}",
                          fmt::join(changes, ", ")))
      .offers(changes);
  command
      .positional("PROGRAM", &options->arguments,
                  "after --: a program and its arguments, as you would start it, instead of a model")
      .verbatim();
  command
      .option(
          "--budget SECONDS", &options->budget_s,
          fmt::format("seconds that the experiment may take, roughly; {:g} for a model, {:g} for a program "
                      "where nothing is said",
                      kBudget_s, LabProgramOptions().budget_s))
      .positive();
  command
      .option("--wait SECONDS", &options->wait_s,
              "of a program: the least time from its first step to the first recorded one in the baseline. "
              "Without it three seconds, and less in a second attempt where the program ended before")
      .not_negative();
  command.option("--set KEY=VALUE", &options->set,
                 "another value for a key of the recipe, as train.batch=64");
  command.option("--top N", &options->top, "operators to name").positive().with_default();
  command.option("--threads N", &options->threads, "threads to use (default: every core)").positive();
  command.option("--seed N", &options->seed, "of made-up inputs, and of random operators that have none")
      .with_default();
  command.flag("--no-cache", &options->no_cache, "neither read nor keep kernel timings");
  command.flag("--no-overlap", &options->no_overlap,
               "run operators one after another, even where side by side is faster");
  command
      .option(
          "--counters auto|off", &options->counters,
          "on a GPU, once all is measured: run the result and the baseline once more in a process of their "
          "own, to read hardware counters of the kernels that take most time (15 seconds at most)")
      .one_of({kLabCounts, kLabCountsNothing})
      .with_default();
  command.option("--json FILE", &options->json, "write report.json here, too").written();
  command.footer(
      "Exit status: 0 done; 1 not done, standard error says why; 2 the command line is wrong; that of the "
      "program where its steps could not be recorded or timed, and nothing was tried; 130 interrupted (143 "
      "by "
      "SIGTERM).");
}

}  // namespace hone::apps

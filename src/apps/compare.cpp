// hone compare: two recordings (run folders, traces), or two models.
#include "analyze/compare.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "apps/command.h"
#include "apps/model_options.h"
#include "apps/trace_source.h"
#include "core/file.h"
#include "core/units.h"
#include "lab/bench/compare_models.h"
#include "lab/training/run_summary.h"
#include "report/json.h"
#include "report/terminal.h"
#include "report/write.h"
#include "runtime/timing_cache.h"

namespace hone::apps {
namespace {

namespace fs = std::filesystem;

constexpr int kTop = 5;

struct CompareOptions {
  ModelOptions model;  // bindings and shapes; of both
  std::string a, b;
  std::string json, out;
  std::vector<std::string> disabled;
  lab::BenchOptions bench;
  std::vector<std::pair<std::string, Option>> of_models;  // those that say nothing to recordings
};

Result<analyze::Analysis> analyse(const std::string& path, double from, ProgressBar& bar) {
  const Progress progress = [&bar, from](double share, const std::string& what) {
    bar.update(from + share / 2, what);
    return !interrupted();
  };
  HONE_ASSIGN(const Recording recording, read_recording({path}, progress));
  return analyse_recording(recording, {}, kTop);
}

// What can be known to fail before the work.
Status check_for_recordings(const CompareOptions& options) {
  for (const auto& [name, option] : options.of_models)
    if (option.given())
      return usage_error(fmt::format("{}: is for models, but A and B are recordings", name));
  return options.out.empty() ? Status() : check_out(options.out);
}

Status compare_recordings(const CompareOptions& options, int& exit_code) {
  HONE_CHECK(check_for_recordings(options));
  ProgressBar bar("hone compare");
  HONE_ASSIGN(const analyze::Analysis first, analyse(options.a, 0, bar));
  HONE_ASSIGN(const analyze::Analysis second, analyse(options.b, 0.5, bar));
  bar.finish();
  const analyze::Comparison comparison = analyze::compare(first, second);
  if (!comparison.comparable) exit_code = Program::kNoVerdict;
  if (!options.json.empty()) HONE_CHECK(write_file(options.json, report::compare_json(comparison)));
  fmt::print("{}", report::compare_terminal(comparison, report::terminal_style(STDOUT_FILENO)));
  if (options.out.empty()) return {};
  HONE_ASSIGN(const fs::path page, report::write_comparison(options.out, comparison));
  fmt::print("\nreport    {}\n", page.string());
  return {};
}

nlohmann::ordered_json models_json(const CompareOptions& options, const lab::ModelComparison& result) {
  using Json = nlohmann::ordered_json;
  const Interval& ratio = result.paired.ratio;
  const auto side = [](const lab::Latency& latency) {
    return Json{{"median", latency.p50}, {"low", latency.median_ms.low}, {"high", latency.median_ms.high}};
  };
  Json json = {{"schema", 1},
               {"a", options.a},
               {"b", options.b},
               {"a_ms", side(result.a)},
               {"b_ms", side(result.b)},
               {"ratio", {{"median", ratio.median}, {"low", ratio.low}, {"high", ratio.high}}},
               {"sure", result.paired.change != lab::SpeedChange::kNoDifference},
               {"verdict", lab::speed_change_name(result.paired.change)},
               {"level", result.paired.level},
               {"blocks", result.paired.block_ratios.size()},
               {"contention", contention_json(result.paired.contention)}};
  json["outputs"] = Json::array();
  for (const lab::OutputReport& output : result.numbers.outputs)
    json["outputs"].push_back({{"name", output.name},
                               {"rel_l2", output.rel_l2},
                               {"max_rel_err", output.max_rel_err},
                               {"agrees", output.passed}});
  json["why_not_compared"] = result.why_not_compared;
  return json;
}

void print_models(const CompareOptions& options, const lab::ModelComparison& result) {
  fmt::print("A  {}: {}\nB  {}: {}\n", options.a, format_ms(result.a.p50), options.b,
             format_ms(result.b.p50));
  fmt::print(
      "both optimised by hone first; medians of interleaved runs. The ratio is of runs next to each other, "
      "which tell more exactly than the medians' quotient\n");
  const double percent = result.paired.level * 100;
  if (result.paired.change == lab::SpeedChange::kNoDifference)
    fmt::print(
        "no difference can be told: A takes {} of B's time ({:.0f} % interval, {} interleaved blocks)\n",
        lab::ratio_text(result.paired.ratio), percent, result.paired.block_ratios.size());
  else
    fmt::print("B is {}: A takes {} of B's time ({:.0f} % interval, {} interleaved blocks)\n",
               lab::speed_change_name(result.paired.change), lab::ratio_text(result.paired.ratio), percent,
               result.paired.block_ratios.size());
  print_contention(result.paired.contention, "on a quiet one they may compare otherwise");
  if (!result.why_not_compared.empty())
    fmt::print("outputs not compared: {}\n", result.why_not_compared);
  else
    fmt::print("outputs {}: {}\n", result.numbers.passed ? "agree" : "DIFFER", result.numbers.detail);
}

Status compare_both_models(CompareOptions options) {
  HONE_CHECK(check_threads(options.bench.threads));
  HONE_CHECK(settle_device(&options.bench.device));
  HONE_CHECK(check_passes("--disable", options.disabled));
  ModelOptions model = options.model;
  model.path = options.a;
  HONE_ASSIGN(const graph::Graph a, load_to_run(model, {}, options.bench.seed));
  model.path = options.b;
  HONE_ASSIGN(const graph::Graph b, load_to_run(model, {}, options.bench.seed));
  ProgressBar bar("hone compare");
  lab::BenchOptions bench = options.bench;
  bench.disabled_passes.insert(options.disabled.begin(), options.disabled.end());
  bench.timing_cache = runtime::TimingCache::default_path();
  bench.progress = [&bar](double fraction, const std::string& what) {
    bar.update(fraction, what);
    return !interrupted();
  };
  HONE_ASSIGN(const lab::ModelComparison result, lab::compare_models(a, b, bench));
  HONE_CHECK(check_may_write());
  bar.finish();
  HONE_CHECK(write_json(options.json, models_json(options, result)));
  print_models(options, result);
  return {};
}

// The folders that A or B names: itself, or several with commas between them.
std::vector<std::string> folders_of(const std::string& path) {
  std::error_code failed;
  if (fs::exists(path, failed)) return {path};
  std::vector<std::string> folders;
  for (std::size_t from = 0; from <= path.size();) {
    const std::size_t end = std::min(path.find(',', from), path.size());
    if (end > from) folders.push_back(path.substr(from, end - from));
    from = end + 1;
  }
  return folders;
}

bool are_trainings(const std::vector<std::string>& folders) {
  return !folders.empty() && std::all_of(folders.begin(), folders.end(),
                                         [](const std::string& f) { return lab::is_training_run(f); });
}

Result<std::vector<analyze::TrainingRun>> read_trainings(const std::vector<std::string>& folders) {
  std::vector<analyze::TrainingRun> runs;
  for (const std::string& folder : folders) {
    HONE_ASSIGN(analyze::TrainingRun run, lab::read_training_run(folder));
    runs.push_back(std::move(run));
  }
  return runs;
}

Status compare_trainings(const CompareOptions& options, const std::vector<std::string>& a_folders,
                         const std::vector<std::string>& b_folders) {
  HONE_CHECK(check_for_recordings(options));
  HONE_ASSIGN(const std::vector<analyze::TrainingRun> a, read_trainings(a_folders));
  HONE_ASSIGN(const std::vector<analyze::TrainingRun> b, read_trainings(b_folders));
  HONE_ASSIGN(const analyze::TrainingComparison comparison, analyze::compare_training(a, b));
  if (!options.json.empty()) HONE_CHECK(write_file(options.json, report::compare_training_json(comparison)));
  fmt::print("{}", report::compare_training_terminal(comparison, report::terminal_style(STDOUT_FILENO)));
  if (options.out.empty()) return {};
  HONE_ASSIGN(const fs::path page, report::write_training_comparison(options.out, comparison, a, b));
  fmt::print("\nreport    {}\n", page.string());
  return {};
}

// Of several folders each must be a training; which is not is named.
Status check_all_trainings(const std::vector<std::string>& folders) {
  if (folders.size() < 2) return {};
  for (const std::string& folder : folders)
    if (!lab::is_training_run(folder))
      return invalid(fmt::format(
          "{}: is no run folder of hone train; of several with commas between them each must be", folder));
  return {};
}

Status run_compare(const CompareOptions& options, int& exit_code) {
  const std::vector<std::string> a_folders = folders_of(options.a), b_folders = folders_of(options.b);
  if (are_trainings(a_folders) && are_trainings(b_folders))
    return compare_trainings(options, a_folders, b_folders);
  HONE_CHECK(check_all_trainings(a_folders));
  HONE_CHECK(check_all_trainings(b_folders));
  if (a_folders.size() > 1 || b_folders.size() > 1)
    return usage_error("several runs with commas between them are compared with trainings alone");
  HONE_ASSIGN(const bool a, is_recording(options.a));
  HONE_ASSIGN(const bool b, is_recording(options.b));
  if (a != b)
    return usage_error(fmt::format(
        "cannot compare a recording ({}) with a model ({}); give two recordings, or two ONNX models",
        a ? options.a : options.b, a ? options.b : options.a));
  if (!a && !options.out.empty())
    return usage_error("--out: two models are compared on the terminal and by --json");
  return a ? compare_recordings(options, exit_code) : compare_both_models(options);
}

}  // namespace

void add_compare_command(Program& program) {
  auto options = std::make_shared<CompareOptions>();
  Command command =
      program.add("compare", "what changed between two traces, two runs or two models, by how much, how sure",
                  [options, &program] { return run_compare(*options, program.exit_code); });
  command
      .positional("A", &options->a,
                  "a trace, a folder of ranks' traces, a run folder (of hone lab: DIR/baseline; of hone "
                  "train: several that "
                  "differ in their seeds as DIR,DIR,…), or an ONNX model")
      .required();
  command.positional("B", &options->b, "another of the same kind").required();
  command.on_surplus(
      "two are compared, A and B; put the recordings of one run's ranks into a folder, and give both "
      "folders");
  const auto of_models = [&](const char* name, Option option) {
    options->of_models.emplace_back(name, option);
  };
  const auto [bind, shape] = options->model.add_shapes_to(command);
  of_models("--bind", bind);
  of_models("--shape", shape);
  of_models("--plugin", add_plugins_to(command, &options->model.plugins));
  of_models("--threads",
            command.option("--threads N", &options->bench.threads, "threads for models (default: every core)")
                .positive());
  options->bench.device = kAnyDevice;
  of_models("--device", add_device_to(command, &options->bench.device));
  of_models("--budget", command
                            .option("--budget SECONDS", &options->bench.budget_s,
                                    "seconds that measuring models may take, roughly")
                            .positive()
                            .with_default());
  of_models("--disable",
            command.option("--disable PASS", &options->disabled, "a pass or group that runs on neither model")
                .offers(pass_and_group_names()));
  of_models(
      "--no-overlap",
      command.flag("--no-overlap", &options->bench.overlap,
                   "run operators of models one after another, even where side by side is faster", false));
  command.option("--out DIR", &options->out, "a folder for the comparison as a page (traces and runs)");
  command.option("--json FILE", &options->json, "also write it to this file").written();
  command.footer(
      "Exit status: 0 compared; 1 not compared, standard error says why; 2 the command line is wrong; 3 a "
      "recording lacks too much to be compared, or was taken while the machine was busy.");
}

}  // namespace hone::apps

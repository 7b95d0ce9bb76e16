#include "lab/training/run_summary.h"

#include <algorithm>
#include <array>
#include <limits>
#include <sstream>
#include <type_traits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "analyze/analyze.h"
#include "core/file.h"
#include "lab/training/run_log.h"
#include "model/recipe/recipe.h"
#include "model/recipe/toml.h"
#include "trace/run_folder.h"

namespace hone::lab {
namespace {

namespace fs = std::filesystem;
using analyze::TrainingRun;
using SummaryJson = nlohmann::ordered_json;

constexpr std::array<std::string_view, 5> kEnds = {"unfinished", "done", "target reached", "stopped",
                                                   "failed"};

SummaryJson pairs_json(const std::vector<std::pair<std::string, std::string>>& pairs) {
  SummaryJson json = SummaryJson::array();
  for (const auto& [name, value] : pairs) json.push_back({name, value});
  return json;
}

SummaryJson environment_json(const analyze::Environment& where) {
  return {{"machine", where.machine},
          {"device", where.device},
          {"threads", where.threads},
          {"os", where.os},
          {"hone", where.hone_version},
          {"compiler", where.compiler},
          {"libraries", pairs_json(where.libraries)},
          {"settings", pairs_json(where.settings)},
          {"when", where.when}};
}

// Reads fields of an object that somebody may have edited or cut off: what is missing, or of another type, stays as it is.
class Reader {
 public:
  explicit Reader(const SummaryJson& json) : json_(json) {}

  void read(const char* key, std::string& to) const {
    if (const SummaryJson* value = find(key); value != nullptr && value->is_string())
      to = value->get<std::string>();
  }
  void read(const char* key, bool& to) const {
    if (const SummaryJson* value = find(key); value != nullptr && value->is_boolean())
      to = value->get<bool>();
  }
  template <typename Number>
  void read(const char* key, Number& to) const {
    const SummaryJson* const value = find(key);
    if (value == nullptr || !value->is_number()) return;
    // A fraction, or a number beyond all integers, is none.
    if (!std::is_integral_v<Number> || value->is_number_integer()) to = value->get<Number>();
  }
  void read(const char* key, std::optional<double>& to) const {
    if (const SummaryJson* value = find(key); value != nullptr && value->is_number())
      to = value->get<double>();
  }
  void read(const char* key, std::vector<std::pair<std::string, std::string>>& to) const {
    for (const SummaryJson& each : array(key))
      if (each.is_array() && each.size() == 2 && each[0].is_string() && each[1].is_string())
        to.emplace_back(each[0].get<std::string>(), each[1].get<std::string>());
  }
  const SummaryJson& array(const char* key) const {
    static const SummaryJson none = SummaryJson::array();
    const SummaryJson* const value = find(key);
    return value != nullptr && value->is_array() ? *value : none;
  }
  Reader object(const char* key) const {
    static const SummaryJson none = SummaryJson::object();
    const SummaryJson* const value = find(key);
    return Reader(value != nullptr && value->is_object() ? *value : none);
  }

 private:
  const SummaryJson* find(const char* key) const {
    const auto found = json_.find(key);
    return found == json_.end() ? nullptr : &*found;
  }
  const SummaryJson& json_;
};

void read_summary(const Reader& json, TrainingRun& run) {
  std::string end;
  json.read("end", end);
  for (std::size_t i = 0; i < kEnds.size(); ++i)
    if (kEnds[i] == end) run.end = static_cast<analyze::RunEnd>(i);
  json.read("name", run.name);
  json.read("failure", run.failure);
  json.read("steps", run.steps);
  json.read("batch", run.batch);
  json.read("batches_per_epoch", run.batches_per_epoch);
  json.read("tokens_per_sample", run.tokens_per_sample);
  json.read("parameters", run.parameters);
  json.read("step_flops", run.step_flops);
  json.read("seconds", run.seconds);
  json.read("metric", run.metric);
  json.read("larger_is_better", run.larger_is_better);
  json.read("target", run.target);
  json.read("input_limited_by", run.limiting_stage);
  json.read("command", run.command);
  for (const SummaryJson& each : json.array("memory")) {
    if (!each.is_object()) continue;
    const Reader bytes(each);
    analyze::NamedBytes named;
    bytes.read("name", named.name);
    bytes.read("bytes", named.bytes);
    bytes.read("note", named.note);
    run.memory.push_back(std::move(named));
  }
  for (const SummaryJson& note : json.array("notes"))
    if (note.is_string()) run.notes.push_back(note.get<std::string>());
  const Reader where = json.object("environment");
  where.read("machine", run.environment.machine);
  where.read("device", run.environment.device);
  where.read("threads", run.environment.threads);
  where.read("os", run.environment.os);
  where.read("hone", run.environment.hone_version);
  where.read("compiler", run.environment.compiler);
  where.read("libraries", run.environment.libraries);
  where.read("settings", run.environment.settings);
  where.read("when", run.environment.when);
}

// null: a number that was not finite.
double number_of(const SummaryJson& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_number() ? found->get<double>()
                                                   : std::numeric_limits<double>::quiet_NaN();
}

void read_line(const SummaryJson& line, TrainingRun& run) {
  if (!line.is_object() || !line.contains("step") || !line["step"].is_number_integer()) return;
  const auto step = line["step"].get<int64_t>();
  const auto kind = line.find("kind");
  if (kind == line.end()) return;
  if (*kind == "train")
    run.log.push_back({step, number_of(line, "loss"), number_of(line, "rate"),
                       number_of(line, "gradient_norm"), number_of(line, "step_ms"),
                       number_of(line, "input_wait_ms")});
  if (*kind != "evaluate") return;
  analyze::TrainingEvaluation evaluation{step, number_of(line, "loss"), {}};
  if (line.contains(run.metric)) evaluation.metric = number_of(line, run.metric.c_str());
  run.evaluations.push_back(evaluation);
}

// A last line that was cut short is left out.
Status read_metrics(const fs::path& folder, TrainingRun& run) {
  HONE_ASSIGN(const std::string text, read_file(folder / kMetricsFile));
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);)
    read_line(SummaryJson::parse(line, nullptr, false), run);
  return {};
}

void flatten(const model::TomlValue& value, const std::string& name, TrainingRun& run) {
  if (const model::TomlTable* const table = value.table(); table != nullptr) {
    for (const model::TomlEntry& entry : *table)
      flatten(entry.value, name.empty() ? entry.key : name + "." + entry.key, run);
    return;
  }
  // One value as TOML writes it, without the key.
  model::TomlValue alone;
  alone.value = model::TomlTable{{"x", value}};
  std::string text = model::toml_text(alone);
  text.erase(0, text.find_first_not_of("x ="));
  text.erase(text.find_last_not_of('\n') + 1);
  std::replace(text.begin(), text.end(), '\n', ' ');
  run.recipe.emplace_back(name, std::move(text));
}

Status read_kept_recipe(const fs::path& folder, TrainingRun& run) {
  HONE_ASSIGN(run.recipe_text, read_file(folder / model::kRecipeFile));
  HONE_ASSIGN(const model::TomlValue root,
              model::parse_toml(run.recipe_text, (folder / model::kRecipeFile).string()));
  flatten(root, "", run);
  return {};
}

// Some steps of the run; where they cannot be read the run is known all the same.
void read_recorded_steps(const fs::path& folder, int top, TrainingRun& run) {
  if (!trace::is_run_folder(folder)) return;
  const auto read = trace::read_run_folder(folder);
  if (!read.ok()) {
    run.notes.push_back("the recorded steps cannot be read: " + read.error().message);
    return;
  }
  if (read->info.roofs) run.roofs = *read->info.roofs;
  analyze::AnalyzeOptions options;
  options.top = top;
  options.source = folder.string();
  auto analysis = analyze::analyze_trace(read->trace, run.roofs, options);
  if (analysis.ok())
    run.recorded = *std::move(analysis);
  else
    run.notes.push_back("the recorded steps cannot be analysed: " + analysis.error().message);
}

}  // namespace

Status write_training_summary(const fs::path& folder, const TrainingRun& run) {
  SummaryJson json = {{"schema", 1},
                      {"name", run.name},
                      {"end", kEnds[static_cast<std::size_t>(run.end)]},
                      {"failure", run.failure},
                      {"steps", run.steps},
                      {"batch", run.batch},
                      {"batches_per_epoch", run.batches_per_epoch},
                      {"tokens_per_sample", run.tokens_per_sample},
                      {"parameters", run.parameters},
                      {"step_flops", run.step_flops},
                      {"seconds", run.seconds},
                      {"metric", run.metric},
                      {"larger_is_better", run.larger_is_better},
                      {"target", run.target ? SummaryJson(*run.target) : SummaryJson(nullptr)},
                      {"input_limited_by", run.limiting_stage},
                      {"command", run.command}};
  json["memory"] = SummaryJson::array();
  for (const analyze::NamedBytes& each : run.memory)
    json["memory"].push_back({{"name", each.name}, {"bytes", each.bytes}, {"note", each.note}});
  json["notes"] = run.notes;
  json["environment"] = environment_json(run.environment);
  return write_file(folder / kTrainingFile,
                    json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

bool is_training_run(const fs::path& folder) {
  std::error_code failed;
  return fs::is_regular_file(folder / kTrainingFile, failed) &&
         fs::is_regular_file(folder / kMetricsFile, failed);
}

Result<TrainingRun> read_training_run(const fs::path& folder, int top) {
  HONE_ASSIGN(const std::string text, read_file(folder / kTrainingFile));
  const SummaryJson json = SummaryJson::parse(text, nullptr, false);
  if (!json.is_object())
    return corrupt(
        fmt::format("{}: is no JSON object; hone train writes it", (folder / kTrainingFile).string()));
  TrainingRun run;
  run.source = folder.string();
  read_summary(Reader(json), run);
  HONE_CHECK(read_metrics(folder, run));
  HONE_CHECK(read_kept_recipe(folder, run));
  read_recorded_steps(folder, top, run);
  return run;
}

}  // namespace hone::lab

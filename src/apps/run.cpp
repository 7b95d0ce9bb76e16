// hone run: a model on given data, outputs to .npy files.
#include <algorithm>
#include <cmath>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "apps/bucket_options.h"
#include "apps/command.h"
#include "apps/model_options.h"
#include "apps/saved_plan.h"
#include "apps/what_fits.h"
#include "core/file.h"
#include "core/file_names.h"
#include "core/npy/npy.h"
#include "core/spelling.h"
#include "lab/plan_memory.h"
#include "passes/pipeline.h"
#include "report/text.h"
#include "runtime/execute.h"
#include "runtime/interpreter.h"
#include "runtime/make_provider.h"

namespace hone::apps {
namespace {

struct RunOptions {
  ModelOptions model;
  std::vector<std::string> inputs;  // "NAME=FILE.npy"
  std::string out;
  std::string json;
  std::string device = kAnyDevice;
  std::optional<Option> device_option;
  int threads = 0;
  std::vector<std::string> buckets;  // "batch=1,8,32"
  int64_t seed = -1;                 // of random operators that have none; negative: drawn
};

// The chains by which exporters compute shapes fold away, exactly: without them most models become plans.
Result<graph::Graph> simplified(graph::Graph graph) {
  passes::PassContext context;
  context.evaluate = runtime::interpret_node;
  HONE_ASSIGN(
      passes::PipelineResult simple,
      passes::run_pipeline(std::move(graph), context, {.disabled = {}, .only = {"simplify"}, .lossy = {}}));
  return std::move(simple.graph);
}

// The model on inputs of these shapes.
Result<graph::Graph> load_simplified(const ModelOptions& options, const std::map<std::string, Shape>& shapes,
                                     std::optional<uint64_t> seed) {
  HONE_ASSIGN(graph::Graph graph, load_to_run(options, shapes, seed));
  auto simple = simplified(std::move(graph));
  return simple.ok() ? simple : simple.error().within(options.path);
}

std::map<std::string, Shape> shapes_by_name(const graph::Graph& graph, const std::vector<Tensor>& inputs) {
  std::map<std::string, Shape> shapes;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    shapes[graph.value(graph.inputs()[i]).name] = inputs[i].shape();
  return shapes;
}

// What a user may not know of the data: NaN and infinities run through a model and come out as if nothing
// were.
std::string not_finite_text(const Tensor& tensor) {
  if (!is_float(tensor.dtype())) return {};
  int64_t nan = 0;
  int64_t infinite = 0;
  for (int64_t i = 0; i < tensor.size(); ++i) {
    const double value = tensor.at(i);
    nan += std::isnan(value) ? 1 : 0;
    infinite += std::isinf(value) ? 1 : 0;
  }
  if (nan == 0 && infinite == 0) return {};
  return fmt::format("{} of {} elements are NaN, {} infinite", nan, tensor.size(), infinite);
}

void print_not_finite(const char* what, const std::string& name, const Tensor& tensor) {
  if (const std::string text = not_finite_text(tensor); !text.empty())
    fmt::print("note: {} '{}': {}\n", what, report::clean_utf8(name), text);
}

// The tensors that were given, as the graph's inputs: every one, and no other.
Result<std::vector<Tensor>> inputs_of(const graph::Graph& graph, std::map<std::string, Tensor> given,
                                      const std::string& model) {
  std::vector<std::string> names;
  for (graph::ValueId id : graph.inputs()) names.push_back(graph.value(id).name);
  for (const auto& [name, tensor] : given)
    if (std::find(names.begin(), names.end(), name) == names.end())
      return usage_error(fmt::format("{}: there is no input '{}'{}; its inputs are {}", model, name,
                                     suggestion(name, names),
                                     names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
  std::vector<Tensor> inputs;
  for (graph::ValueId id : graph.inputs()) {
    const graph::Value& value = graph.value(id);
    auto it = given.find(value.name);
    if (it == given.end()) {
      return usage_error(fmt::format("{}: input '{}' ({}) is missing; give it with --input {}=FILE.npy",
                                     model, value.name, value.type.text(), value.name));
    }
    inputs.push_back(std::move(it->second));
  }
  return inputs;
}

// Writes and prints each; returns what --json says of them.
Result<nlohmann::ordered_json> write_outputs(const graph::Graph& graph, const std::vector<Tensor>& outputs,
                                             const std::string& folder) {
  std::vector<std::string> names;
  for (graph::ValueId id : graph.outputs()) names.push_back(graph.value(id).name);
  const std::vector<std::string> files = file_names(names, ".npy");
  HONE_CHECK(make_folder(folder));
  auto rows = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::string& name = names[i];
    const std::string path = folder + "/" + files[i];
    HONE_CHECK(write_npy(path, outputs[i]));
    fmt::print("{}: {}{}\n", path, dtype_name(outputs[i].dtype()), shape_text(outputs[i].shape()));
    rows.push_back({{"name", name},
                    {"file", path},
                    {"dtype", dtype_name(outputs[i].dtype())},
                    {"shape", outputs[i].shape()},
                    {"not_finite", not_finite_text(outputs[i])}});
  }
  return rows;
}

// Outputs to files, and what is to be said of all data.
Status write_results(const RunOptions& options, const graph::Graph& graph, const std::vector<Tensor>& inputs,
                     const std::vector<Tensor>& results, const std::string& how,
                     const lab::PlanMemoryUse& memory, nlohmann::ordered_json served = nullptr) {
  HONE_CHECK(check_may_write());
  HONE_ASSIGN(auto outputs, write_outputs(graph, results, options.out));
  fmt::print("{}\n", report::clean_utf8(how));
  fmt::print("memory: {}\n", lab::plan_memory_text(memory));
  for (std::size_t i = 0; i < inputs.size(); ++i)
    print_not_finite("input", graph.value(graph.inputs()[i]).name, inputs[i]);
  for (std::size_t i = 0; i < results.size(); ++i)
    print_not_finite("output", graph.value(graph.outputs()[i]).name, results[i]);
  return write_json(options.json, {{"schema", 1},
                                   {"model", options.model.path},
                                   {"how", how},
                                   {"memory", lab::plan_memory_json(memory)},
                                   {"served", std::move(served)},
                                   {"outputs", std::move(outputs)}});
}

// Random numbers of a plan are those of the seeds that it was made with.
Status run_plan(const RunOptions& options) {
  if (!options.buckets.empty())
    return usage_error(fmt::format("--buckets: {} is a plan, whose extents are fixed", options.model.path));
  if (options.seed >= 0)
    return usage_error(fmt::format("--seed: {} is a plan, whose seeds are fixed", options.model.path));
  HONE_ASSIGN(auto given, read_inputs(options.inputs));
  HONE_ASSIGN(const lab::SavedPlan saved,
              load_given_plan(options.model, options.device_option->given() ? &options.device : nullptr,
                              options.threads));
  const graph::Graph& graph = saved.plan->graph();
  HONE_ASSIGN(const std::vector<Tensor> inputs, inputs_of(graph, std::move(given), options.model.path));
  auto results = saved.plan->run(inputs);
  if (!results.ok()) return results.error().within(options.model.path);
  return write_results(options, graph, inputs, *results, runtime::describe(*saved.plan, *saved.provider),
                       lab::memory_use_of(saved.plan->memory(), *saved.provider->device()));
}

// With the symbols left open: the inputs say which plan.
Status run_in_buckets(const RunOptions& options) {
  HONE_ASSIGN(auto given, read_inputs(options.inputs));
  HONE_ASSIGN(const auto buckets, read_buckets(options.buckets));
  HONE_ASSIGN(const graph::Graph graph,
              load_to_run(options.model, {},
                          options.seed < 0 ? std::nullopt : std::optional<uint64_t>(options.seed)));
  HONE_ASSIGN(const std::vector<Tensor> inputs, inputs_of(graph, std::move(given), options.model.path));
  HONE_ASSIGN(const auto provider, runtime::make_provider(options.device, {.threads = options.threads}));
  lab::BucketOptions in_buckets;
  in_buckets.buckets = buckets;
  in_buckets.plan.autotune = false;  // one run does not repay measuring
  auto plans = lab::BucketedPlans::make(graph, *provider, in_buckets);
  if (!plans.ok()) return plans.error().within(options.model.path);
  auto run = (*plans)->run(inputs);
  if (!run.ok()) return run.error().within(options.model.path);
  return write_results(options, graph, inputs, run->outputs, run->served.text(),
                       lab::memory_use_of(run->memory, *provider->device()), served_json(run->served));
}

Status run_run(RunOptions options) {
  HONE_CHECK(check_threads(options.threads));
  HONE_CHECK(settle_device(&options.device));
  if (is_given_plan(options.model)) return run_plan(options);
  if (!options.buckets.empty()) return run_in_buckets(options);
  HONE_ASSIGN(auto given, read_inputs(options.inputs));
  HONE_ASSIGN(const graph::Graph graph,
              load_simplified(options.model, shapes_of(given),
                              options.seed < 0 ? std::nullopt : std::optional<uint64_t>(options.seed)));
  HONE_ASSIGN(const std::vector<Tensor> inputs, inputs_of(graph, std::move(given), options.model.path));

  HONE_ASSIGN(const auto provider, runtime::make_provider(options.device, {.threads = options.threads}));
  runtime::PlanOptions plan;
  plan.autotune = false;  // one run does not repay measuring
  auto execution = runtime::execute(graph, *provider, inputs, plan);
  if (!execution.ok())
    return with_what_fits(execution.error().within(options.model.path), options.model,
                          shapes_by_name(graph, inputs), *provider, simplified);
  return write_results(options, graph, inputs, execution->outputs, execution->how,
                       lab::memory_use_of(execution->memory, *provider->device()));
}

}  // namespace

void add_run_command(Program& program) {
  auto options = std::make_shared<RunOptions>();
  Command command = program.add("run", "run a model, or a saved plan of one, once on .npy inputs",
                                [options] { return run_run(*options); });
  options->model.default_symbol = 0;  // the given data have a shape
  options->model.add_to(command);
  command.option("--input NAME=FILE.npy", &options->inputs, "an input: NAME=FILE.npy (once for each input)");
  command.option("--out DIR", &options->out, "the folder for the outputs, one .npy each").required();
  add_buckets_to(command, &options->buckets);
  command
      .option("--seed N", &options->seed, "of random operators that have none (default: drawn, and printed)")
      .not_negative();
  options->device_option = add_device_to(command, &options->device);
  command.option("--threads N", &options->threads, "threads to use (default: every core)").positive();
  command
      .option("--json FILE", &options->json, "also write names, files and shapes of the outputs to this file")
      .written();
}

}  // namespace hone::apps

// hone optimize: the passes without the experiment. The result is a model for every runtime, or a plan for this machine.
#include <algorithm>
#include <filesystem>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "apps/command.h"
#include "apps/model_options.h"
#include "apps/what_fits.h"
#include "core/units.h"
#include "lab/experiment/target.h"
#include "lab/prepared.h"
#include "lab/saved_plan.h"
#include "lab/where_it_runs.h"
#include "model/onnx/writer.h"
#include "passes/pipeline.h"
#include "report/text.h"
#include "runtime/execute.h"
#include "runtime/interpreter.h"
#include "runtime/make_provider.h"

namespace hone::apps {
namespace {

namespace fs = std::filesystem;

struct OptimizeOptions {
  ModelOptions model;
  int threads = 0;
  uint64_t seed = 1;
  bool no_cache = false;
  std::string out;
  std::vector<std::string> disabled;
  std::vector<std::string> only;
  std::string device = kAnyDevice;
  bool list = false;
  bool summary = false;
  std::string json;
};

void print_passes() {
  fmt::print("{:<26}{:<11}{:<15}{}\n", "pass", "group", "numerics", "what it does");
  for (const passes::Pass& pass : passes::pipeline())
    fmt::print("{:<26}{:<11}{:<15}{}\n", pass.name, pass.group, numerics_name(pass.numerics), pass.summary);
}

bool is_plan_wanted(const OptimizeOptions& options) { return fs::path(options.out).extension() == ".plan"; }

// Before any work: a result that has nowhere to go is known now.
Status check_paths(const OptimizeOptions& options) {
  if (options.model.path.empty()) return usage_error("optimize: which model? give the path of an ONNX file");
  if (options.out.empty()) return usage_error("optimize: where to? give -o OUT.onnx or -o OUT.plan");
  const fs::path out(options.out);
  if (is_plan_wanted(options) && options.model.symbolic)
    return usage_error(
        "--symbolic: a plan is for one shape of each input; leave it out, or write an ONNX file");
  std::error_code failed;
  if (fs::is_directory(out, failed))
    return usage_error(fmt::format("{}: is a folder; give the name of a file in it", options.out));
  if (fs::equivalent(out, options.model.path, failed))
    return usage_error(
        fmt::format("{}: is the model itself; hone optimize never writes over its input, give another "
                    "name after -o",
                    options.out));
  return {};
}

void print_notes(const char* label, const std::vector<passes::Note>& notes) {
  for (const passes::Note& note : notes)
    fmt::print("    {} {}: {}\n", label, report::clean_utf8(note.node), report::clean_utf8(note.text));
}

// Of control flow, too: all that hone.Fused and If, Loop and Scan hold.
std::size_t all_nodes(const graph::Graph& graph) {
  std::size_t count = 0;
  for (const graph::Node& node : graph.nodes()) {
    ++count;
    if (node.op == "If" || node.op == "Loop" || node.op == "Scan")
      for (const auto& body : node.bodies) count += all_nodes(*body);
  }
  return count;
}

// What a file for other runtimes has no use for, or cannot hold.
void print_left_out(const OptimizeOptions& options) {
  if (options.only.empty())
    fmt::print("{:<26}{:<15}left out: other runtimes compute in the model's own types\n", "widen", "");
  for (const std::string& name : options.only)
    if (name == "layout" || name == "assign_layouts")
      fmt::print(
          "note: ONNX has no layouts but the plain one; {} chooses others only where hone runs the model\n",
          name);
}

void print_reports(const std::vector<passes::PassReport>& reports, bool summary) {
  for (const passes::PassReport& report : reports) {
    fmt::print("{:<26}{:<15}{:>4} changed{}\n", report.name, numerics_name(report.numerics),
               report.done.size(),
               report.missed.empty() ? "" : fmt::format(", {} not", report.missed.size()));
    if (summary) continue;
    print_notes("+", report.done);
    print_notes("-", report.missed);
  }
}

nlohmann::ordered_json notes_json(const std::vector<passes::Note>& notes) {
  auto json = nlohmann::ordered_json::array();
  for (const passes::Note& note : notes) json.push_back({{"node", note.node}, {"text", note.text}});
  return json;
}

nlohmann::ordered_json result_json(const OptimizeOptions& options, std::size_t before, std::size_t after,
                                   const std::vector<passes::PassReport>& reports) {
  nlohmann::ordered_json json;
  json["schema"] = 1;
  json["model"] = options.model.path;
  json["output"] = options.out;
  json["device"] = options.device;
  json["nodes"] = {{"before", before}, {"after", after}};
  json["passes"] = nlohmann::ordered_json::array();
  for (const passes::PassReport& report : reports) {
    json["passes"].push_back({{"name", report.name},
                              {"group", report.group},
                              {"numerics", numerics_name(report.numerics)},
                              {"done", notes_json(report.done)},
                              {"missed", notes_json(report.missed)},
                              {"pass_ms", report.pass_ms}});
  }
  return json;
}

passes::PipelineOptions pipeline_of(const OptimizeOptions& options) {
  passes::PipelineOptions pipeline;
  pipeline.disabled.insert(options.disabled.begin(), options.disabled.end());
  pipeline.only.insert(options.only.begin(), options.only.end());
  return pipeline;
}

void print_assumed(const OptimizeOptions& options, const std::vector<std::string>& assumed,
                   const char* more) {
  if (assumed.empty()) return;
  fmt::print("{} is for {}{}\n", options.out, report::clean_utf8(assumed_text(options.model, assumed)), more);
}

// --- as ONNX ---

Status write_model(const OptimizeOptions& options) {
  std::vector<std::string> assumed;
  HONE_ASSIGN(graph::Graph graph, load_model(options.model, {}, &assumed));
  const std::size_t before = all_nodes(graph);
  HONE_ASSIGN(const auto provider, runtime::make_provider(options.device, {.threads = options.threads}));
  passes::PassContext context{runtime::interpret_node, nullptr, lab::pass_target(*provider)};
  context.target.takes.convolution_layout = Layout::kPlain;  // ONNX can say no other
  context.target.takes.converted_layout = Layout::kPlain;
  passes::PipelineOptions pipeline = pipeline_of(options);
  // What the device's kernels compute in is no reason to write the model in other types for other runtimes.
  if (options.only.empty()) pipeline.disabled.insert("widen");
  auto result = passes::run_pipeline(std::move(graph), context, pipeline);
  if (!result.ok()) return result.error().within(options.model.path);
  const std::size_t after = all_nodes(result->graph);
  HONE_CHECK(check_may_write());
  HONE_CHECK(model::write_onnx(result->graph, options.out));
  nlohmann::ordered_json json = result_json(options, before, after, result->reports);
  json["assumed"] = assumed_json(options.model, assumed);
  HONE_CHECK(write_json(options.json, json));
  print_reports(result->reports, options.summary);
  print_left_out(options);
  fmt::print("{}: {} nodes became {} (a group counts as one; ONNX holds its operators one by one)\n",
             options.out, before, after);
  print_assumed(options, assumed, "; --symbolic leaves it open");
  return {};
}

// --- as a plan ---

Result<std::unique_ptr<runtime::Plan>> choose_kernels(const graph::Graph& graph,
                                                      const runtime::Provider& provider, bool no_cache) {
  runtime::TimingCache cache =
      no_cache ? runtime::TimingCache() : runtime::TimingCache::open(runtime::TimingCache::default_path());
  ProgressBar bar("hone optimize");
  const std::unique_ptr<runtime::Hold> hold = provider.hold();
  HONE_ASSIGN(
      std::unique_ptr<runtime::Plan> plan,
      lab::compile_plan(
          graph, provider, {},
          {.cache = &cache, .progress = [&bar](std::size_t done, std::size_t total, const std::string& node) {
             bar.update(static_cast<double>(done) / static_cast<double>(std::max(total, done + 1)),
                        lab::choosing(done, total, node));
             return !interrupted();
           }}));
  (void)cache.save();  // a convenience: the next run measures again if it could not be written
  return plan;
}

nlohmann::ordered_json plan_json(const runtime::Plan& plan) {
  nlohmann::ordered_json json = {{"steps", plan.steps().size()},
                                 {"arena_bytes", plan.memory().arena_bytes},
                                 {"weights_bytes", plan.memory().weights_bytes}};
  json["on_host"] = host_json(lab::where_it_runs(plan));
  return json;
}

Status write_as_plan(const OptimizeOptions& options) {
  HONE_CHECK(check_threads(options.threads));
  std::vector<std::string> assumed;
  HONE_ASSIGN(graph::Graph graph, load_to_run(options.model, {}, options.seed, &assumed));
  const std::size_t before = all_nodes(graph);
  HONE_ASSIGN(const auto provider, runtime::make_provider(options.device, {.threads = options.threads}));
  const passes::PassContext context{runtime::interpret_node, nullptr, lab::pass_target(*provider)};
  auto result = passes::run_pipeline(std::move(graph), context, pipeline_of(options));
  if (!result.ok()) return result.error().within(options.model.path);
  auto plan = choose_kernels(result->graph, *provider, options.no_cache);
  if (!plan.ok())
    return with_what_fits(plan.error().within(options.model.path), options.model, {}, *provider,
                          [&](graph::Graph read) -> Result<graph::Graph> {
                            HONE_ASSIGN(passes::PipelineResult improved,
                                        passes::run_pipeline(std::move(read), context, pipeline_of(options)));
                            return std::move(improved.graph);
                          });
  HONE_CHECK(check_may_write());
  std::vector<std::string> stand_for;
  for (const std::string& symbol : assumed)
    stand_for.push_back(fmt::format("{} = {}", symbol, options.model.default_symbol));
  HONE_CHECK(lab::save_plan(**plan, *provider, options.model.path, stand_for, options.out));
  nlohmann::ordered_json json = result_json(options, before, all_nodes(result->graph), result->reports);
  json["assumed"] = assumed_json(options.model, assumed);
  json["plan"] = plan_json(**plan);
  HONE_CHECK(write_json(options.json, json));
  print_reports(result->reports, options.summary);
  fmt::print("{}: {} nodes became a {}; {} of weights, {} for values\n", options.out, before,
             report::clean_utf8(runtime::describe(**plan, *provider)),
             format_bytes(static_cast<double>((*plan)->memory().weights_bytes)),
             format_bytes(static_cast<double>((*plan)->memory().arena_bytes)));
  for (const std::string& text : lab::where_texts(lab::where_it_runs(**plan)))
    fmt::print("note: {}\n", report::clean_utf8(text));
  print_assumed(options, assumed, "");
  return {};
}

Status run_optimize(OptimizeOptions options) {
  if (options.list) {
    print_passes();
    return {};
  }
  HONE_CHECK(check_paths(options));
  HONE_CHECK(settle_device(&options.device));
  HONE_CHECK(check_passes("--disable", options.disabled));
  HONE_CHECK(check_passes("--only", options.only));
  const std::vector<std::string> lossy = lossy_passes();
  for (const std::string& name : options.only)
    if (std::find(lossy.begin(), lossy.end(), name) != lossy.end())
      return usage_error(
          fmt::format("--only: '{}' is lossy, which is tried where its errors are measured: "
                      "hone lab MODEL --lossy {}",
                      name, name));
  for (const std::string& name : options.only)
    if (std::find(options.disabled.begin(), options.disabled.end(), name) != options.disabled.end())
      return usage_error(fmt::format("--only and --disable both name '{}'; give one of them", name));
  return is_plan_wanted(options) ? write_as_plan(options) : write_model(options);
}

}  // namespace

void add_optimize_command(Program& program) {
  auto options = std::make_shared<OptimizeOptions>();
  Command command =
      program.add("optimize", "apply the passes to a model and write the result, as a model or as a plan",
                  [options] { return run_optimize(*options); });
  options->model.add_to(command).required(false);
  options->model.add_symbolic_to(command);
  command
      .option("-o,--out FILE", &options->out,
              "the file to write: OUT.onnx, or OUT.plan for hone to run on a machine like this one, with "
              "kernels chosen "
              "(docs/plans.md)")
      .written();
  command
      .option("--device DEVICE", &options->device, "for whose kernels: what these take decides what is fused")
      .offers(device_names())
      .with_default();
  command.option("--disable PASS", &options->disabled, "a pass or group that does not run")
      .offers(pass_and_group_names());
  command.option("--only PASS", &options->only, "nothing but this pass or group (once for each)")
      .offers(pass_and_group_names());
  command.option("--threads N", &options->threads, "threads that a plan is for (default: every core)")
      .positive();
  command.option("--seed N", &options->seed, "of random operators that have none, in a plan").with_default();
  command.flag("--no-cache", &options->no_cache, "for a plan: neither read nor keep kernel timings");
  command.flag("--list", &options->list, "list the passes: group, numerics, what each does");
  command.flag("--summary", &options->summary, "the passes' counts, without each change");
  command.option("--json FILE", &options->json, "also write what each pass did to this file").written();
}

}  // namespace hone::apps

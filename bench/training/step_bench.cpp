// Training steps on request, for bench/training/run.py: one made-up batch, which lies on the device, and on which a recipe's
// step runs as often as each line of stdin says; the answer is the mean milliseconds of a step. What PyTorch needs to do the
// same work (weights, batch, optimizer, the losses of the first steps) is written before that.
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "core/clock.h"
#include "core/file.h"
#include "lab/training/fit_run.h"
#include "lab/training/precision.h"
#include "lab/training/program.h"
#include "lab/training/session.h"
#include "model/recipe/recipe.h"
#include "model/safetensors/safetensors.h"
#include "runtime/make_provider.h"
#include "runtime/plan.h"
#include "runtime/timing_cache.h"

namespace {

using namespace hone;

constexpr int kComparedSteps = 5;
constexpr std::string_view kWaiting = " waiting";  // behind a number of steps: for the numbers of each

struct Arguments {
  std::string recipe, folder, facts;
  std::string device = "cpu";
  std::vector<std::string> fields, set;
  int threads = 0;
  bool shows_plan = false;
};

// "image=f32:3x64x64": normal numbers; "label=i64:<10" and "tokens=i64:64<256": whole ones below a limit, as types allow.
Result<data::Field> field_of(const std::string& text, int64_t& limit) {
  const auto equals = text.find('='), colon = text.find(':'), below = text.find('<');
  if (equals == std::string::npos || colon == std::string::npos || colon < equals)
    return invalid(
        fmt::format("--field {}: give NAME=TYPE:EXTENTxEXTENT, and <LIMIT of whole numbers", text));
  data::Field field;
  field.name = text.substr(0, equals);
  const auto dtype = dtype_from_name(text.substr(equals + 1, colon - equals - 1));
  if (!dtype) return invalid(fmt::format("--field {}: no such type", text));
  field.dtype = *dtype;
  limit = below == std::string::npos ? 0 : std::stoll(text.substr(below + 1));
  for (std::size_t at = colon + 1; at < std::min(below, text.size());) {
    std::size_t read = 0;
    field.shape.push_back(std::stoll(text.substr(at), &read));
    at += read + 1;
  }
  return field;
}

Tensor made_up(DType dtype, const Shape& shape, int64_t limit, uint64_t seed) {
  std::mt19937_64 random(seed);
  Tensor tensor = Tensor::zeros(dtype, shape);
  std::normal_distribution<float> normal;
  if (dtype == DType::kF32)
    for (float& value : tensor.as<float>()) value = normal(random);
  if (dtype == DType::kI64)
    for (int64_t& value : tensor.as<int64_t>())
      value = static_cast<int64_t>(random() % static_cast<uint64_t>(limit));
  if (dtype == DType::kU8)
    for (uint8_t& value : tensor.as<uint8_t>())
      value = static_cast<uint8_t>(random() % static_cast<uint64_t>(limit));
  return tensor.aligned();
}

Status write_for_peer(const std::string& folder, const model::Recipe& recipe,
                      const lab::TrainingProgram& program, const std::vector<Tensor>& batch,
                      const std::vector<double>& losses) {
  model::Safetensors initial, given;
  for (const auto* list : {&program.model.parameters, &program.model.statistics})
    for (const graph::NamedTensor& tensor : *list) initial.tensors.emplace_back(tensor.name, tensor.value);
  for (std::size_t f = 0; f < batch.size(); ++f)
    given.tensors.emplace_back(program.options.fields[f].name, batch[f]);
  const graph::Optimizer& o = recipe.optimizer;
  const nlohmann::json run = {{"losses", losses},          {"rate", o.rate},
                              {"beta1", o.beta1},          {"beta2", o.beta2},
                              {"epsilon", o.epsilon},      {"weight_decay", o.weight_decay},
                              {"clip", recipe.train.clip}, {"precision", recipe.train.precision}};
  HONE_CHECK(model::write_safetensors(folder + "/initial.safetensors", initial));
  HONE_CHECK(model::write_safetensors(folder + "/batch.safetensors", given));
  return write_file(folder + "/run.json", run.dump(1) + "\n");
}

// The step's plan alone, with no evaluation beside it: memory and time to compile are the step's.
struct MeasuredStep {
  std::unique_ptr<runtime::Plan> plan;
  std::string types;  // what came of [train] precision; empty: nothing was narrowed
  double compile_s = 0;
  std::size_t taken_bytes = 0;  // of the device, for the plan and whatever its libraries took
};

Result<MeasuredStep> compile_step(const model::Recipe& recipe, const lab::TrainingProgram& program,
                                  const runtime::Provider& provider) {
  MeasuredStep step;
  const int64_t start = now_ns();
  runtime::TimingCache cache;
  if (!recipe.train.deterministic) cache = runtime::TimingCache::open(runtime::TimingCache::default_path());
  const lab::SessionOptions options = lab::session_options_of(recipe.train, &cache);
  HONE_ASSIGN(passes::PipelineResult optimised,
              lab::optimised_step(program, provider, options.without_passes, options.precision));
  for (const passes::PassReport& report : optimised.reports)
    if (report.name == options.precision && !report.types.empty())
      step.types = lab::types_text(options.precision, report.types);
  runtime::PlanOptions plan;
  plan.autotune = options.autotune;
  plan.cache = options.cache;
  HONE_ASSIGN(step.plan, runtime::Plan::compile(std::move(optimised.graph), provider, plan));
  if (options.autotune) (void)cache.save();  // a cache is a convenience
  step.compile_s = static_cast<double>(now_ns() - start) * 1e-9;
  return step;
}

Status write_inputs(runtime::Plan& plan, const lab::TrainingProgram& program,
                    const std::vector<Tensor>& batch) {
  std::map<std::string, const Tensor*> values;
  for (const auto& [name, tensor] : program.initial) values[name] = &tensor;
  for (std::size_t f = 0; f < batch.size(); ++f)
    values[graph::kDataPrefix + program.options.fields[f].name] = &batch[f];
  const graph::Graph& graph = plan.graph();
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
    const std::string& name = graph.value(graph.inputs()[i]).name;
    const auto found = values.find(name);
    if (found == values.end())
      return invalid(fmt::format("the step reads '{}': is a --field missing?", name));
    HONE_CHECK(plan.write(i, found->second->aligned()));
  }
  return {};
}

// As a session does after each step (lab/training/session.h).
Result<double> loss_of(const runtime::Plan& plan) {
  HONE_ASSIGN(const Tensor loss, plan.read(graph::kStepLoss));
  HONE_CHECK(plan.read(graph::kStepRate));
  HONE_CHECK(plan.read(graph::kStepNorm));
  return loss.at(0);
}

// Behind one another in the device's queue: the host waits once. A fault of the data is told of the last step alone.
Status run_ahead(runtime::Plan& plan, int64_t steps) {
  for (int64_t i = 0; i < steps; ++i) HONE_CHECK(plan.start());
  return plan.finish();
}

// As hone train does (lab/training/step_runner.h): the numbers of each step are looked at while the device has the next.
Status run_waiting_ahead(runtime::Plan& plan, int64_t steps) {
  constexpr std::array<std::size_t, 3> kNumbers = {graph::kStepLoss, graph::kStepRate, graph::kStepNorm};
  HONE_CHECK(plan.give(kNumbers));
  for (int64_t i = 0; i < steps; ++i) {
    if (i + 1 < steps) HONE_CHECK(plan.give(kNumbers));
    HONE_CHECK(plan.take());
  }
  return {};
}

Status run_waiting(runtime::Plan& plan, int64_t steps) {
  if (plan.can_give_ahead()) return run_waiting_ahead(plan, steps);
  for (int64_t i = 0; i < steps; ++i) {
    HONE_CHECK(plan.run());
    HONE_CHECK(loss_of(plan));
  }
  return {};
}

Status answer_requests(runtime::Plan& plan, bool runs_ahead) {
  std::cout << "ready" << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    const bool waits = line.ends_with(kWaiting);
    if (waits) line.resize(line.size() - kWaiting.size());
    int64_t steps = 0;
    const auto read = std::from_chars(line.data(), line.data() + line.size(), steps);
    if (read.ec != std::errc() || read.ptr != line.data() + line.size() || steps < 1)
      return invalid(fmt::format("'{}': give a number of steps a line", line));
    const int64_t start = now_ns();
    HONE_CHECK(runs_ahead && !waits ? run_ahead(plan, steps) : run_waiting(plan, steps));
    const auto taken_ns = static_cast<double>(now_ns() - start);
    HONE_ASSIGN(const double loss, loss_of(plan));
    if (!std::isfinite(loss)) return invalid(fmt::format("the loss has become {}", loss));
    std::cout << fmt::format("{:.6f}", taken_ns / 1e6 / static_cast<double>(steps)) << std::endl;
  }
  return {};
}

nlohmann::ordered_json memory_json(const MeasuredStep& step) {
  const runtime::PlanMemory memory = step.plan->memory();
  return {{"arena_bytes", memory.arena_bytes},     {"arena_lower_bound_bytes", memory.arena_lower_bound},
          {"weights_bytes", memory.weights_bytes}, {"host_bytes", memory.host_bytes},
          {"state_bytes", memory.state_bytes},     {"state_copy_bytes", memory.state_copy_bytes},
          {"device_bytes", step.taken_bytes}};
}

// What run.py keeps beside the times.
nlohmann::ordered_json facts_of(const MeasuredStep& step, const lab::TrainingProgram& program,
                                const runtime::Provider& provider, bool runs_ahead) {
  nlohmann::ordered_json traits = nlohmann::ordered_json::object();
  for (const runtime::Trait& trait : provider.traits()) traits[trait.what] = trait.value;
  std::map<std::string, std::map<std::string, int>> kernels;
  std::map<std::string, int> stand_ins;
  int on_host = 0;
  for (const runtime::PlanStep& each : step.plan->steps()) {
    ++kernels[each.op][each.implementation];
    if (each.reference || each.on_host) ++stand_ins[each.op];
    on_host += each.on_host ? 1 : 0;
  }
  return {{"device", provider.name()},
          {"traits", traits},
          {"enqueued", runs_ahead ? "all steps of a slot, then one wait" : "step by step"},
          {"waits_within_a_step", on_host},  // operators of the host's: it waits before each
          {"types", step.types},
          {"compile_s", step.compile_s},
          {"parameters", program.parameters},
          {"step_flops", program.step_flops},
          {"memory", memory_json(step)},
          {"kernels", kernels},
          {"by_reference", stand_ins}};
}

void print_plan(const MeasuredStep& step, bool whole) {
  if (!step.types.empty()) fmt::print(stderr, "{}\n", step.types);
  for (const runtime::PlanStep& each : step.plan->steps())
    if (each.reference || each.on_host) fmt::print(stderr, "by reference: {} '{}'\n", each.op, each.name);
  if (!whole) return;
  for (const runtime::PlanStep& each : step.plan->steps())
    fmt::print(stderr, "{} '{}': {} ({}; {:.1f} us)\n", each.op, each.name, each.implementation, each.choice,
               each.microseconds);
}

Status run(const Arguments& arguments) {
  HONE_ASSIGN(const model::Recipe recipe, model::read_recipe(arguments.recipe, arguments.set));
  std::vector<data::Field> fields;
  std::vector<Tensor> tensors;
  for (const std::string& text : arguments.fields) {
    int64_t limit = 0;
    HONE_ASSIGN(fields.emplace_back(), field_of(text, limit));
    Shape shape = fields.back().shape;
    shape.insert(shape.begin(), recipe.train.batch);
    tensors.push_back(made_up(fields.back().dtype, shape, limit, fields.size()));
  }
  HONE_ASSIGN(const lab::TrainingProgram program,
              lab::make_program(recipe, fields, recipe.train.steps, recipe.train.batch));
  HONE_ASSIGN(const auto provider, runtime::make_provider(arguments.device, {.threads = arguments.threads}));
  const std::shared_ptr<runtime::Device> device = provider->device();
  const std::size_t free_before = device->available();
  HONE_ASSIGN(MeasuredStep step, compile_step(recipe, program, *provider));
  HONE_CHECK(write_inputs(*step.plan, program, tensors));
  std::vector<double> losses;
  for (int i = 0; i < kComparedSteps; ++i) {
    HONE_CHECK(step.plan->run());
    HONE_ASSIGN(losses.emplace_back(), loss_of(*step.plan));
  }
  step.taken_bytes = free_before - std::min(free_before, device->available());
  print_plan(step, arguments.shows_plan);
  HONE_CHECK(write_for_peer(arguments.folder, recipe, program, tensors, losses));
  const bool runs_ahead = !device->host_visible();
  if (!arguments.facts.empty())
    HONE_CHECK(write_file(arguments.facts, facts_of(step, program, *provider, runs_ahead).dump(1) + "\n"));
  return answer_requests(*step.plan, runs_ahead);
}

}  // namespace

// bench_training RECIPE FOLDER [--device NAME] [--threads N] [--field NAME=TYPE:EXTENTS[<LIMIT]]… [--set KEY=VALUE]…
//   [--facts FILE] [--plan]
int main(int count, char** words) {
  Arguments arguments;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (word == "--plan") {
      arguments.shows_plan = true;
      continue;
    }
    if (word.starts_with("--") && i + 1 == count) return std::fprintf(stderr, "%s: of what?\n", words[i]), 2;
    if (word == "--field")
      arguments.fields.emplace_back(words[++i]);
    else if (word == "--set")
      arguments.set.emplace_back(words[++i]);
    else if (word == "--threads")
      arguments.threads = std::stoi(words[++i]);
    else if (word == "--device")
      arguments.device = words[++i];
    else if (word == "--facts")
      arguments.facts = words[++i];
    else if (word.starts_with("--"))
      return fmt::print(stderr, "bench_training: there is no option {}\n", word), 2;
    else
      (arguments.recipe.empty() ? arguments.recipe : arguments.folder) = word;
  }
  const Status done = run(arguments);
  if (!done.ok()) fmt::print(stderr, "bench_training: {}\n", done.error().message);
  return done.ok() ? 0 : 1;
}

#include "lab/training/describe_run.h"

#include <algorithm>
#include <map>

#include "lab/experiment/describe.h"
#include "lab/machine.h"

namespace hone::lab {
namespace {

// What a state of the step is there for, in words.
std::string state_kind(const graph::TrainableModel& model, const std::string& name) {
  const auto is_one_of = [&](const std::vector<graph::NamedTensor>& tensors) {
    return std::any_of(tensors.begin(), tensors.end(),
                       [&](const graph::NamedTensor& tensor) { return tensor.name == name; });
  };
  if (is_one_of(model.parameters)) return "weights";
  if (is_one_of(model.statistics)) return "running statistics";
  return name.starts_with(graph::kEmaPrefix) ? "moving average of the weights" : "state of the optimizer";
}

}  // namespace

std::vector<analyze::NamedBytes> list_memory(const TrainingProgram& program, const runtime::Plan& plan) {
  std::map<std::string, double> states;
  for (const auto& [name, tensor] : program.initial)
    states[state_kind(program.model, name)] += static_cast<double>(tensor.bytes());
  const runtime::PlanMemory memory = plan.memory();
  std::vector<analyze::NamedBytes> list;
  for (const auto& [kind, bytes] : states) list.push_back({kind, bytes, "kept from step to step"});
  list.push_back({"activations, gradients and scratch",
                  static_cast<double>(memory.arena_bytes - std::min(memory.arena_bytes, memory.state_bytes)),
                  "one arena, offsets computed ahead"});
  list.push_back(
      {"constants", static_cast<double>(memory.weights_bytes), "with what kernels packed of them"});
  std::stable_sort(list.begin(), list.end(), [](const analyze::NamedBytes& a, const analyze::NamedBytes& b) {
    return a.bytes > b.bytes;
  });
  return list;
}

analyze::TrainingRun describe_run(const RunParts& parts, analyze::RunEnd end) {
  const model::Recipe& recipe = parts.recipe;
  analyze::TrainingRun run;
  run.name = recipe.name;
  run.end = end;
  run.steps = parts.steps;
  run.batch = recipe.train.batch;
  run.batches_per_epoch = parts.batches.batches_per_epoch();
  run.tokens_per_sample = parts.tokens_per_sample;
  run.parameters = static_cast<double>(parts.program.parameters);
  run.step_flops = parts.program.step_flops;
  run.seconds = parts.seconds;
  run.metric = graph::metric_names()[static_cast<std::size_t>(recipe.objective.metric)];
  run.larger_is_better = graph::larger_is_better(recipe.objective.metric);
  run.target = recipe.train.target;
  run.limiting_stage = data::stage_name(parts.batches.counts().limiting_stage());
  run.memory = list_memory(parts.program, parts.plan);
  for (const data::Damage& damage : parts.batches.damages())
    run.notes.push_back("left out: " + damage.message);
  run.environment = describe_environment(describe_machine(), parts.provider);
  run.command = parts.command;
  return run;
}

}  // namespace hone::lab

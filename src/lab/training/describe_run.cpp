#include "lab/training/describe_run.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "core/units.h"
#include "lab/experiment/describe.h"
#include "lab/machine.h"

namespace hone::lab {
namespace {

struct PartNote {
  std::string_view part, note;
};
constexpr PartNote kPartNotes[] = {
    {"weights", "parameters and running statistics"},
    {"optimizer", "moments, moving averages, counters"},
    {"activations", "with gradients and what kernels work in: one arena, offsets computed ahead"},
    {"packed", "what kernels hold themselves"},
    {"reference", "of operators without a kernel, while they run"},
    {"evaluation", "its plan, with weights of its own"},
    {"model", "as it was given, to be written with other weights"},
    {"checkpoint", "the states as they are while a thread writes them"},
    {"data", "samples that are kept, batches that are read ahead"},
};

}  // namespace

std::vector<analyze::NamedBytes> list_memory(const TrainingMemoryReport& memory) {
  std::vector<analyze::NamedBytes> list;
  for (const auto& part : memory.predicted.parts()) {
    const auto* const found = std::find_if(std::begin(kPartNotes), std::end(kPartNotes),
                                           [&](const PartNote& each) { return each.part == part.first; });
    const std::string_view note = found == std::end(kPartNotes) ? "" : found->note;
    if (part.second > 0) list.push_back({part.first, static_cast<double>(part.second), std::string(note)});
  }
  std::stable_sort(list.begin(), list.end(), [](const analyze::NamedBytes& a, const analyze::NamedBytes& b) {
    return a.bytes > b.bytes;
  });
  list.push_back(
      {"foretold, all together", static_cast<double>(memory.predicted.total()),
       memory.recomputed == 0
           ? ""
           : fmt::format("with {} operators computed again, {:+.1f} % FLOPs; {} without", memory.recomputed,
                         memory.more_flops * 100, format_bytes(static_cast<double>(memory.kept_bytes)))});
  if (memory.measured_bytes > 0)
    list.push_back({"taken at most", static_cast<double>(memory.measured_bytes),
                    fmt::format("by the account of tensors; the whole process took {}",
                                format_bytes(static_cast<double>(memory.resident_bytes)))});
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
  run.memory = list_memory(parts.memory);
  for (const data::Damage& damage : parts.batches.damages())
    run.notes.push_back("left out: " + damage.message);
  run.environment = describe_environment(describe_machine(), parts.provider);
  run.command = parts.command;
  return run;
}

}  // namespace hone::lab

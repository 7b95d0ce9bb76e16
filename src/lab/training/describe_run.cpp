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
    {"constants", "of the step's graph, that kernels read"},
    {"batches", "on their way beside the step before"},
    {"staging", "page-locked, what the device copies from"},
};
constexpr std::string_view kOfHost = "the host's";

std::string describe_others(const DeviceMemoryReport& device) {
  std::string text = "by the blocks that the run took";
  if (device.preparing_bytes > device.measured_bytes)
    text += fmt::format("; {} while kernels were chosen",
                        format_bytes(static_cast<double>(device.preparing_bytes)));
  if (device.taken_by_all)
    text += fmt::format("; {} of {} were taken with libraries, workspaces and other programs",
                        format_bytes(static_cast<double>(*device.taken_by_all)),
                        format_bytes(static_cast<double>(device.capacity)));
  return text;
}

}  // namespace

std::vector<analyze::NamedBytes> list_memory(const TrainingMemoryReport& memory) {
  std::vector<analyze::NamedBytes> list;
  const TrainingMemory& predicted = memory.predicted;
  const auto add = [&](std::string name, std::size_t bytes, std::string note) {
    list.push_back({std::move(name), static_cast<double>(bytes), std::move(note)});
  };
  for (const TrainingMemory::Part& part : predicted.parts()) {
    const auto* const found = std::find_if(std::begin(kPartNotes), std::end(kPartNotes),
                                           [&](const PartNote& each) { return each.part == part.name; });
    std::string note(found == std::end(kPartNotes) ? "" : found->note);
    if (!predicted.one_memory())
      note += fmt::format("; of {}", part.on_device ? std::string_view(predicted.device) : kOfHost);
    if (part.bytes > 0) add(std::string(part.name), part.bytes, std::move(note));
  }
  std::stable_sort(list.begin(), list.end(), [](const analyze::NamedBytes& a, const analyze::NamedBytes& b) {
    return a.bytes > b.bytes;
  });
  const std::string again =
      memory.recomputed == 0
          ? ""
          : fmt::format("with {} operators computed again, {:+.1f} % FLOPs; {} without", memory.recomputed,
                        memory.more_flops * 100, format_bytes(static_cast<double>(memory.kept_bytes)));
  if (predicted.one_memory()) {
    add("foretold, all together", predicted.total(), again);
  } else {
    add("foretold, of " + predicted.device, predicted.on_device(), again);
    if (memory.device)
      add("taken at most, of " + memory.device->name, memory.device->measured_bytes,
          describe_others(*memory.device));
    add("foretold, of the host's", predicted.on_host(), "");
  }
  if (memory.measured_bytes > 0)
    add(predicted.one_memory() ? "taken at most" : "taken at most, of the host's", memory.measured_bytes,
        fmt::format("by the account of tensors; the whole process took {}",
                    format_bytes(static_cast<double>(memory.resident_bytes))));
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

#include "analyze/program_facts.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "analyze/loading.h"
#include "trace/link/roles.h"

namespace hone::analyze {
namespace {

// The classes of torch.optim whose constructors take `fused` (torch/optim, PyTorch 2.3 and later).
constexpr std::array<std::string_view, 4> kWithFusedStep = {"Adam", "AdamW", "SGD", "Adagrad"};

std::string class_of_optimizer(const trace::Trace& trace) {
  for (const trace::StepMark& mark : trace.meta.marks)
    if (mark.kind == trace::StepMarkKind::kOptimizer) return mark.name;
  for (uint32_t i = 0; i < trace.strings.size(); ++i)
    if (const std::string_view name = trace::link::optimizer_class(trace.strings.text(trace::StringId{i}));
        !name.empty())
      return std::string(name);
  return {};
}

// Of each rank the process with most spans is the program; others that load data do it for that one.
int count_loaders(const trace::Trace& trace) {
  std::map<int, std::map<int64_t, std::size_t>> spans;  // by rank and process
  for (const trace::TrackId track : trace.spans.track)
    ++spans[trace.tracks[track.index].rank][trace.tracks[track.index].pid];
  std::set<int64_t> mains;
  for (const auto& [rank, counts] : spans)
    mains.insert(std::ranges::max_element(counts, {}, [](const auto& entry) { return entry.second; })->first);
  std::map<int64_t, std::pair<int64_t, int64_t>> seen;  // when a process was first sampled, and last
  std::set<int64_t> loaders;
  for (const trace::StackSample& sample : trace.stacks.samples) {
    const int64_t pid = trace.tracks[sample.track.index].pid;
    if (mains.contains(pid)) continue;
    auto& [first, last] = seen.try_emplace(pid, sample.time_ns, sample.time_ns).first->second;
    first = std::min(first, sample.time_ns);
    last = std::max(last, sample.time_ns);
    if (loaders.contains(pid)) continue;
    const auto loads = [&](trace::FrameId id) {
      return trace.stacks.frames[id.index].role == trace::FrameRole::kInput;
    };
    if (std::ranges::any_of(trace.stacks.python(sample), loads)) loaders.insert(pid);
  }
  // An epoch's processes follow on those of the epoch before.
  std::vector<std::pair<int64_t, int>> changes;
  for (const int64_t pid : loaders) {
    changes.emplace_back(seen[pid].first, 1);
    changes.emplace_back(seen[pid].second + 1, -1);
  }
  std::ranges::sort(changes);
  int alive = 0, most = 0;
  for (const auto& [time_ns, more] : changes) most = std::max(most, alive += more);
  return most;
}

}  // namespace

ProgramFacts facts_of(const trace::Trace& trace) {
  ProgramFacts program;
  program.observed = !trace.meta.blocks.empty();
  for (const trace::Operator& op : trace.operators) {
    program.convolves |= op.op_class == trace::OperatorClass::kConvolution;
    program.updates |= op.phase == trace::Phase::kOptimizer;
    program.fused_update |= op.what == trace::OperatorKind::kUpdate;
  }
  program.optimizer = class_of_optimizer(trace);
  const trace::LoaderEpoch* used = loader_in_use(trace.meta, 0);
  program.loaders = used != nullptr ? used->workers : count_loaders(trace);
  return program;
}

std::string batch_advice(const ProgramFacts& program, bool device) {
  const std::string_view elsewhere = device ? "; or move the preprocessing to the device" : "";
  if (program.loaders == 0)
    return fmt::format(
        "prepare batches ahead, in enough processes: DataLoader(num_workers=…, prefetch_factor=…, "
        "persistent_workers=True{}){}",
        device ? ", pin_memory=True" : "", elsewhere);
  return fmt::format(
      "make what prepares a batch cheaper: the {} that the program has for it {} up{}; more of them "
      "(num_workers) help while CPUs are free",
      program.loaders == 1 ? std::string("process") : fmt::format("{} processes", program.loaders),
      program.loaders == 1 ? "does not keep" : "do not keep", elsewhere);
}

std::string optimizer_advice(const ProgramFacts& program) {
  if (std::ranges::find(kWithFusedStep, program.optimizer) != kWithFusedStep.end())
    return fmt::format("use torch.optim.{}(…, fused=True): one kernel for all parameters", program.optimizer);
  if (!program.optimizer.empty())
    return fmt::format(
        "join the passes of {}: torch.compile(optimizer.step), or foreach=True where it has that",
        program.optimizer);
  return "use an optimizer that takes all parameters in one kernel (torch.optim.Adam, AdamW or SGD with "
         "fused=True), or torch.compile the update";
}

std::string unnamed_code_advice(const ProgramFacts& program, bool named) {
  if (named) return {};
  return program.observed ? "; profile with --python-stacks to see which code it is"
                          : "; record with with_stack=True to see which code it is";
}

std::string cpu_kernel_advice(const ProgramFacts& program) {
  if (program.convolves)
    return "try torch.compile(model), another number of threads (torch.set_num_threads), or channels_last "
           "for convolutions";
  return "try torch.compile(model), or another number of threads (torch.set_num_threads)";
}

std::string small_operator_advice(const ProgramFacts& program) {
  return fmt::format(
      "use torch.compile(model), which issues the step as fewer, larger operators; or larger batches{}",
      program.updates && !program.fused_update
          ? ", and foreach or fused optimizers instead of loops over parameters"
          : "");
}

std::string cpu_order_advice(const ProgramFacts& program) {
  return fmt::format(
      "keep one order through the model: {}no .contiguous(), .permute() or .t() between operators",
      program.convolves ? "memory_format=torch.channels_last for images, " : "");
}

}  // namespace hone::analyze

#include "analyze/loading.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/statistics.h"
#include "core/units.h"

namespace hone::analyze {
namespace {

using trace::LoaderEpoch, trace::StepMark, trace::StepMarkKind;

// What processes win less than that of the wait is not what is advised first.
constexpr double kWorthWhile = 0.2;
constexpr double kLeastGain = 0.02;  // of the step

bool in_blocks(const trace::Meta& meta, const StepMark& mark) {
  return meta.blocks.empty() || trace::block_at(meta.blocks, mark.rank, mark.time_ns) != nullptr;
}

// The epoch that a batch is of: the last that had begun, of whatever loader.
const LoaderEpoch* epoch_at(const trace::Meta& meta, int rank, int64_t time_ns) {
  const LoaderEpoch* found = nullptr;
  for (const LoaderEpoch& epoch : meta.loaders)
    if (epoch.rank == rank && epoch.start_ns <= time_ns) found = &epoch;
  return found;
}

// Batches of a loader in the blocks of the session, and how many of them were an epoch's first.
struct Seen {
  int64_t batches = 0, firsts = 0;
  const LoaderEpoch* last = nullptr;
};

std::map<int32_t, Seen> batches_seen(const trace::Meta& meta, int rank) {
  std::map<int32_t, Seen> seen;
  const LoaderEpoch* before = nullptr;
  for (const StepMark& mark : meta.marks) {
    if (mark.rank != rank || mark.kind != StepMarkKind::kData) continue;
    const LoaderEpoch* epoch = epoch_at(meta, rank, mark.time_ns);
    const bool first = epoch != before;
    before = epoch;
    if (epoch == nullptr || !in_blocks(meta, mark)) continue;
    Seen& row = seen[epoch->loader];
    ++row.batches;
    row.firsts += first;
    row.last = epoch;
  }
  return seen;
}

const Seen* most_seen(const std::map<int32_t, Seen>& seen) {
  const auto most =
      std::ranges::max_element(seen, {}, [](const auto& entry) { return entry.second.batches; });
  return most == seen.end() ? nullptr : &most->second;
}

// Gradients may be accumulated over several.
double batches_a_step(const trace::Meta& meta, int rank, int64_t batches) {
  int64_t steps = 0;
  for (const StepMark& mark : meta.marks)
    steps += mark.rank == rank && mark.kind == StepMarkKind::kOptimizer && in_blocks(meta, mark);
  return steps > 0 ? std::max(1.0, std::round(static_cast<double>(batches) / static_cast<double>(steps))) : 1;
}

double median_or_zero(const std::vector<double>& values) { return values.empty() ? 0 : median(values); }

// What epochs of that loader took for its processes. The first of a program starts them, too, but from a colder machine.
LoaderTimes times_of_processes(const trace::Meta& meta, const LoaderEpoch& used) {
  std::vector<double> starts, ends;
  const LoaderEpoch* longest = nullptr;  // batches that were made ready and not handed over count least there
  for (const LoaderEpoch& epoch : meta.loaders) {
    if (epoch.rank != used.rank || epoch.loader != used.loader || epoch.workers <= 0) continue;
    if (epoch.starting_ns > 0)
      starts.push_back(static_cast<double>(epoch.starting_ns) * 1e-6 / epoch.workers);
    if (epoch.ending_ns > 0) ends.push_back(static_cast<double>(epoch.ending_ns) * 1e-6);
    if (epoch.cpu_ns > 0 && (longest == nullptr || epoch.delivered >= longest->delivered)) longest = &epoch;
  }
  LoaderTimes times;
  times.start_ms = median_or_zero(starts);
  times.end_ms = median_or_zero(ends);
  times.cores = used.cores;
  // Nobody saw what the batch takes of a CPU: all of it.
  times.cpu_ms = longest == nullptr ? HUGE_VAL
                                    : static_cast<double>(longest->cpu_ns) * 1e-6 /
                                          static_cast<double>(std::max<int64_t>(1, longest->delivered));
  return times;
}

std::string processes(int count) { return counted(count, "process", "processes"); }

}  // namespace

double Loading::gain_ms() const { return std::clamp(step_with(now) - step_with(advised), 0.0, wait_ms); }

int Loading::steps_of_epoch() const {
  constexpr double kMost = 1e6;
  return now.batches > 0
             ? static_cast<int>(std::clamp(static_cast<double>(now.batches) / batches_a_step, 1.0, kMost))
             : 0;
}

bool Loading::helps() const { return gain_ms() > std::max(kWorthWhile * wait_ms, kLeastGain * step_ms); }

bool Loading::waits_at_starts() const {
  const EpochWaits waits = simulate_epoch(now, times);
  const double share = first_share(now);
  return now.workers > 0 && share * waits.first_ms > 0.5 * waits.mean_ms(share);
}

const LoaderEpoch* loader_in_use(const trace::Meta& meta, int rank) {
  if (meta.loaders.empty()) return nullptr;
  const std::map<int32_t, Seen> seen = batches_seen(meta, rank);
  const Seen* most = most_seen(seen);
  return most == nullptr ? nullptr : most->last;
}

std::optional<Loading> loading_of(const trace::Meta& meta, int rank, double step_ms, double wait_ms,
                                  bool mean) {
  if (meta.loaders.empty() || wait_ms <= 0 || step_ms < wait_ms) return std::nullopt;
  const std::map<int32_t, Seen> seen = batches_seen(meta, rank);
  const Seen* most = most_seen(seen);
  if (most == nullptr) return std::nullopt;
  const LoaderEpoch& used = *most->last;
  if (used.workers > 0 && !used.persistent && !used.forked) return std::nullopt;
  Loading loading;
  loading.now = {used.workers, used.prefetch > 0 ? used.prefetch : 2, used.persistent, used.batches};
  loading.cpus = used.cpus;
  loading.step_ms = step_ms;
  loading.wait_ms = wait_ms;
  loading.batches_a_step = batches_a_step(meta, rank, most->batches);
  LoaderTimes times = times_of_processes(meta, used);
  times.consume_ms = (step_ms - wait_ms) / loading.batches_a_step;
  const double firsts = mean ? static_cast<double>(most->firsts) / static_cast<double>(most->batches) : 0;
  loading.times = fitted(loading.now, times, wait_ms / loading.batches_a_step, firsts);
  loading.advised = best_setup(loading.now, loading.times, loading.cpus);
  return loading;
}

void tell_gain_of_processes(const Loading& loading, std::vector<ChangeGain>& changes) {
  constexpr std::string_view kChange = "workers";
  std::erase_if(changes, [&](const ChangeGain& each) { return each.change == kChange; });
  const auto by_gain = [](const ChangeGain& each, double ms) { return each.predicted_gain_ms > ms; };
  const double ms = loading.gain_ms();
  changes.insert(std::lower_bound(changes.begin(), changes.end(), ms, by_gain), {std::string(kChange), ms});
}

void add_figures(const Loading& loading, std::map<std::string, double>& figures) {
  figures["loader_processes"] = loading.now.workers;
  figures["loader_prefetch"] = loading.now.prefetch;
  figures["loader_persistent"] = loading.now.persistent ? 1 : 0;
  if (loading.now.batches > 0) figures["loader_batches_of_epoch"] = static_cast<double>(loading.now.batches);
  figures["loader_batch_ms"] = loading.times.prepare_ms;
  figures["loader_epoch_wait_ms"] = simulate_epoch(loading.now, loading.times).first_ms;
  figures["advised_loader_processes"] = loading.advised.workers;
  figures["advised_loader_gain_ms"] = loading.gain_ms();
}

std::string loading_evidence(const Loading& loading) {
  const LoaderSetup &now = loading.now, &advised = loading.advised;
  const EpochWaits waits = simulate_epoch(now, loading.times);
  std::string text = now.workers == 0 ? std::string("the program prepares each batch itself")
                                      : fmt::format("{} {} batches", processes(now.workers),
                                                    now.workers == 1 ? "prepares" : "prepare");
  if (now.batches > 0)
    text += fmt::format(", {} an epoch", counted(static_cast<double>(now.batches), "batch", "batches"));
  if (now.workers > 0 && now.batches > 0)
    text += fmt::format(": each epoch begins with empty queues{} and waits {}",
                        now.persistent ? "" : " and new processes", format_ms(waits.first_ms));
  text += fmt::format("; by these waits a batch takes one process {}", format_ms(loading.times.prepare_ms));
  if (loading.times.cpu_ms < loading.times.prepare_ms)
    text += fmt::format(" ({} of a CPU)", format_ms(loading.times.cpu_ms));
  if (advised == now) return text;
  return text + fmt::format(". {} {}would wait {} a step less", processes(advised.workers),
                            advised.persistent ? "that live on from epoch to epoch " : "",
                            format_ms(loading.gain_ms()));
}

std::string loading_advice(const Loading& loading, bool device) {
  const LoaderSetup &now = loading.now, &advised = loading.advised;
  const std::string setting = fmt::format("num_workers={}, persistent_workers=True", advised.workers);
  const std::string_view elsewhere = device ? ", or move the preprocessing to the device" : "";
  const std::string_view longer =
      "make epochs longer and fewer (a larger data set, or a sampler that passes over it several times)";
  if (now.workers == 0)
    return fmt::format("prepare batches ahead, in other processes: DataLoader({}{}){}", setting,
                       device ? ", pin_memory=True" : "",
                       device ? "; or move the preprocessing to the device" : "");
  if (!loading.helps())
    return fmt::format("{}make what prepares a batch cheaper{}: other processes win {} of this wait",
                       loading.waits_at_starts() ? fmt::format("{}; ", longer) : "", elsewhere,
                       format_ms(loading.gain_ms()));
  if (loading.waits_at_starts())
    return fmt::format(
        "keep the processes that prepare batches from epoch to epoch, {} of them instead of {} ({}); {}; or "
        "make "
        "what prepares a batch cheaper{}",
        advised.workers, now.workers, setting, longer, elsewhere);
  return fmt::format(
      "give the loader more processes, {} instead of {} ({}); or make what prepares a batch cheaper{}",
      advised.workers, now.workers, setting, elsewhere);
}

}  // namespace hone::analyze

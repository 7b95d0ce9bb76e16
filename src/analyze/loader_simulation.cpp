#include "analyze/loader_simulation.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace hone::analyze {
namespace {

constexpr int64_t kManyBatches = 2000;  // of longer epochs the beginning does not count
constexpr int kMostWorkers = 16;
constexpr double kLeastBusy =
    0.5;  // processes that wait for more than half of their time: two a CPU, no more
constexpr double kNearlyBest = 0.02;  // of a batch's time: so much is no further process worth

int64_t batches_of(const LoaderSetup& setup) {
  return setup.batches > 0 ? std::min(setup.batches, kManyBatches) : kManyBatches;
}

// By how much cores that are shared slow down what computes: the processes that are at work, and the program in its share of the time.
double slowdown(int workers, double busy, double program, int cores) {
  return cores > 0 ? std::max(1.0, (workers * busy + program) / cores) : 1;
}

double busy_share(const LoaderTimes& times) {
  return times.prepare_ms > 0 ? std::min(1.0, times.cpu_ms / times.prepare_ms) : 0;
}

double shared_prepare_ms(int workers, const LoaderTimes& times) {
  const double each = times.prepare_ms / std::max(1, workers);
  const double program = times.consume_ms > 0 ? times.consume_ms / std::max(times.consume_ms, each) : 0;
  const double cpu = busy_share(times) * times.prepare_ms;
  return times.prepare_ms + cpu * (slowdown(workers, busy_share(times), program, times.cores) - 1);
}

}  // namespace

EpochWaits simulate_epoch(const LoaderSetup& setup, const LoaderTimes& times) {
  if (setup.workers <= 0) return {times.prepare_ms, times.prepare_ms};
  const auto batches = static_cast<std::size_t>(batches_of(setup));
  const auto workers = static_cast<std::size_t>(setup.workers);
  const std::size_t ahead = workers * static_cast<std::size_t>(std::max(1, setup.prefetch));
  const double prepare_ms = shared_prepare_ms(setup.workers, times);
  const double began_ms = setup.persistent ? 0 : setup.workers * times.start_ms;
  std::vector<double> free_ms(workers, began_ms), delivered_ms(batches);
  EpochWaits waits;
  double asked_ms = began_ms;
  for (std::size_t i = 0; i < batches; ++i) {
    const double ordered_ms = i < ahead ? began_ms : delivered_ms[i - ahead];
    double& worker_ms = free_ms[i % workers];
    worker_ms = std::max(worker_ms, ordered_ms) + prepare_ms;
    delivered_ms[i] = std::max(asked_ms, worker_ms);
    const double wait_ms = delivered_ms[i] - asked_ms;
    (i == 0 ? waits.first_ms : waits.others_ms) += wait_ms;
    asked_ms = delivered_ms[i] + times.consume_ms;
  }
  waits.first_ms += began_ms + (setup.persistent ? 0 : times.end_ms);
  if (batches > 1) waits.others_ms /= static_cast<double>(batches - 1);
  return waits;
}

double first_share(const LoaderSetup& setup) {
  return setup.batches > 0 ? 1.0 / static_cast<double>(setup.batches) : 0;
}

double batch_ms(const LoaderSetup& setup, const LoaderTimes& times) {
  const double waited = times.consume_ms + simulate_epoch(setup, times).mean_ms(first_share(setup));
  if (setup.workers <= 0 || times.cores <= 0) return waited;
  return std::max(waited, (std::min(times.cpu_ms, times.prepare_ms) + times.consume_ms) / times.cores);
}

LoaderTimes fitted(const LoaderSetup& setup, LoaderTimes times, double wait_ms, double share) {
  const double cpu_ms = times.cpu_ms;
  const auto wait_of = [&](double prepare_ms) {
    times.prepare_ms = prepare_ms;
    times.cpu_ms = std::min(cpu_ms, prepare_ms);
    return simulate_epoch(setup, times).mean_ms(share);
  };
  if (const double least = wait_of(0); least >= wait_ms) {
    const double shorter = least > 0 ? wait_ms / least : 1;
    times.start_ms *= shorter;
    times.end_ms *= shorter;
    return times;
  }
  double low = 0, high = std::max(1e-3, wait_ms);
  for (int i = 0; i < 64 && wait_of(high) < wait_ms; ++i) low = std::exchange(high, 2 * high);
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (wait_of(middle) < wait_ms ? low : high) = middle;
  }
  wait_of(high);
  return times;
}

int most_workers(const LoaderSetup& now, const LoaderTimes& times, int cpus) {
  const double busy = std::max(kLeastBusy, busy_share(times));
  int most = cpus > 0 ? static_cast<int>(cpus / busy) - 1 : kMostWorkers;  // one is the program's
  most = std::min(most, kMostWorkers);
  if (now.batches > 0) most = static_cast<int>(std::min<int64_t>(most, now.batches));
  return std::max({1, most, now.workers});
}

LoaderSetup best_setup(const LoaderSetup& now, const LoaderTimes& times, int cpus) {
  LoaderSetup setup = now;
  setup.persistent = true;
  std::vector<double> each_ms;
  const int fewest = std::max(1, now.workers), most = most_workers(now, times, cpus);
  for (setup.workers = fewest; setup.workers <= most; ++setup.workers)
    each_ms.push_back(batch_ms(setup, times));
  const double good = *std::ranges::min_element(each_ms) * (1 + kNearlyBest);
  const auto first = std::ranges::find_if(each_ms, [&](double ms) { return ms <= good; });
  setup.workers = fewest + static_cast<int>(first - each_ms.begin());
  return setup;
}

}  // namespace hone::analyze

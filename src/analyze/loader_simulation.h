// How long a program waits for the batches of an epoch, by what its data loader does: as PyTorch's does it (torch/utils/data/dataloader.py),
// batches go to the processes in turn, each process may be `prefetch` of them ahead of what was handed over, batches are handed over in
// order, and every epoch begins with empty queues. Assumed: each batch takes a process equally long, processes are slowed down as they
// share cores, and CPUs that share a core are worth that core together.
#pragma once

#include <cstdint>

namespace hone::analyze {

struct LoaderSetup {
  int workers = 0;   // processes; 0: the program prepares each batch when it wants it
  int prefetch = 2;  // batches that each may be ahead
  bool persistent = false;
  int64_t batches = -1;  // of an epoch; -1: so many that their beginnings do not count

  friend bool operator==(const LoaderSetup&, const LoaderSetup&) = default;
};

struct LoaderTimes {
  double prepare_ms = 0;  // a batch, in one process that has a core
  double cpu_ms = 0;      // of that on a CPU
  double consume_ms = 0;  // a batch: all that the program does but wait
  double start_ms = 0;    // starting one process
  double end_ms = 0;      // ending all of an epoch
  int cores = 0;          // 0: not known, enough
};

struct EpochWaits {
  double first_ms = 0;   // for the first batch, processes that are started and ended included
  double others_ms = 0;  // for each of the others, on average

  double mean_ms(double first_share) const { return first_share * first_ms + (1 - first_share) * others_ms; }
};

EpochWaits simulate_epoch(const LoaderSetup& setup, const LoaderTimes& times);

// Of an epoch's batches; the first is one of them.
double first_share(const LoaderSetup& setup);

// What a batch takes, its wait included, on average over an epoch: no less than the cores need for it.
double batch_ms(const LoaderSetup& setup, const LoaderTimes& times);

// With the prepare_ms by which the simulated wait is `wait_ms` a batch, where so many batches of those that were measured were
// an epoch's first. Where starting and ending processes alone would take longer than that, they are taken for shorter.
LoaderTimes fitted(const LoaderSetup& setup, LoaderTimes times, double wait_ms, double first_share);

// The fewest processes, living on from epoch to epoch, of those that could win more, that win nearly all that these would: no more than
// there are batches in an epoch and CPUs for.
LoaderSetup best_setup(const LoaderSetup& now, const LoaderTimes& times, int cpus);

// No more processes than that are worth a try.
int most_workers(const LoaderSetup& now, const LoaderTimes& times, int cpus);

}  // namespace hone::analyze

// What is known of how a program's batches are prepared, and what other processes for it would win: from what the recorder saw of its data
// loader, and from how long a step waits for input. Only recordings of hone's own say it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analyze/advised_changes.h"
#include "analyze/loader_simulation.h"
#include "trace/trace.h"

namespace hone::analyze {

struct Loading {
  LoaderSetup now, advised;
  LoaderTimes times;
  int cpus = 0;
  double batches_a_step = 1;
  double step_ms = 0, wait_ms = 0;  // as measured

  double step_with(const LoaderSetup& setup) const { return batches_a_step * batch_ms(setup, times); }
  int steps_of_epoch() const;  // 0: not known
  // What the advised processes win of a step, by the simulation.
  double gain_ms() const;
  // It is worth their trouble; if not, only cheaper batches help.
  bool helps() const;
  // Most of the wait is at the beginnings of epochs, when queues are empty.
  bool waits_at_starts() const;
};

// The loader that most of the recorded batches came from; its processes, if it has some now. Nothing: the recording does not say, or
// nothing could be foretold by it (processes that begin as programs of their own: nobody sees what their start takes).
const trace::LoaderEpoch* loader_in_use(const trace::Meta& meta, int rank);

// `wait_ms`: of a step of `step_ms`, in which what it would do next waits for input. `mean`: of all steps; else the typical step, which
// begins no epoch.
std::optional<Loading> loading_of(const trace::Meta& meta, int rank, double step_ms, double wait_ms,
                                  bool mean);

// What the simulation says of the change that `hone lab -- COMMAND` makes of it, in place of what others say.
void tell_gain_of_processes(const Loading& loading, std::vector<ChangeGain>& changes);

// By name with their unit.
void add_figures(const Loading& loading, std::map<std::string, double>& figures);

// For the reader of the finding.
std::string loading_evidence(const Loading& loading);
std::string loading_advice(const Loading& loading, bool device);

}  // namespace hone::analyze

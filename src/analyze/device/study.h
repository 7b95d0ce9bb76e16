// Everything that is worked out about the ranks of a device program before it is told: timelines, what hosts
// did, who had the device, why it idled, what busy time went to, which collectives belong together. One place
// for the joins, so that the parts of the analysis stay functions of it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analyze/device/busy/busy_split.h"
#include "analyze/device/busy/gpu_roofs.h"
#include "analyze/device/host/host_activity.h"
#include "analyze/device/host/idle.h"
#include "analyze/device/replay/replay_program.h"
#include "analyze/device/timeline/evidence.h"
#include "analyze/device/timeline/loops.h"
#include "analyze/device/timeline/matched_collectives.h"
#include "analyze/device/timeline/occupancy.h"
#include "analyze/device/timeline/one_run.h"
#include "analyze/device/timeline/rank_timeline.h"
#include "analyze/device/timeline/typical_step.h"
#include "analyze/device/varying_shapes.h"
#include "analyze/unrecorded.h"
#include "trace/trace.h"

namespace hone::analyze::device {

struct RankStudy {
  Occupancy occupancy;                         // of the ledger's device
  std::vector<std::vector<Overlap>> overlaps;  // by device, as RankTimeline::devices, and window
  std::vector<IdleInterval> idle;
  BusySplit split;
  Loops loops;
  VaryingShapes shapes;
  TypicalStep typical;  // what its ledger is of
  // The step without the recorder; nothing where it was not measured, or where that cannot have been the step that was
  // recorded.
  std::optional<MeasuredSteps> measured;
  bool measured_others = false;  // the latter
};

struct Study {
  const trace::Trace* trace = nullptr;
  GpuRoofs roofs;
  std::vector<RankTimeline> timelines;  // by rank
  std::vector<HostActivity> activities;
  std::vector<RankStudy> ranks;
  MatchedCollectives collectives;
  std::vector<Program> programs;              // by rank
  std::vector<Evidence> evidence;             // by rank
  std::vector<RankOfOtherRun> of_other_runs;  // ranks that are left out, because they are of another run
  // The rank whose ledger is shown: the one that waits longest for the others, because its ledger has the row
  // that says so; the first where none waits.
  std::size_t headline = 0;
};

// What the trace says of a rank's device; null: nothing.
const trace::DeviceInfo* device_info(const trace::Trace& trace, int rank, int device);

// All ranks for which the trace has work on a device.
std::vector<RankTimeline> rank_timelines(const trace::Trace& trace);

// The step of a rank is the one without the recorder, where that was measured in the same run and is shorter
// (analyze/unrecorded.h). Ranks without steps are left out. `trace` must outlive the study.
Study make_study(const trace::Trace& trace, std::vector<RankTimeline> timelines, const GpuRoofs& roofs);
Study make_study(const trace::Trace& trace, const GpuRoofs& roofs);

// The window whose time is nearest to the rank's median.
std::size_t typical_window(const Study& study, std::size_t rank);

// How much of a busy interval lies before the last rank came to the collective that it belongs to; 0 for other
// works.
double waited_ns(const Study& study, std::size_t rank, const BusyInterval& interval);

// How long a rank waits in collectives for ranks that come later, in ms of its typical step.
double waiting_for_others_ms(const Study& study, std::size_t rank);

}  // namespace hone::analyze::device

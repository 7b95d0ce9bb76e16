// The roofs of this machine, measured: arithmetic per dtype, bandwidth per memory level, the cost of threads.
// Each rate is the median of several repetitions with the lowest and highest. Repetitions during which
// another program took a CPU are recognised (core/contention.h) and left out, and their number is stated.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "analyze/findings.h"
#include "core/result.h"
#include "core/roofs.h"
#include "lab/gate/paired.h"
#include "lab/machine.h"

namespace hone::lab {

struct CeilingsOptions {
  bool quick = false;    // at most 2 s instead of 8 s: fewer repetitions, one matrix size
  int threads = 0;       // of the "all cores" rows; 0: machine.cores
  bool refresh = false;  // measure even when the cache has an answer
  // Where measured roofs are kept. Empty: $XDG_CACHE_HOME/hone, or ~/.cache/hone.
  std::filesystem::path cache_folder;
  Progress progress;
};

struct Ceilings {
  Roofs roofs;
  bool quick = false;  // how they were measured
  bool from_cache = false;
  double seconds = 0;                 // that measuring took, back then
  int repetitions = 0;                // of all rates together
  int disturbed = 0;                  // of those
  std::string measured_at;            // ISO 8601, UTC
  std::vector<std::string> doubtful;  // rates with too few undisturbed repetitions: they may be too low
  // For people: a cache that was unreadable, a dtype without instructions.
  std::vector<std::string> notes;
};

// Measures everything; no cache.
Result<Ceilings> measure_ceilings(const Machine& machine, const CeilingsOptions& options = {});

// How long roofs that were measured quickly are taken as they are. Older ones are measured again, quickly,
// and the higher of each two stands: whatever disturbs a measurement of a roof makes it too low.
inline constexpr double kQuickRoofsLastHours = 24;
inline constexpr double kDoubtfulRoofsLastHours = 1;  // quick ones of a busy machine

// Hours since they were measured; infinite where that is not known.
double age_hours(const Ceilings& ceilings);
// For reports: how far to trust them.
analyze::RoofsOrigin origin_of(const Ceilings& ceilings);

// From the cache, where this machine's roofs stand there and are not old; else measured, and cached unless
// the machine was busy.
Result<Ceilings> load_or_measure_ceilings(const Machine& machine, const CeilingsOptions& options = {});

// Makes no level slower than one farther away, where the same data could lie as well: a nearer one that another program
// disturbed while it was measured gets the farther one's rate. Says of each which, for people.
std::vector<std::string> raise_nearer_levels(Roofs& roofs);

// Some of a machine's roofs.
struct RoofChoice {
  std::vector<DType> dtypes;
  std::vector<std::string> memory_levels;
};

struct BetterRoofs {
  Roofs roofs;
  std::vector<std::string> changes;  // "f32 compute 325 → 470 GFLOP/s"; empty: none was better
};

// Measures `choice` again, in a second or two, and takes what is higher than in `roofs`: whatever disturbs a
// measurement of a roof makes it too low. What the cache holds for this machine becomes better, too.
Result<BetterRoofs> measure_again(const Roofs& roofs, const RoofChoice& choice, const Machine& machine,
                                  const CeilingsOptions& options = {});

}  // namespace hone::lab

// Makes a training step fit into memory: where it would need more than there may be, activations are computed again instead
// of kept (passes/recompute.h), until a plan of it fits. Where that is not enough, what would fit is looked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/result.h"
#include "lab/training/memory.h"
#include "lab/training/program.h"
#include "lab/training/session.h"
#include "runtime/provider.h"

namespace hone::lab {

// What may be taken, and who says so.
struct MemoryLimit {
  std::size_t bytes = 0;
  std::string why;  // "[train] memory"; "what is free on cpu"
};
// The lesser of the recipe's budget (0: none) and what there is.
MemoryLimit memory_limit(std::size_t budget, const runtime::Device& device);
// What a run of so much memory leaves of the host's for more samples; the limit is for the host only where there is one memory.
std::size_t room_for_samples(const TrainingMemory& memory, const MemoryLimit& limit);

struct MemoryFit {
  SessionGraphs graphs;
  TrainingMemory memory;
  TrainingMemory kept;    // what it would need if nothing were computed again
  int operators = 0;      // of a step, that run again
  double more_flops = 0;  // of a step, as a share
  bool fits = true;       // false: this is the least that was found
};

// `data_bytes`: data_memory(). Kernels are made a few times over, but no memory of the device is taken.
Result<MemoryFit> fit_memory(const TrainingProgram& program, const runtime::Provider& provider,
                             const SessionOptions& options, std::size_t data_bytes, const MemoryLimit& limit);

// The same for other settings of the recipe.
struct FitSettings {
  int64_t batch = 0;
  int64_t accumulate = 1;
  std::string precision = "f32";
};
using FitWith = std::function<Result<MemoryFit>(const FitSettings&)>;

// The error for a run of `settings` that does not fit. It says what would: the fewest micro-batches, the largest batch, and
// `narrower`, a precision that the device's products take (empty: there is none). `planned_s` is what planning the run has
// taken; what would be tried for longer than `seconds` is not.
Error does_not_fit(const MemoryFit& least, const MemoryLimit& limit, const FitSettings& settings,
                   const std::string& narrower, const FitWith& fit_with, double planned_s, double seconds);

}  // namespace hone::lab

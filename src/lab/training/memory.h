// What a training run takes in memory: foretold from its plans before anything of it is taken, and what it took. Which of it
// may be dropped so that it fits is fit_memory.h's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/result.h"
#include "lab/training/datasets.h"
#include "lab/training/program.h"
#include "lab/training/session.h"
#include "model/recipe/recipe.h"
#include "runtime/plan.h"

namespace hone::lab {

// The largest that each part becomes. They are all there at once, at the latest while the last checkpoint is written.
struct TrainingMemory {
  // The step's plan:
  std::size_t weights = 0;      // parameters and running statistics
  std::size_t optimizer = 0;    // moments, moving averages, counters
  std::size_t activations = 0;  // activations, gradients, and what kernels work in
  std::size_t workspace = 0;    // of the activations: the most that one kernel works in
  std::size_t packed = 0;       // that kernels hold themselves
  std::size_t reference = 0;  // that operators without a kernel take while they run: their results once more
  // Beside it:
  std::size_t evaluation = 0;  // the other plan, with weights of its own
  std::size_t model = 0;       // the model as it was given, and constants of the graphs
  std::size_t checkpoint = 0;  // the states as they are while a thread writes them
  std::size_t data = 0;        // samples that are kept, and batches that are read ahead
  // On a device with memory of its own:
  std::size_t constants = 0;  // of the step's graph, that kernels read
  std::size_t batches = 0;    // that are brought there beside the step before
  std::size_t staging = 0;    // of the host's: what it copies from and to

  std::string device;  // "cuda:0"; empty where its memory is the host's

  bool one_memory() const { return device.empty(); }
  std::size_t total() const { return on_device() + on_host(); }
  std::size_t on_device() const {
    return weights + optimizer + activations + packed + evaluation + constants + batches;
  }
  std::size_t on_host() const { return reference + model + checkpoint + data + staging; }
  // What a budget is for: all of it where there is one memory, else what lies on the device.
  std::size_t bounded() const { return one_memory() ? total() : on_device(); }
  // What no other batch makes smaller.
  std::size_t fixed() const {
    return weights + optimizer + packed + constants + (one_memory() ? model + checkpoint : 0);
  }
  struct Part {
    std::string_view name;  // as people read it
    std::size_t bytes = 0;
    bool on_device = false;
  };
  std::vector<Part> parts() const;  // all but `workspace`
};

nlohmann::ordered_json memory_json(const TrainingMemory& memory);
// "24.3 MiB: weights 2.1 MiB, activations 18.1 MiB (with up to 0.5 MiB that a kernel works in), …"; of a device with memory of
// its own and of the host apart: "24.3 MiB of cuda:0: weights …; 3.1 MiB of the host's: model …".
std::string memory_text(const TrainingMemory& memory);

// Of the two plans. `step`, where it is not null, gets the step's.
Result<TrainingMemory> forecast_memory(const TrainingProgram& program, const SessionGraphs& graphs,
                                       const runtime::Provider& provider, const SessionOptions& options,
                                       runtime::PlanForecast* step = nullptr);

// Of samples and batches, in a run of so many steps: `opened` is what open_data() has left in memory.
std::size_t data_memory(const TrainingData& data, const model::Recipe& recipe, std::size_t opened,
                        std::span<const data::Field> fields, int64_t steps, int64_t evaluation_batch);

}  // namespace hone::lab

// What a plan takes in memory, as commands tell it: hone bench, hone run. What a training run takes is training/memory.h's.
#pragma once

#include <cstddef>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "runtime/device.h"
#include "runtime/plan.h"

namespace hone::lab {

struct PlanMemoryUse {
  runtime::PlanMemory plan;      // of one plan
  int plans = 1;                 // that are held at once
  std::size_t process_peak = 0;  // the most of the process that was in the machine's memory
  std::string device;            // with memory of its own: "cuda:0"
  std::size_t device_peak = 0;   // of that, the most that the process' own blocks took

  // Of one plan: weights, arena, what it keeps in the host's memory, and for requests on their way.
  std::size_t total() const {
    return plan.weights_bytes + plan.arena_bytes + plan.host_bytes + plan.pipeline_bytes +
           plan.pipeline_host_bytes;
  }
};

// Now: after the runs that it is to be of.
PlanMemoryUse memory_use_of(const runtime::PlanMemory& plan, const runtime::Device& device, int plans = 1);

// "62.1 MB: weights 13.5 MB, arena 48.6 MB (with inputs of 3.4 MB and outputs of 0.1 MB); cuda:0 held at most 70.2 MB".
std::string plan_memory_text(const PlanMemoryUse& use);
nlohmann::ordered_json plan_memory_json(const PlanMemoryUse& use);

}  // namespace hone::lab

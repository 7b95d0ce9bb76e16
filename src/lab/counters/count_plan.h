// Hardware counters of the kernels of a plan of our own: `hone bench` runs the saved plan, kernel by kernel, in a process of its own
// under the recorder that observes other people's programs, and what that counted becomes part of the plan's trace
// (docs/decisions/0070-counters-of-our-own-plans.md).
#pragma once

#include <filesystem>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analyze/plan_kernel.h"
#include "core/result.h"
#include "core/tensor.h"
#include "observe/session/recorder_files.h"
#include "runtime/plan.h"
#include "runtime/provider.h"
#include "trace/trace.h"

namespace hone::lab {

struct CountPlanOptions {
  std::vector<std::string> program;  // what `bench PLAN …` is put behind: hone's own path
  observe::RecorderFiles recorder;
  std::filesystem::path folder;           // for the plan and what is recorded; made, and removed at the end
  std::vector<int> blocked_signals = {};  // that we block and the process must not find blocked
  std::vector<std::pair<std::string, std::string>> environment = {};  // of the process, on top of ours
  double most_s = 15;                                                 // for all plans together
  int kernels = 5;                                                    // of a plan, at most
  std::string why_not = {};  // there can be no counters; empty: there may
};

// A plan without the plan: what a process needs to run it, which takes memory that the plan must give back first.
struct SavedForCounting {
  std::filesystem::path plan;
  std::vector<std::string> arguments;          // for bench: its inputs
  std::set<std::string> symbols;               // of its kernels, mangled
  std::vector<analyze::PlanKernel> operators;  // that run them
};

// In folder options.folder / `name`. `inputs`: one an input of its graph; states are made up anew. Errors: it cannot be
// saved, or no records of replays name its kernels.
Result<SavedForCounting> save_for_counting(const runtime::Plan& plan, const runtime::Provider& provider,
                                           std::span<const Tensor> inputs, const std::string& name,
                                           const CountPlanOptions& options);

struct PlanCounters {
  trace::Trace recording;            // counters, and the devices that they are of
  std::vector<std::string> missing;  // a line each: what was not counted, and why
};

// Counting takes `most_s` at most, and some seconds before it. `keep_going`: asked ten times a second; false ends it. Errors:
// nothing was counted; a line that says why.
Result<PlanCounters> count_plan(const SavedForCounting& saved, double most_s, const CountPlanOptions& options,
                                const std::function<bool()>& keep_going);

// Adds the counters of `recording` to the trace of a plan.
void take_counters(const trace::Trace& recording, trace::Trace& into);

}  // namespace hone::lab

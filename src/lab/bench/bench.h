// How long a model takes here, optimised: latency percentiles and throughput, alone or several at once, and
// in paired runs against other runtimes. The work of `hone bench`.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "graph/graph.h"
#include "lab/gate/latency.h"
#include "lab/gate/numeric.h"
#include "lab/gate/paired.h"
#include "lab/plan_memory.h"
#include "lab/where_it_runs.h"

namespace hone::lab {

struct BenchOptions {
  std::string device = "cpu";  // a provider's name
  int threads = 0;             // 0: every core
  int concurrency = 1;         // plans that run at once, each with its share of the threads
  double budget_s = 10;        // for the measurements, roughly; choosing kernels comes on top
  std::set<std::string> disabled_passes;
  bool overlap = true;                   // operators side by side where that is measured to be faster
  uint64_t seed = 1;                     // of the inputs that are made up
  std::map<std::string, Tensor> inputs;  // by name; others are made up
  int warm_up_runs = -1;                 // unmeasured calls first; below 0: for a while
  int runs = 0;  // measured calls of each plan, whatever the budget; 0: as many as it allows
  std::filesystem::path timing_cache;  // empty: none
  std::filesystem::path plan_folder;   // of plans in buckets; empty: none is kept
  bool against_ort = false;            // needs concurrency 1
  std::filesystem::path ort_library;   // empty: found (peers/ort.h)
  // Told what is being done and how far it is; false cancels.
  std::function<bool(double fraction, const std::string& what)> progress;
};

// Another runtime on the same model, inputs and threads.
struct PeerResult {
  std::string name;  // "ort"
  std::string version;
  Latency latency;
  PairedResult paired;    // A: the peer, B: hone; a ratio above 1 says that hone is faster
  NumericReport numbers;  // hone's outputs against the peer's
};

struct BenchResult {
  std::string device;  // a provider's name
  int threads = 1;     // of each plan
  int concurrency = 1;
  int64_t batch = 1;                // extent 0 of the first input that has two axes or more
  int operators = 0;                // steps of the plan
  std::vector<std::string> inputs;  // what each is: "x: standard normal, seed 1"
  WhereItRuns where;                // of these, those that no kernel of the device runs
  int side_by_side = 0;             // of these, those that run beside others
  Latency latency;                  // of one call
  std::optional<double> load_ms;    // of a saved plan: from its file to a plan that can run
  double throughput_per_s = 0;      // items (batch times calls) of all plans together
  std::vector<PeerResult> against;
  PlanMemoryUse memory;
};

// `model`: the file that `graph` was read from, for peers. The types of the inputs must be static.
Result<BenchResult> run_bench(const graph::Graph& graph, const std::filesystem::path& model,
                              const BenchOptions& options);

// The same of a saved plan: the passes, kernels and threads are its own, and `options` must not ask for others.
Result<BenchResult> bench_plan(const std::filesystem::path& plan, const BenchOptions& options);

// Extent 0 of the first input that has two axes or more; 1 where there is none.
int64_t batch_of(std::span<const Tensor> inputs);

// The same plan for a caller that decides itself when to measure: one call is one step. It has run once.
Result<Workload> ready_to_run(const graph::Graph& graph, const BenchOptions& options);
Result<Workload> plan_ready_to_run(const std::filesystem::path& plan, const BenchOptions& options);

}  // namespace hone::lab

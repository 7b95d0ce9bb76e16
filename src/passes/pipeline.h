// The pipeline: every pass in the order in which they run, and the one wrapper that makes each of them
// switchable, timed, verified and reported.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "passes/pass.h"

namespace hone::passes {

// The list that reads aloud (pipeline.cpp says at each entry why it stands there).
const std::vector<Pass>& pipeline();

// The groups of the pipeline, in order, each once: the units of the lab's experiment. Of lossy passes only
// those whose name or group is in `lossy`.
std::vector<std::string> groups(const std::set<std::string>& lossy = {});
// The largest limit of the group's lossy passes; 0 if it has none.
double lossy_limit_of(std::string_view group);

// What the passes of `group` are judged by.
Aim aim_of(std::string_view group);

struct PipelineOptions {
  std::set<std::string> disabled;  // names of passes or groups that do not run
  std::set<std::string> only;      // if not empty: nothing but these runs
  std::set<std::string> lossy;     // names of lossy passes or groups that may run; no other lossy one does
};

struct PassReport {
  std::string name;
  std::string group;
  Numerics numerics = Numerics::kExact;
  std::vector<Note> done;
  std::vector<Note> missed;
  double predicted_gain_ms = 0;  // by the context's prices, graph before minus graph after
  double pass_ms = 0;            // what running the pass itself took
  std::vector<TypeChoice> types = {};
};

struct PipelineResult {
  graph::Graph graph;
  std::vector<PassReport> reports;  // one a pass that ran
};

// Runs one pass on the graph and on the bodies of its If, Loop and Scan nodes, which are planned like graphs.
// A body knows the types of what it captures, but not the data. A pass that changed a graph must leave it
// valid and its interface as it was: the names of inputs and outputs, in order, and which output is the next
// value of which input. Anything else is a bug; the error names the pass.
Result<PassOutcome> run_checked(const Pass& pass, const graph::Graph& graph, const PassContext& context);

// An unknown name in `options` is an error that lists the known ones, and so is one in `options.lossy` of a
// pass that is not lossy. A pass that breaks the verifier is a bug: the error names the pass.
Result<PipelineResult> run_pipeline(graph::Graph graph, const PassContext& context,
                                    const PipelineOptions& options = {});
// The same with other passes than the pipeline's.
Result<PipelineResult> run_passes(graph::Graph graph, const PassContext& context,
                                  const PipelineOptions& options, std::span<const Pass> passes);

}  // namespace hone::passes

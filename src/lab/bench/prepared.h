// A model made ready to be measured: through the passes, compiled, with inputs in place. Shared by `hone
// bench` and `hone compare`.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/result.h"
#include "graph/graph.h"
#include "lab/gate/numeric.h"
#include "runtime/cpu/cpu_provider.h"
#include "runtime/plan.h"
#include "runtime/timing_cache.h"

namespace hone::lab {

// One tensor an input of `graph`, made up (data/inputs.h). The types must be static; the error says how to
// bind what is not.
Result<std::vector<Tensor>> make_inputs(const graph::Graph& graph, uint64_t seed);

// The whole pipeline, for this provider.
Result<graph::Graph> optimise(graph::Graph graph, const runtime::CpuProvider& provider,
                              const std::set<std::string>& disabled_passes);

// Told what is being done; false cancels.
using Say = std::function<bool(const std::string&)>;

// Compiled with kernels chosen by measuring, `inputs` copied in.
Result<std::unique_ptr<runtime::Plan>> compile_plan(const graph::Graph& graph,
                                                    const runtime::CpuProvider& provider,
                                                    runtime::TimingCache* cache,
                                                    const std::vector<Tensor>& inputs, const Say& say);

// Copies of the outputs of the last run.
std::vector<Tensor> plan_outputs(const runtime::Plan& plan);

}  // namespace hone::lab

// A model made ready to be measured: inputs, passes, a compiled plan with the inputs in place, its outputs
// against a reference. Shared by everything that runs plans for their time.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "graph/graph.h"
#include "lab/gate/numeric.h"
#include "runtime/plan.h"
#include "runtime/provider.h"
#include "runtime/timing_cache.h"

namespace hone::lab {

struct Inputs {
  std::vector<Tensor> tensors;     // one an input of the graph
  std::vector<std::string> notes;  // what each is: "x: standard normal, seed 1"
};

// Those of `given` by name, the others made up (data/inputs.h). The types of those must be static; the error
// says how to bind what is not.
Result<Inputs> make_inputs(const graph::Graph& graph, uint64_t seed,
                           const std::map<std::string, Tensor>& given = {});

// The whole pipeline, for this provider.
Result<graph::Graph> optimise(graph::Graph graph, const runtime::Provider& provider,
                              const std::set<std::string>& disabled_passes);

// What `progress` below may say: "choosing kernels (3 of 17): conv1".
std::string choosing(std::size_t done, std::size_t total, const std::string& node);

struct CompileOptions {
  runtime::TimingCache* cache = nullptr;
  std::size_t step_bytes = 0;  // PlanOptions
  // Told how many nodes have their kernels, and the next one; false cancels.
  std::function<bool(std::size_t done, std::size_t total, const std::string& node)> progress = {};
  bool overlap = true;     // operators side by side where that is measured to be faster
  bool pipelined = false;  // PlanOptions
};

// Compiled with kernels chosen by measuring, `inputs` copied in.
Result<std::unique_ptr<runtime::Plan>> compile_plan(const graph::Graph& graph,
                                                    const runtime::Provider& provider,
                                                    std::span<const Tensor> inputs,
                                                    const CompileOptions& options);

// The outputs of one step on `inputs`, which `plan` holds, against a reference's, in the order of the graph.
// Those of the last run; where that began with what earlier ones had made of states, of one that begins with
// `inputs` again.
Result<NumericReport> compare_with(std::span<const Tensor> reference, std::span<const Tensor> inputs,
                                   runtime::Plan& plan, const NumericRules& rules);

// `graph` in f32 where it computes in f16 or bf16: what it means before it rounds. The graph to compute
// references with.
Result<graph::Graph> in_higher_precision(const graph::Graph& graph);

}  // namespace hone::lab

// Facts for the report of an experiment: what the model is, where it ran, what memory its plans take.
#pragma once

#include "analyze/findings.h"
#include "graph/graph.h"
#include "lab/machine.h"
#include "runtime/plan.h"
#include "runtime/provider.h"

namespace hone::lab {

analyze::ModelInfo describe_model(const graph::Graph& graph, const std::string& path);
// As of now: the time stands in it.
analyze::Environment describe_environment(const Machine& machine, const runtime::Provider& provider);
// The peak is the process's, so far.
analyze::MemoryUse describe_memory(const runtime::Plan& plan, const runtime::Device& device);

}  // namespace hone::lab

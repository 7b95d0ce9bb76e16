// What does not run on a provider's own kernels, said wherever times are: operators on the reference (the
// interpreter stands in, correct and perhaps a hundred times slower) and steps that the host runs between the
// kernels because no plan can fix them (If, Loop, extents known only when they are computed).
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"
#include "runtime/plan.h"
#include "runtime/provider.h"

namespace hone::lab {

// One operator that no kernel of the provider runs.
struct OtherwiseRun {
  std::string node;  // its name
  std::string op;    // operator_text() of it
  std::string type;  // of its first output: "f16[1,32,112,112]"
  std::string why;   // of a step of the host: "decides at run time what runs"
};

struct WhereItRuns {
  std::size_t operators = 0;            // of the plan or graph
  std::vector<OtherwiseRun> reference;  // on the device's side
  std::vector<OtherwiseRun> host;       // between the kernels
  std::vector<OtherwiseRun>
      nowhere;  // a plugin's without a kernel for the device: a plan of them is an error
};

WhereItRuns where_it_runs(const runtime::Plan& plan);
// "NonZero"; of a group what it holds: "pointwise group (Add, NonZero)".
std::string operator_text(const graph::Node& node);
// Without a plan: what the provider says of each node of an optimised graph.
WhereItRuns where_it_runs(const graph::Graph& graph, const runtime::Provider& provider);

// "3 of 53 operators run on the reference, correct and slow: Conv 'conv1' (f16[1,32,112,112]), …"; empty if
// none does.
std::string reference_text(const WhereItRuns& where);
// "2 of 53 operators run on the host between the kernels: NonZero 'nz' (the shape of 'nz_out', …), …"; empty
// if none does.
std::string host_text(const WhereItRuns& where);
// "1 of 53 operators cannot run on this device: a.B 'node' (plugin b 1.0 has no kernel for it)"; empty if all can.
std::string nowhere_text(const WhereItRuns& where);
// Those of the three that are not empty.
std::vector<std::string> where_texts(const WhereItRuns& where);

}  // namespace hone::lab

// Where the reference runs: operators for which a provider has no kernel of its own, so that the interpreter
// stands in, correct and perhaps a hundred times slower. Said wherever times are.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"
#include "runtime/plan.h"
#include "runtime/provider.h"

namespace hone::lab {

// One operator on the reference.
struct ReferenceUse {
  std::string node;  // its name
  std::string op;    // "NonZero"; of a group what it holds: "pointwise group (Add, NonZero)"
  std::string type;  // of its first output: "f16[1,32,112,112]"
};

std::vector<ReferenceUse> reference_use(const runtime::Plan& plan);
// Without a plan, of a graph whose types are static: what the provider says of each node.
std::vector<ReferenceUse> reference_use(const graph::Graph& graph, const runtime::Provider& provider);

// "3 of 53 operators run on the reference: Conv 'conv1' (f16[1,32,112,112]), …"; empty if none does.
std::string reference_text(const std::vector<ReferenceUse>& uses, std::size_t operators);
std::string describe_reference_use(const runtime::Plan& plan);

}  // namespace hone::lab

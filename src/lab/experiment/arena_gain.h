// What a group of passes that aims at memory did to the arena of the plan: predicted, measured, in words.
#pragma once

#include <optional>
#include <string>

#include "analyze/findings.h"
#include "graph/graph.h"
#include "lab/gate/gate.h"
#include "runtime/plan.h"

namespace hone::lab {

// The prediction is by the lifetimes of values alone (passes/order_for_memory.h); kernels' scratch comes on
// top.
analyze::ArenaGain arena_gain(const graph::Graph& graph_before, const runtime::Plan& before,
                              const graph::Graph& graph_after, const runtime::Plan& after);

// As the gate takes it.
std::optional<ArenaChange> arena_change(const std::optional<analyze::ArenaGain>& gain);

// "; arena 6.3 MiB instead of 9.4 MiB, predicted to shrink by 3.1 MiB"; empty for none.
std::string arena_words(const std::optional<analyze::ArenaGain>& gain);

}  // namespace hone::lab

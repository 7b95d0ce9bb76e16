// A graph for inputs of which more is known than when it was made: shapes that were open, values that are
// always the same. Types are inferred anew, so that what follows from the new knowledge is known, too.
#pragma once

#include <optional>
#include <span>

#include "core/result.h"
#include "core/tensor.h"
#include "graph/graph.h"

namespace hone::graph {

// What is known of one input: its type, or its data, or nothing more than the graph says.
struct InputFact {
  std::optional<TensorType> type;  // merged with the input's own; not looked at beside a constant
  std::optional<Tensor> constant;  // the input becomes this constant, and is no input any longer
};

// `facts` has one entry for each input of `graph`. An error where it has not, where a fact contradicts what
// the graph says, naming the value, and where a state would become a constant. Bodies of nodes stay as they
// are.
Result<Graph> specialise(const Graph& graph, std::span<const InputFact> facts);

// The graph for inputs of other types than it was made for, one for each: another batch. All types that follow are
// inferred from these alone, and may be less known than they were. What the old extents went into, constants and bodies of
// nodes, stays as it is, so that the result may be no valid graph: an error where inference says so.
Result<Graph> retyped(const Graph& graph, std::span<const TensorType> inputs);

}  // namespace hone::graph

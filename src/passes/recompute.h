// Computes values again instead of keeping them: what is made in the forward pass and read again only in the backward pass
// is dropped after its first readers and made anew right before the later ones. Why: a training step keeps the activations of
// all layers at its turn, and most of them cost little to make again (pointwise operators, normalisations, dropout, whose
// numbers are a function of a seed and a place). Why here: last, on the operators that will run. An earlier pass would merge
// the copies again, and the same kernels on the same inputs give the same bits. It stands in no list of passes, because what
// it needs to know, how much is too much, is known only once a plan of the graph has been made (lab/training/fit_memory.h).
//
// Which values: a greedy walk down the peak, as XLA's rematerialisation does it (hlo_rematerialization), with the choice of
// AOTAutograd's partitioner under a budget (most bytes for the least work first). Where too much is alive, each value that
// lies idle there is a candidate; what has to run again for it is the part of its ancestors that is not there where it is
// read, which is the cut between it and what is kept anyway. Of the best by bytes for work, that one is taken which lowers
// what exceeds the budget, over all operators, most for its work; chains of dropped values become segments that are
// computed again as one (Chen et al., "Training deep nets with sublinear memory cost", 2016). A solver (Checkmate) finds better
// schedules for some networks, in minutes.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "passes/pass.h"

namespace hone::passes {

struct RecomputeOptions {
  std::size_t bytes = 0;  // that may be alive at once, what kernels work in included
  // What the kernels of nodes work in, by the nodes' names; of others nothing is known.
  std::map<std::string, std::size_t, std::less<>> scratch = {};
};

struct Recomputation {
  graph::Graph graph;
  std::size_t peak_before = 0;  // bytes alive at once, by the same count as RecomputeOptions::bytes
  std::size_t peak = 0;  // the same of `graph`: more than was asked for where there is nothing left to drop
  int operators = 0;     // that run again
  double flops_before = 0;
  double flops = 0;
  std::vector<Note> done;  // a note for each value that is dropped
};

// Exact: every value is what it was, bit by bit, where kernels are chosen by their inputs' types alone. The order of nodes
// stays, with copies put in: nothing may order them anew without counting again.
Result<Recomputation> recompute(const graph::Graph& graph, const RecomputeOptions& options);

}  // namespace hone::passes

// Which operators a pass that narrows types must leave in f32 for this model: those whose numbers leave the type's range,
// and, while the model's outputs are off by more than the pass' limit, those that are off most alone, with what stores
// their inputs. A bounded number of rounds, each of which interprets the model.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "analyze/findings.h"
#include "graph/graph.h"
#include "lab/gate/numeric.h"
#include "passes/pass.h"

namespace hone::lab {

using KeptInF32 = std::map<std::string, std::string, std::less<>>;  // nodes by name, and why

struct LoweredGraph {
  graph::Graph graph;
  std::vector<passes::TypeChoice> types;
};

struct PrecisionSearch {
  // The pass, which leaves those nodes in f32.
  std::function<Result<LoweredGraph>(const KeptInF32&)> lower;
  // The outputs of an interpretation of what it gave.
  std::function<NumericReport(std::span<const Tensor>)> judge;
  std::function<bool()> more_time;        // for another round
  std::function<bool()> keep_going = {};  // false cancels
  int most_rounds = 8;
  // How many times larger numbers may be with other inputs than the ones measured: what is nearer to the end of the
  // type's range than that stays in f32.
  double headroom = 4;
};

struct PrecisionDecision {
  KeptInF32 keep_f32;
  std::vector<analyze::OperatorPrecision> rows;  // one for each of the pass' first choices
  std::string how;                               // "2 rounds; the interpreted model: rel. L2 4e-04"
};

// `graph`: before the pass. Errors: it cannot be interpreted, cancelled.
Result<PrecisionDecision> choose_precision(const graph::Graph& graph, std::span<const Tensor> inputs,
                                           const PrecisionSearch& search);

}  // namespace hone::lab

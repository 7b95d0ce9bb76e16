// What a pass is: a function Graph → Graph with a name, a class of numerics, and a report of what it did and
// of what it did not do where a user would expect it. Passes know no device: what they need to know of one
// (costs, preferred layouts) reaches them in the context, as tables and functions.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/numerics.h"
#include "core/result.h"
#include "core/tensor.h"
#include "graph/builder.h"
#include "graph/capabilities.h"
#include "graph/graph.h"

namespace hone::passes {

// What the target's kernels take. Filled by the lab from the provider, which owns the table; a default one
// stands for a target that was not asked: nothing is fused, nothing laid out, nothing widened.
struct Target {
  graph::Capabilities takes;
  // Whether the target has a kernel of its own for `node` with the types that it has in `graph`: the last
  // word, where the table only says what is worth trying. Null: the table is believed, and no layout is
  // changed.
  std::function<bool(const graph::Graph& graph, const graph::Node& node)> runs;
};

struct PassContext {
  // Runs one node on known inputs (constant folding). Null: nothing is folded.
  std::function<Result<std::vector<Tensor>>(const graph::Node&, std::span<const Tensor>)> evaluate;
  // The expected time of one step of a graph on the target, in seconds. Null: no gains are predicted.
  std::function<double(const graph::Graph&)> price;
  Target target;
  // Nodes, by name, that passes which narrow types leave in f32 though their rules would not, and why: what was
  // measured about this model.
  std::map<std::string, std::string, std::less<>> keep_f32 = {};
  // The type in which a later pass will have products compute, for passes before it whose answer depends on it; given by
  // who runs the passes. kUndefined: their own.
  DType narrows_to = DType::kUndefined;
  // In a training step: passes which narrow types store sums of the residual stream narrow, too, as they do elsewhere.
  bool narrow_residual = false;
};

// Something the pass did, or did not do where a user would expect it; `node` by its name in the user's model.
struct Note {
  std::string node;
  std::string text;  // "folded into Conv 'conv1'"; "not fused: the Add has two users"
};

// What a pass that narrows types decided about a node that it could have narrowed.
struct TypeChoice {
  std::string node;
  std::string op;
  DType type = DType::kUndefined;  // in which it works now
  bool narrowed = false;
  std::string why;
  bool tf32 = false;  // of f32, and its kernel may round what it multiplies (graph/product_math.h)
};

struct PassOutcome {
  graph::Graph graph;
  std::vector<Note> done;
  std::vector<Note> missed;
  std::vector<TypeChoice> types = {};  // of passes that narrow types, in the order of the graph

  bool changed() const { return !done.empty(); }
};

// What a pass is there to lower: what it is judged by.
enum class Aim : uint8_t { kTime, kMemory };

using PassFunction = Result<PassOutcome> (*)(const graph::Graph&, const PassContext&);

struct Pass {
  std::string_view name;   // "fold_batch_norm": what --pass and reports call it
  std::string_view group;  // passes of one group are tried, kept and dropped together
  Numerics numerics = Numerics::kExact;
  std::string_view summary;  // one line: what it does and why
  PassFunction run = nullptr;
  Aim aim = Aim::kTime;  // the same for all passes of a group
  // For a lossy pass, which runs only where it is named: how far outputs may be off after it, as a relative
  // L2 norm. 0 for others.
  double lossy_limit = 0;
  DType narrows_to = DType::kUndefined;  // of a pass that has products compute in it
};

}  // namespace hone::passes

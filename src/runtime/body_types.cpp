#include "runtime/body_types.h"

#include <algorithm>
#include <utility>

#include "graph/specialise.h"

namespace hone::runtime {
namespace {

using graph::Graph;
using graph::InputFact;
using graph::Node;
using graph::TensorType;
using graph::ValueId;

// How the inputs of a body come from those of its node.
struct Arrangement {
  std::size_t own = 0;           // inputs of the body that the node makes itself, first
  std::size_t node_inputs = 0;   // inputs of the node that are for itself, first
  std::size_t carried = 0;       // then as many values that go round
  std::size_t scanned = 0;       // then as many that the body sees slices of; captures come last
  std::size_t first_output = 0;  // of the body's outputs, the first carried value
};

Arrangement arrange(const Node& node) {
  const std::size_t formal = node.inputs.size() - node.captures;
  if (node.op == "Loop")
    return {.own = 2, .node_inputs = 2, .carried = formal - 2, .scanned = 0, .first_output = 1};
  if (node.op == "Scan") {
    const auto scanned = static_cast<std::size_t>(node.attributes.integer("num_scan_inputs", 0));
    return {.own = 0, .node_inputs = 0, .carried = formal - scanned, .scanned = scanned, .first_output = 0};
  }
  return {.own = 0, .node_inputs = formal, .carried = 0, .scanned = 0, .first_output = 0};
}

// As a body is given it: a plan of its own takes its inputs to where it runs.
TensorType given_type(TensorType type) {
  type.device = DeviceId();
  return type;
}

// `type` without the axis that Scan runs along.
TensorType slice_of(const TensorType& type, int64_t axis) {
  TensorType slice = given_type(type);
  if (!slice.has_rank()) return slice;
  const auto at = normalize_axis(axis, type.rank());
  if (at.ok()) slice.dims->erase(slice.dims->begin() + *at);
  return slice;
}

// Facts about all inputs but those that go round.
std::vector<InputFact> known_facts(const Graph& graph, const Node& node, const Arrangement& how,
                                   std::size_t inputs) {
  std::vector<InputFact> facts(inputs);
  const Ints axes = node.attributes.ints("scan_input_axes", Ints(how.scanned, 0));
  for (std::size_t i = 0; i < how.scanned; ++i) {
    const ValueId outer = node.inputs[how.node_inputs + how.carried + i];
    facts[how.own + how.carried + i].type = slice_of(graph.type(outer), i < axes.size() ? axes[i] : 0);
  }
  for (std::size_t i = 0; i < node.captures; ++i) {
    const graph::Value& outer = graph.value(node.inputs[node.inputs.size() - node.captures + i]);
    InputFact& fact = facts[inputs - node.captures + i];
    if (outer.is_constant()) {
      fact.constant = outer.constant;
    } else {
      fact.type = given_type(outer.type);
    }
  }
  return facts;
}

bool keeps_carried(const Graph& body, const Arrangement& how, std::span<const InputFact> facts) {
  for (std::size_t i = 0; i < how.carried; ++i) {
    const auto& assumed = facts[how.own + i].type;
    if (assumed && !(body.type(body.outputs()[how.first_output + i]) == *assumed)) return false;
  }
  return true;
}

}  // namespace

Result<SpecialisedBody> specialise_body(const Graph& graph, const Node& node, std::size_t body) {
  const Graph& original = *node.bodies[body];
  const Arrangement how = arrange(node);
  const std::vector<InputFact> facts = known_facts(graph, node, how, original.inputs().size());
  std::vector<bool> given;
  for (const InputFact& fact : facts) given.push_back(!fact.constant);

  std::vector<InputFact> assumed = facts;
  for (std::size_t i = 0; i < how.carried; ++i) {
    const ValueId initial = node.inputs[how.node_inputs + i];
    if (initial.valid() && graph.type(initial).is_static())
      assumed[how.own + i].type = given_type(graph.type(initial));
  }
  if (auto typed = graph::specialise(original, assumed); typed.ok() && keeps_carried(*typed, how, assumed))
    return SpecialisedBody{std::move(*typed), std::move(given)};
  // A shape that changes from one iteration to the next: known only when it runs.
  HONE_ASSIGN(Graph typed, graph::specialise(original, facts));
  return SpecialisedBody{std::move(typed), std::move(given)};
}

}  // namespace hone::runtime

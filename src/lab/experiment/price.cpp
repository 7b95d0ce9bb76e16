#include "lab/experiment/price.h"

#include <algorithm>

#include <fmt/core.h>

#include "core/statistics.h"
#include "graph/buffer_assignment.h"
#include "lab/experiment/profile.h"
#include "runtime/timing_cache.h"

namespace hone::lab {
namespace {

using trace::OperatorClass;

constexpr std::size_t kReferences = 3;       // of a class: what most of its time goes to
constexpr double kLongestReference = 10e-3;  // seconds; longer ones cost more than they tell
constexpr double kLongEnough = 20e-6;  // seconds; below, a reading is mostly the cost of starting threads

// What a profile saw of the nodes of one signature.
struct Sightings {
  const graph::Node* node = nullptr;
  std::vector<double> seconds;
};

std::unordered_map<std::string, Sightings> sightings_in(const runtime::Plan& plan,
                                                        const trace::Trace& profile) {
  std::unordered_map<std::string, Sightings> found;
  struct OfStep {
    Sightings* sightings = nullptr;
    int lanes = 1;
  };
  std::vector<OfStep> of_step;
  for (const runtime::PlanStep& step : plan.steps()) {
    const graph::Node& node = plan.graph().node(step.node);
    Sightings& sightings = found[runtime::node_signature(plan.graph(), node)];
    sightings.node = &node;
    of_step.push_back({&sightings, step.lanes});  // references into an unordered_map stay valid
  }
  for (std::size_t i = 0; i < profile.spans.size(); ++i) {
    const trace::Span span = profile.spans.row(i);
    if (span.category != trace::Category::kOperator || !span.op.valid()) continue;
    // A step in a lane has the time to itself only in part: what it costs the whole is its share.
    const OfStep& step = of_step[span.op.index];
    step.sightings->seconds.push_back(static_cast<double>(span.duration_ns) * 1e-9 / step.lanes);
  }
  return found;
}

// The signature of `node` without the bias that it adds to its results while it has them in registers; empty
// where there is none.
std::string without_bias(const graph::Graph& graph, const graph::Node& node) {
  const bool may_add = node.op == "Conv" || node.op == "ConvTranspose" || node.op == "Gemm";
  if (!may_add || !node.has_input(2) || !graph.value(node.inputs[2]).is_constant()) return {};
  graph::Node bare = node;
  bare.inputs.resize(2);
  return runtime::node_signature(graph, bare);
}

}  // namespace

double PriceList::step(const graph::Graph& graph) {
  const graph::BufferAssignment buffers(graph);
  std::vector<std::string> signatures;
  std::unordered_map<std::string, const graph::Node*> unknown;
  for (uint32_t i = 0; i < graph.nodes().size(); ++i) {
    if (buffers.elided(graph::NodeId{i})) continue;
    const graph::Node& node = graph.nodes()[i];
    signatures.push_back(runtime::node_signature(graph, node));
    if (prices_.contains(signatures.back())) continue;
    const auto bare = prices_.find(without_bias(graph, node));
    if (bare != prices_.end())
      prices_[signatures.back()] = double{bare->second};
    else
      unknown.emplace(signatures.back(), &node);
  }
  for (const auto& [signature, seconds] : time_alone(graph, unknown))
    prices_[signature] = seconds * step_to_alone(describe_operator(graph, *unknown.at(signature)).op_class);
  double seconds = 0;
  for (const std::string& signature : signatures) {
    const auto price = prices_.find(signature);
    if (price != prices_.end()) seconds += price->second;
  }
  return seconds;
}

std::unordered_map<std::string, double> PriceList::time_alone(const graph::Graph& graph, const Nodes& nodes) {
  std::unordered_map<std::string, double> seconds;
  Nodes unknown;
  std::set<OperatorClass> classes;
  for (const auto& [signature, node] : nodes) {
    if (const auto alone = tuner_.remembered(graph, *node)) {
      seconds[signature] = *alone;
    } else {
      unknown.emplace(signature, node);
      classes.insert(describe_operator(graph, *node).op_class);
    }
  }
  const auto before = drift(classes);
  std::vector<const graph::Node*> timed;
  for (const auto& [signature, node] : unknown) timed.push_back(node);
  const auto ahead = tuner_.prepare(graph, timed);
  for (const auto& [signature, node] : unknown) (void)tuner_.seconds(graph, *node);  // some cannot run
  for (const auto& [signature, node] : unknown) tuner_.look_again(graph, *node);
  const auto after = drift(classes);
  for (const auto& [signature, node] : unknown) {
    const OperatorClass op_class = describe_operator(graph, *node).op_class;
    const auto alone = tuner_.remembered(graph, *node);
    if (alone) seconds[signature] = *alone / ((before.at(op_class) + after.at(op_class)) / 2);
  }
  return seconds;
}

void PriceList::add_reference(OperatorClass op_class, const Reference& reference) {
  if (reference.alone < kLongEnough || reference.alone > kLongestReference) return;
  std::vector<Reference>& known = references_[op_class];
  known.push_back(reference);
  std::sort(known.begin(), known.end(),
            [](const Reference& a, const Reference& b) { return a.seen > b.seen; });
  if (known.size() > kReferences) known.pop_back();
}

std::map<OperatorClass, double> PriceList::drift(const std::set<OperatorClass>& classes) {
  std::map<OperatorClass, double> factors;
  for (const OperatorClass op_class : classes) {
    std::vector<double> found;
    for (const Reference& reference : references_[op_class]) {
      const auto now = tuner_.seconds_now(*reference_graph_, *reference.node);
      if (now.ok()) found.push_back(*now / reference.alone);
    }
    factors[op_class] = found.empty() ? 1 : median(found);
  }
  return factors;
}

double PriceList::step_to_alone(trace::OperatorClass op_class) const {
  const auto sums = of_class_.find(op_class);
  return sums != of_class_.end() ? sums->second.ratio(all_.ratio(1)) : all_.ratio(1);
}

std::string PriceList::ratios_text() const {
  std::string text;
  for (const auto& [op_class, sums] : of_class_)
    text += fmt::format("{}{} {:.2f}", text.empty() ? "" : ", ", trace::operator_class_name(op_class),
                        sums.ratio(1));
  return text;
}

std::vector<Contradiction> PriceList::learn(const runtime::Plan& plan, const trace::Trace& profile) {
  std::vector<Contradiction> contradictions;
  const graph::Graph& graph = plan.graph();
  all_ = {};
  of_class_.clear();
  references_.clear();
  reference_graph_ = &graph;
  const auto sightings = sightings_in(plan, profile);
  Nodes nodes;
  for (const auto& [signature, seen] : sightings) nodes.emplace(signature, seen.node);
  for (const auto& [signature, seen] : sightings) {  // what only the host can run is not timed alone
    if (!seen.seconds.empty()) prices_[signature] = quantile(seen.seconds, runtime::kReadingQuantile);
  }
  for (const auto& [signature, alone] : time_alone(graph, nodes)) {
    const Sightings& seen = sightings.at(signature);
    if (seen.seconds.empty()) continue;
    const double in_step = quantile(seen.seconds, runtime::kReadingQuantile);
    prices_[signature] = in_step;
    if (in_step > kLongEnough && alone >= kContradiction * in_step) {
      contradictions.push_back({seen.node->name, alone, in_step});
      tuner_.forget(graph, *seen.node);
      continue;
    }
    const OperatorClass op_class = describe_operator(graph, *seen.node).op_class;
    const auto runs = static_cast<double>(seen.seconds.size());
    add_reference(op_class, {seen.node, alone, runs * in_step});
    for (Sums* sums : {&all_, &of_class_[op_class]}) {
      sums->seen += runs * in_step;
      sums->alone += runs * alone;
    }
  }
  return contradictions;
}

}  // namespace hone::lab

// Prices: what a node is expected to take on a provider. A node that a profile saw costs what it took there;
// another, the time of its fastest kernel alone (runtime/autotune: with the caches as a step leaves them, and
// remembered) times what operators of its class took in the profile, divided by what the same ones take
// alone: that is what being in a step adds, and alone cannot show. A convolution or product that has gained a
// bias costs what it did without: a bias is added in registers. Machines that others share change their speed
// within minutes: known nodes timed beside new ones say by how much, and new ones are priced as if it had
// not. Summed over a graph, prices predict a step; the lab shows that prediction beside what the paired
// measurement finds.
#pragma once

#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/graph.h"
#include "runtime/autotune.h"
#include "runtime/plan.h"
#include "trace/operator_class.h"
#include "trace/trace.h"

namespace hone::lab {

// A node whose kernels were timed while something else used the machine: it took far longer alone than in the
// step.
struct Contradiction {
  std::string node;
  double alone = 0, seen = 0;  // seconds
};

class PriceList {
 public:
  // `tuner` must outlive the list. Its cache also serves plans compiled later: they find their kernels
  // chosen.
  explicit PriceList(runtime::Tuner& tuner) : tuner_(tuner) {}

  // Seconds of one step of `graph`. Nodes that run nothing (views, parts that share memory) cost nothing, nor
  // do those that cannot run.
  double step(const graph::Graph& graph);

  // From now on the nodes of `plan`, which must outlive the list, and others like them, cost what `profile`
  // of it saw, and the ratios of step to alone are of this profile. A reading alone that is kContradiction
  // times what the profile saw, or more, was disturbed, and so was the choice between the node's kernels: the
  // tuner forgets it, and the node is returned. Plans compiled before keep the kernel that the disturbed
  // readings chose.
  std::vector<Contradiction> learn(const runtime::Plan& plan, const trace::Trace& profile);

  // What a node of `op_class` takes in a step ÷ what it takes alone; that of all classes together for one
  // that the profile did not have, 1 before there was any.
  double step_to_alone(trace::OperatorClass op_class) const;
  // For people: "convolution 0.97, pointwise 1.42".
  std::string ratios_text() const;

 private:
  using Nodes = std::unordered_map<std::string, const graph::Node*>;  // by signature
  // Seconds of those of `nodes` that can run, by signature. Those not timed before are looked at twice, with
  // all others in between.
  std::unordered_map<std::string, double> time_alone(const graph::Graph& graph, const Nodes& nodes);

  // A node whose time alone is known from when the profile was taken. What it takes later says how much
  // faster or slower the machine has become since.
  struct Reference {
    const graph::Node* node = nullptr;
    double alone = 0;  // seconds
    double seen = 0;   // all runs together
  };
  void add_reference(trace::OperatorClass op_class, const Reference& reference);
  // Time now ÷ time then, of the references of each of `classes`.
  std::map<trace::OperatorClass, double> drift(const std::set<trace::OperatorClass>& classes);

  runtime::Tuner& tuner_;
  const graph::Graph* reference_graph_ = nullptr;
  std::map<trace::OperatorClass, std::vector<Reference>> references_;
  std::unordered_map<std::string, double> prices_;  // seconds by node signature
  struct Sums {
    double seen = 0, alone = 0;
    double ratio(double otherwise) const { return alone > 0 ? seen / alone : otherwise; }
  };
  Sums all_;
  std::map<trace::OperatorClass, Sums> of_class_;
};

inline constexpr double kContradiction = 1.8;

}  // namespace hone::lab

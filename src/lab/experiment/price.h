// Prices: what a node is expected to take on a provider: as the profile of a plan saw it, else from its
// kernel timed alone (and remembered). Summed over a graph they predict a step; the lab shows that prediction
// beside what the paired measurement finds.
#pragma once

#include <string>
#include <unordered_map>

#include "graph/graph.h"
#include "runtime/plan.h"
#include "runtime/provider.h"
#include "runtime/timing_cache.h"
#include "trace/trace.h"

namespace hone::lab {

class PriceList {
 public:
  // Both must outlive the list. `cache` also serves plans compiled later: they find their kernels chosen.
  PriceList(const runtime::Provider& provider, runtime::TimingCache& cache)
      : provider_(provider), cache_(cache) {}

  // Seconds of one run of `node`; 0 for nodes that run nothing (views, parts that share memory) or cannot
  // run.
  double price(const graph::Graph& graph, const graph::Node& node);

  // From now on the nodes of `plan`, and others like them, cost what `profile` of it saw: the median over all
  // runs of one signature. Kernels timed alone find their weights in the caches, or met a busier machine:
  // what the profile did not see is multiplied by scale(), the median ratio of seen to alone over the nodes
  // that take long enough to tell.
  void learn(const runtime::Plan& plan, const trace::Trace& profile);
  double scale() const { return scale_; }

 private:
  const runtime::Provider& provider_;
  runtime::TimingCache& cache_;
  // Seconds of a kernel timed alone; 0 where there is none.
  double alone(const graph::Graph& graph, const graph::Node& node, const std::string& signature);

  std::unordered_map<std::string, double> seen_;   // seconds by node signature, from profiles
  std::unordered_map<std::string, double> alone_;  // seconds by node signature, timed alone
  double scale_ = 1;
};

}  // namespace hone::lab

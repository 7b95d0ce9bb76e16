// Prices: what a node is expected to take on a provider, from its kernel timed alone (and remembered). Summed
// over a graph they predict a step; the lab shows that prediction beside what the paired measurement finds.
#pragma once

#include <string>
#include <unordered_map>

#include "graph/graph.h"
#include "runtime/plan.h"
#include "runtime/provider.h"
#include "runtime/timing_cache.h"

namespace hone::lab {

class PriceList {
 public:
  // Both must outlive the list. `cache` also serves plans compiled later: they find their kernels chosen.
  PriceList(const runtime::Provider& provider, runtime::TimingCache& cache)
      : provider_(provider), cache_(cache) {}

  // Seconds of one run of `node`; 0 for nodes that run nothing (views, parts that share memory) or cannot
  // run.
  double price(const graph::Graph& graph, const graph::Node& node);

  // Kernels run alone find their data in the caches, and a step is not the sum of its parts: prices are
  // multiplied by this. Set it so that the baseline's prices add up to the baseline as measured.
  void set_scale(double scale) { scale_ = scale; }
  double scale() const { return scale_; }

 private:
  const runtime::Provider& provider_;
  runtime::TimingCache& cache_;
  std::unordered_map<std::string, double> seconds_;  // by node signature
  double scale_ = 1;
};

}  // namespace hone::lab

#include "lab/experiment/price.h"

#include "runtime/autotune.h"
#include "runtime/buffer_assignment.h"

namespace hone::lab {

double PriceList::price(const graph::Graph& graph, const graph::Node& node) {
  const std::string signature = runtime::node_signature(graph, node);
  if (auto known = seconds_.find(signature); known != seconds_.end()) return known->second * scale_;
  double seconds = 0;
  if (runtime::BufferAssignment::always_elided(graph, node)) {
    seconds_.emplace(signature, 0.0);
    return 0;
  }
  auto remembered = cache_.find(provider_.signature(), signature);
  if (!remembered) {
    runtime::PlanOptions options;
    options.cache = &cache_;
    options.measure_single = true;
    if (runtime::choose_kernel(graph, node, provider_, options).ok())
      remembered = cache_.find(provider_.signature(), signature);
  }
  if (remembered) seconds = remembered->microseconds / 1e6;
  seconds_.emplace(signature, seconds);
  return seconds * scale_;
}

}  // namespace hone::lab

#include "lab/experiment/price.h"

#include <algorithm>
#include <vector>

#include "graph/buffer_assignment.h"
#include "runtime/autotune.h"

namespace hone::lab {
namespace {

constexpr double kLongEnough = 20e-6;  // seconds; below, a reading is mostly the cost of starting threads

double median_of(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

double PriceList::alone(const graph::Graph& graph, const graph::Node& node, const std::string& signature) {
  if (auto known = alone_.find(signature); known != alone_.end()) return known->second;
  double seconds = 0;
  if (!graph::BufferAssignment::always_elided(graph, node)) {
    auto remembered = cache_.find(provider_.signature(), signature);
    if (!remembered) {
      runtime::PlanOptions options;
      options.cache = &cache_;
      options.measure_single = true;
      if (runtime::choose_kernel(graph, node, provider_, options).ok())
        remembered = cache_.find(provider_.signature(), signature);
    }
    if (remembered) seconds = remembered->microseconds / 1e6;
  }
  alone_.emplace(signature, seconds);
  return seconds;
}

double PriceList::price(const graph::Graph& graph, const graph::Node& node) {
  const std::string signature = runtime::node_signature(graph, node);
  if (auto seen = seen_.find(signature); seen != seen_.end()) return seen->second;
  return alone(graph, node, signature) * scale_;
}

void PriceList::learn(const runtime::Plan& plan, const trace::Trace& profile) {
  const graph::Graph& graph = plan.graph();
  std::unordered_map<std::string, std::vector<double>> runs;
  std::unordered_map<std::string, const graph::Node*> nodes;
  for (std::size_t i = 0; i < profile.spans.size(); ++i) {
    const trace::Span span = profile.spans.row(i);
    if (span.category != trace::Category::kOperator || !span.op.valid()) continue;
    const runtime::PlanStep& step = plan.steps()[span.op.index];
    const graph::Node& node = graph.node(step.node);
    const std::string signature = runtime::node_signature(graph, node);
    // A step in a lane has the time to itself only in part: what it costs the whole is its share.
    runs[signature].push_back(static_cast<double>(span.duration_ns) * 1e-9 / step.lanes);
    nodes[signature] = &node;
  }
  std::vector<double> ratios;
  for (auto& [signature, seconds] : runs) {
    const double seen = median_of(seconds);
    seen_[signature] = seen;
    const double by_itself = alone(graph, *nodes[signature], signature);
    if (seen > kLongEnough && by_itself > kLongEnough) ratios.push_back(seen / by_itself);
  }
  if (!ratios.empty()) scale_ = median_of(ratios);
}

}  // namespace hone::lab

#include "lab/bench/compare_models.h"

#include <fmt/core.h>

#include "core/memory_budget.h"
#include "lab/gate/instances.h"
#include "lab/prepared.h"
#include "runtime/make_provider.h"

namespace hone::lab {
namespace {

using graph::Graph;

std::string names_of(const Graph& graph, const std::vector<graph::ValueId>& ids) {
  std::string text;
  for (graph::ValueId id : ids)
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", graph.value(id).name, graph.type(id).text());
  return text.empty() ? "none" : text;
}

// Whether all inputs of one model are inputs of the other, by name and type, and so for the outputs.
std::string interface_difference(const Graph& a, const Graph& b) {
  if (names_of(a, a.inputs()) != names_of(b, b.inputs()))
    return fmt::format("their inputs differ ({} against {})", names_of(a, a.inputs()),
                       names_of(b, b.inputs()));
  std::string outputs_a = names_of(a, a.outputs());
  std::string outputs_b = names_of(b, b.outputs());
  if (outputs_a != outputs_b)
    return fmt::format("their outputs differ ({} against {})", outputs_a, outputs_b);
  return {};
}

std::string side_name(int side) { return side == 0 ? "A" : "B"; }

// Whether three copies of such a plan and three of another like it would fill much of the machine: two must
// do.
bool is_large(const runtime::PlanMemory& memory) {
  constexpr double kShare = 0.05;
  return static_cast<double>(memory.arena_bytes + memory.weights_bytes) >
         kShare * static_cast<double>(available_memory());
}

}  // namespace

Result<ModelComparison> compare_models(const Graph& a, const Graph& b, const BenchOptions& options) {
  HONE_ASSIGN(const std::unique_ptr<const runtime::Provider> provider,
              runtime::make_provider(options.device, {.threads = options.threads}));
  const std::unique_ptr<runtime::Hold> hold = provider->hold();
  runtime::TimingCache cache = runtime::TimingCache::open(options.timing_cache);
  std::vector<std::unique_ptr<runtime::Plan>> plans[2];
  const Graph* graphs[2] = {&a, &b};
  Graph optimised[2];
  Inputs inputs[2];
  for (int i : {0, 1}) {
    // The seed and the name decide an input's data: inputs of one name and type are the same for both.
    auto made = make_inputs(*graphs[i], options.seed);
    if (!made.ok()) return made.error().within(side_name(i));
    inputs[i] = *std::move(made);
    HONE_ASSIGN(optimised[i], optimise(*graphs[i], *provider, options.disabled_passes));
  }
  int instances = 3;
  const std::vector<int> order = making_order(instances);
  for (std::size_t place = 0; place < order.size() && static_cast<int>(place) < 2 * instances; ++place) {
    const int i = order[place];
    const double from = 0.02 + 0.18 * static_cast<double>(place) / static_cast<double>(order.size());
    const auto progress = [&](std::size_t done, std::size_t total, const std::string& node) {
      return !options.progress || options.progress(from, side_name(i) + ": " + choosing(done, total, node));
    };
    HONE_ASSIGN(std::unique_ptr<runtime::Plan> plan,
                compile_plan(optimised[i], *provider, inputs[i].tensors,
                             {.cache = &cache, .progress = progress, .overlap = options.overlap}));
    HONE_CHECK(plan->run());
    if (is_large(plan->memory())) instances = 2;
    plans[i].push_back(std::move(plan));
  }
  (void)cache.save();  // a convenience: the next run measures again if it could not be written

  ModelComparison comparison;
  comparison.why_not_compared = interface_difference(a, b);
  if (comparison.why_not_compared.empty()) {
    HONE_ASSIGN(const std::vector<Tensor> first, plans[0][0]->read_all());
    // As the models were given: passes may compute half precision in f32, and what it rounded before is lost.
    const DType computed_in = coarser(coarsest_arithmetic(a), coarsest_arithmetic(b));
    HONE_ASSIGN(comparison.numbers, compare_with(first, inputs[1].tensors, *plans[1][0],
                                                 {.computed_in = computed_in, .own = {}}));
  }
  PairedOptions paired;
  paired.budget_ns = static_cast<int64_t>(options.budget_s * 1e9);
  paired.progress = [&](double done) {
    return !options.progress || options.progress(0.2 + 0.8 * done, "measuring both, interleaved");
  };
  std::vector<Workload> work[2];
  for (int i : {0, 1})
    for (const auto& plan : plans[i]) work[i].push_back([&plan] { return plan->run(); });
  HONE_ASSIGN(comparison.paired, run_paired_instances(work[0], work[1], paired));
  comparison.a = summarise_latency(comparison.paired.a_ms);
  comparison.b = summarise_latency(comparison.paired.b_ms);
  return comparison;
}

}  // namespace hone::lab

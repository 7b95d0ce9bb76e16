#include "lab/bench/compare_models.h"

#include <fmt/core.h>

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

}  // namespace

Result<ModelComparison> compare_models(const Graph& a, const Graph& b, const BenchOptions& options) {
  HONE_ASSIGN(const std::unique_ptr<const runtime::Provider> provider,
              runtime::make_provider(options.device, {.threads = options.threads}));
  const std::unique_ptr<runtime::Hold> hold = provider->hold();
  runtime::TimingCache cache = runtime::TimingCache::open(options.timing_cache);
  std::unique_ptr<runtime::Plan> plans[2];
  const Graph* graphs[2] = {&a, &b};
  for (int i = 0; i < 2; ++i) {
    // The seed and the name decide an input's data: inputs of one name and type are the same for both.
    const std::string side = i == 0 ? "A" : "B";
    auto inputs = make_inputs(*graphs[i], options.seed);
    if (!inputs.ok()) return inputs.error().within(side);
    HONE_ASSIGN(const Graph optimised, optimise(*graphs[i], *provider, options.disabled_passes));
    const auto progress = [&](std::size_t done, std::size_t total, const std::string& node) {
      return !options.progress || options.progress(0.02 + 0.1 * i, side + ": " + choosing(done, total, node));
    };
    HONE_ASSIGN(plans[i], compile_plan(optimised, *provider, inputs->tensors,
                                       {.cache = &cache, .progress = progress, .overlap = options.overlap}));
    HONE_CHECK(plans[i]->run());
  }
  (void)cache.save();  // a convenience: the next run measures again if it could not be written

  ModelComparison comparison;
  comparison.why_not_compared = interface_difference(a, b);
  if (comparison.why_not_compared.empty()) {
    HONE_ASSIGN(const std::vector<Tensor> first, plans[0]->read_all());
    HONE_ASSIGN(comparison.numbers, compare_with(first, *plans[1], Numerics::kReassociating));
  }
  PairedOptions paired;
  paired.budget_ns = static_cast<int64_t>(options.budget_s * 1e9);
  paired.progress = [&](double done) {
    return !options.progress || options.progress(0.2 + 0.8 * done, "measuring both, interleaved");
  };
  HONE_ASSIGN(comparison.paired,
              run_paired([&] { return plans[0]->run(); }, [&] { return plans[1]->run(); }, paired));
  comparison.a = summarise_latency(comparison.paired.a_ms);
  comparison.b = summarise_latency(comparison.paired.b_ms);
  return comparison;
}

}  // namespace hone::lab

#include "lab/what_fits.h"

#include <optional>

#include <fmt/format.h>

#include "core/clock.h"
#include "core/units.h"
#include "runtime/plan.h"

namespace hone::lab {
namespace {

// nullopt: a plan of it cannot be made, or foretold.
std::optional<std::size_t> bytes_with(const GraphOfBatch& graph_of, int64_t batch,
                                      const runtime::Provider& provider) {
  auto graph = graph_of(batch);
  if (!graph.ok()) return std::nullopt;
  runtime::PlanOptions options;
  options.autotune = false;
  const auto plan = runtime::Plan::forecast(*std::move(graph), provider, options);
  if (!plan.ok()) return std::nullopt;
  std::size_t bytes = plan->memory.arena_bytes + plan->memory.constants_bytes;
  for (const runtime::PlanStep& step : plan->steps) bytes += step.packed_bytes;
  return bytes;
}

std::string in_units(std::size_t bytes) { return format_bytes(static_cast<double>(bytes)); }

}  // namespace

std::string what_would_fit(const GraphOfBatch& graph_of, int64_t batch, const runtime::Provider& provider,
                           double seconds) {
  const int64_t until_ns = now_ns() + static_cast<int64_t>(seconds * 1e9);
  if (provider.device()->host_visible()) return {};
  const std::size_t free = provider.device()->available();
  const auto whole = bytes_with(graph_of, batch, provider);
  if (!whole || *whole <= free) return {};
  const auto one = batch > 1 ? bytes_with(graph_of, 1, provider) : whole;
  if (!one) return {};
  if (*one > free)
    return fmt::format("a batch of 1 needs {}, where {} are free: it takes a smaller model, or more memory",
                       in_units(*one), in_units(free));
  int64_t fits = 1, too_large = batch;
  std::size_t bytes = *one;
  while (too_large - fits > 1 && now_ns() < until_ns) {
    const int64_t middle = fits + (too_large - fits) / 2;
    const auto needed = bytes_with(graph_of, middle, provider);
    if (needed && *needed <= free) {
      fits = middle;
      bytes = *needed;
    } else {
      too_large = middle;
    }
  }
  return fmt::format("a batch of {} would fit ({}){}", fits, in_units(bytes),
                     too_large - fits > 1 ? "; not all was tried" : "");
}

}  // namespace hone::lab

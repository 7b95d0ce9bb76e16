#include "lab/training/fit_memory.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/clock.h"
#include "core/memory_budget.h"
#include "core/units.h"
#include "graph/verify.h"
#include "passes/recompute.h"

namespace hone::lab {
namespace {

// Plans that are made to learn how much smaller than asked for the values alive must be, because of gaps between them.
constexpr int kMostTrialPlans = 5;

std::string fitting_bytes(std::size_t bytes) { return format_bytes(static_cast<double>(bytes)); }

std::map<std::string, std::size_t, std::less<>> scratch_of(const runtime::PlanForecast& step) {
  std::map<std::string, std::size_t, std::less<>> scratch;
  for (const runtime::PlanStep& each : step.steps) scratch[each.name] = each.scratch_bytes;
  return scratch;
}

class Fitter {
 public:
  Fitter(const TrainingProgram& program, const runtime::Provider& provider, const SessionOptions& options,
         std::size_t data_bytes, const MemoryLimit& limit)
      : program_(program), provider_(provider), options_(options), data_bytes_(data_bytes), limit_(limit) {}

  Result<MemoryFit> fit() {
    HONE_ASSIGN(fit_.graphs, optimised_graphs(program_, provider_));
    HONE_CHECK(forecast(fit_.graphs, fit_.memory, step_));
    fit_.kept = fit_.memory;
    if (fit_.memory.bounded() <= limit_.bytes) return std::move(fit_);
    HONE_CHECK(drop_activations());
    fit_.fits = fit_.memory.bounded() <= limit_.bytes;
    return std::move(fit_);
  }

 private:
  Status forecast(const SessionGraphs& graphs, TrainingMemory& memory, runtime::PlanForecast& step) const {
    HONE_ASSIGN(memory, forecast_memory(program_, graphs, provider_, options_, &step));
    memory.data = data_bytes_;
    return {};
  }

  // An arena is larger than what is alive in it at once, by how much is known only when it is planned: each plan that is
  // too large makes the next target smaller.
  Status drop_activations() {
    const std::size_t arena = step_.memory.arena_bytes;
    const std::size_t beside = fit_.memory.bounded() - arena;
    const std::size_t allowed = limit_.bytes - std::min(limit_.bytes, beside);
    passes::RecomputeOptions recompute{0, scratch_of(step_)};
    const graph::Graph whole = fit_.graphs.step;
    std::size_t target = allowed;
    for (int i = 0; i < kMostTrialPlans; ++i) {
      recompute.bytes = target;
      HONE_ASSIGN(passes::Recomputation made, passes::recompute(whole, recompute));
      if (i == 0 && made.peak_before < arena) {  // the gaps that there are already
        target -= std::min(target, arena - made.peak_before);
        recompute.bytes = target;
        HONE_ASSIGN(made, passes::recompute(whole, recompute));
      }
      const Status valid = graph::verify(made.graph);
      if (!valid.ok()) return valid.error().within("pass recompute broke the graph (a bug in hone)");
      SessionGraphs graphs{std::move(made.graph), fit_.graphs.evaluation};
      TrainingMemory memory;
      runtime::PlanForecast step;
      HONE_CHECK(forecast(graphs, memory, step));
      if (memory.bounded() < fit_.memory.bounded()) {
        fit_.graphs = std::move(graphs);
        fit_.memory = memory;
        fit_.operators = made.operators;
        fit_.more_flops = made.flops / made.flops_before - 1;
      }
      if (memory.bounded() <= limit_.bytes || made.peak > target || target == 0) return {};
      target -= std::min(target, memory.bounded() - limit_.bytes);
    }
    return {};
  }

  const TrainingProgram& program_;
  const runtime::Provider& provider_;
  const SessionOptions& options_;
  std::size_t data_bytes_;
  const MemoryLimit& limit_;
  MemoryFit fit_;
  runtime::PlanForecast step_;
};

// The last of sorted settings, from one that fits to one that does not, that is found to fit; each trial takes a plan.
class SettingSearch {
 public:
  SettingSearch(const FitWith& fit_with, double seconds)
      : fit_with_(fit_with), until_ns_(now_ns() + static_cast<int64_t>(seconds * 1e9)) {}

  struct Found {
    int64_t setting = 0;
    std::size_t bytes = 0;
    bool whole = true;  // false: the time was over before all was tried
  };

  // `settings` are in the order of what they need, the least first.
  std::optional<Found> largest(const std::vector<int64_t>& settings,
                               const std::function<std::pair<int64_t, int64_t>(int64_t)>& batch_and_parts) {
    std::optional<Found> found;
    std::size_t low = 0, high = settings.size();
    for (bool first = true; low < high; first = false) {
      if (now_ns() > until_ns_) {
        if (found) found->whole = false;
        break;
      }
      const std::size_t middle = first ? 0 : low + (high - low) / 2;  // whether any does at all comes first
      const auto [batch, parts] = batch_and_parts(settings[middle]);
      const auto fit = fit_with_(batch, parts);
      if (fit.ok() && fit->fits) {
        found = Found{settings[middle], fit->memory.bounded(), true};
        low = middle + 1;
      } else {
        if (first && fit.ok()) least_ = fit->memory.bounded();
        high = middle;
      }
    }
    return found;
  }

  std::size_t least() const { return least_; }  // of settings of which none fitted; 0: not known

 private:
  const FitWith& fit_with_;
  int64_t until_ns_;
  std::size_t least_ = 0;
};

std::string offer(const SettingSearch::Found& found, const std::string& key) {
  return fmt::format("{} = {} ({}{})", key, found.setting, fitting_bytes(found.bytes),
                     found.whole ? "" : "; not all was tried");
}

}  // namespace

MemoryLimit memory_limit(std::size_t budget, const runtime::Device& device) {
  MemoryLimit limit{device.capacity(), fmt::format("what there is on {}", device.name())};
  if (device.host_visible()) {
    const std::size_t allowed = memory_budget();
    limit.bytes = allowed != 0 ? allowed - std::min(allowed, memory_in_use()) : available_memory();
    limit.why = "what the machine has free";
    if (limit.bytes == 0) limit.bytes = std::numeric_limits<std::size_t>::max();  // it does not say
  }
  if (budget != 0 && budget < limit.bytes) limit = {budget, "[train] memory"};
  return limit;
}

Result<MemoryFit> fit_memory(const TrainingProgram& program, const runtime::Provider& provider,
                             const SessionOptions& options, std::size_t data_bytes,
                             const MemoryLimit& limit) {
  return Fitter(program, provider, options, data_bytes, limit).fit();
}

Error does_not_fit(const MemoryFit& least, const MemoryLimit& limit, int64_t batch, int64_t accumulate,
                   const FitWith& fit_with, double seconds) {
  std::string text = fmt::format("the run needs {}, more than {} ({})", fitting_bytes(least.kept.bounded()),
                                 fitting_bytes(limit.bytes), limit.why);
  if (least.operators > 0)
    text += fmt::format("; computing {} operators again brings it to {}", least.operators,
                        fitting_bytes(least.memory.bounded()));
  else
    text += "; nothing that it keeps can be computed again";
  std::vector<int64_t> parts;  // micro-batches, most first: the least memory
  for (int64_t k = batch; k > accumulate; --k)
    if (batch % k == 0 && k <= 256) parts.push_back(k);
  std::vector<int64_t> batches;  // that the micro-batches divide
  for (int64_t b = accumulate; b < batch; b += accumulate) batches.push_back(b);
  SettingSearch of_parts(fit_with, seconds / 2);
  const auto fewest = of_parts.largest(parts, [&](int64_t k) { return std::pair(batch, k); });
  SettingSearch of_batches(fit_with, seconds / 2);
  const auto largest = of_batches.largest(batches, [&](int64_t b) { return std::pair(b, accumulate); });
  std::vector<std::string> offers;
  if (fewest) offers.push_back(offer(*fewest, "[train] accumulate"));
  if (largest) offers.push_back(offer(*largest, "[train] batch"));
  if (!offers.empty())
    return invalid(fmt::format("{}. It fits with {}", text, fmt::join(offers, ", or with ")));
  const std::size_t smallest = of_batches.least();
  if (smallest > 0)
    return invalid(fmt::format("{}. A batch of {} needs {}: a smaller model is needed, or more memory", text,
                               accumulate, fitting_bytes(smallest)));
  return invalid(fmt::format("{}. A smaller model is needed, or more memory", text));
}

}  // namespace hone::lab

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

// Of what is free: the rest is for what nobody foretells.
constexpr double kForetoldShare = 0.97;

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
    HONE_ASSIGN(fit_.graphs,
                optimised_graphs(program_, provider_, options_.without_passes, options_.precision));
    HONE_CHECK(forecast(fit_.graphs, fit_.memory, step_));
    fit_.kept = fit_.memory;
    if (fit_.memory.bounded() <= limit_.bytes) return std::move(fit_);
    if (fit_.memory.fixed() < limit_.bytes) HONE_CHECK(drop_activations());
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
    const std::size_t beside = fit_.memory.bounded() - step_.memory.arena_bytes;
    const graph::Graph whole = fit_.graphs.step;
    passes::RecomputeOptions recompute{std::numeric_limits<std::size_t>::max(), scratch_of(step_)};
    HONE_ASSIGN(const passes::Recomputation as_it_is, passes::recompute(whole, recompute));
    std::size_t gaps = step_.memory.arena_bytes - std::min(step_.memory.arena_bytes, as_it_is.peak);
    for (int i = 0; i < kMostTrialPlans; ++i) {
      recompute.bytes = limit_.bytes - std::min(limit_.bytes, beside + gaps);
      HONE_ASSIGN(passes::Recomputation made, passes::recompute(whole, recompute));
      const Status valid = graph::verify(made.graph);
      if (!valid.ok()) return valid.error().within("pass recompute broke the graph (a bug in hone)");
      SessionGraphs graphs{std::move(made.graph), fit_.graphs.evaluation, fit_.graphs.types};
      TrainingMemory memory;
      runtime::PlanForecast step;
      HONE_CHECK(forecast(graphs, memory, step));
      if (memory.bounded() < fit_.memory.bounded()) {
        fit_.graphs = std::move(graphs);
        fit_.memory = memory;
        fit_.operators = made.operators;
        fit_.more_flops = made.flops / made.flops_before - 1;
      }
      if (memory.bounded() <= limit_.bytes || made.peak > recompute.bytes) return {};
      gaps += memory.bounded() - limit_.bytes;
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

// Looks for other settings that fit, as long as there is time. What a trial takes grows with its micro-batches.
class SettingSearch {
 public:
  SettingSearch(const FitWith& fit_with, double part_s, double seconds)
      : fit_with_(fit_with), part_s_(part_s), until_ns_(now_ns() + static_cast<int64_t>(seconds * 1e9)) {}

  struct Found {
    int64_t setting = 0;
    std::size_t bytes = 0;
    bool whole = true;  // false: the time was over before all was tried
  };

  // One after the other: more of them need less for activations, and more for everything else.
  std::optional<Found> fewest_parts(const FitSettings& settings) {
    const auto [batch, accumulate, precision] = settings;
    for (int64_t k = accumulate + 1; k <= std::min(batch, kMostParts); ++k) {
      if (batch % k != 0) continue;
      const auto fit = tried({batch, k, precision});
      if (!fit) return std::nullopt;
      if (fit->fits) return Found{k, fit->memory.bounded(), true};
    }
    return std::nullopt;
  }

  // Of those that the micro-batches divide. The least first: whether any does at all.
  std::optional<Found> largest_batch(const FitSettings& settings) {
    const auto [batch, accumulate, precision] = settings;
    std::optional<Found> found;
    int64_t low = 1, high = batch / accumulate;  // micro-batches of so many samples: from `high` on none fits
    for (bool first = true; low < high; first = false) {
      const int64_t middle = first ? 1 : low + (high - low) / 2;
      const auto fit = tried({middle * accumulate, accumulate, precision});
      if (!fit) {
        if (found) found->whole = false;
        break;
      }
      if (fit->fits) found = Found{middle * accumulate, fit->memory.bounded(), true};
      if (first && !fit->fits) least_ = fit->memory.bounded();
      (fit->fits ? low : high) = fit->fits ? middle + 1 : middle;
    }
    return found;
  }

  // Bytes of the run as it is but for its precision, where it fits.
  std::optional<std::size_t> in_precision(FitSettings settings, const std::string& precision) {
    settings.precision = precision;
    const auto fit = tried(settings);
    if (!fit || !fit->fits) return std::nullopt;
    return fit->memory.bounded();
  }

  std::size_t least() const { return least_; }  // of the smallest batch, which did not fit; 0: not known

 private:
  static constexpr int64_t kMostParts = 256;  // that a recipe may have

  // nullopt: there is no time, or such a run cannot be made.
  std::optional<MemoryFit> tried(const FitSettings& settings) {
    if (now_ns() + static_cast<int64_t>(part_s_ * static_cast<double>(settings.accumulate) * 1e9) > until_ns_)
      return std::nullopt;
    auto fit = fit_with_(settings);
    if (!fit.ok()) return std::nullopt;
    return *std::move(fit);
  }

  const FitWith& fit_with_;
  double part_s_;
  int64_t until_ns_;
  std::size_t least_ = 0;
};

std::string offer(const SettingSearch::Found& found, const std::string& key) {
  return fmt::format("{} = {} ({}{})", key, found.setting, fitting_bytes(found.bytes),
                     found.whole ? "" : "; not all was tried");
}

std::string what_it_needs(const MemoryFit& least, const MemoryLimit& limit) {
  std::string text = fmt::format("the run needs {}, more than {} ({})", fitting_bytes(least.kept.bounded()),
                                 fitting_bytes(limit.bytes), limit.why);
  if (least.operators > 0)
    text += fmt::format("; computing {} again brings it to {}", counted(least.operators, "operator"),
                        fitting_bytes(least.memory.bounded()));
  return text;
}

std::size_t foretold_of(std::size_t free) {
  return static_cast<std::size_t>(kForetoldShare * static_cast<double>(free));
}

std::size_t free_on_host() {
  const std::size_t allowed = memory_budget();
  const std::size_t free =
      foretold_of(allowed != 0 ? allowed - std::min(allowed, memory_in_use()) : available_memory());
  return free != 0 ? free : std::numeric_limits<std::size_t>::max();  // it does not say
}

}  // namespace

MemoryLimit memory_limit(std::size_t budget, const runtime::Device& device) {
  MemoryLimit limit = device.host_visible() ? MemoryLimit{free_on_host(), "what the machine has free"}
                                            : MemoryLimit{foretold_of(device.available()),
                                                          fmt::format("what is free on {}", device.name())};
  if (budget != 0 && budget < limit.bytes) limit = {budget, "[train] memory"};
  return limit;
}

std::size_t room_for_samples(const TrainingMemory& memory, const MemoryLimit& limit) {
  const std::size_t all = memory.one_memory() ? limit.bytes : free_on_host();
  const std::size_t taken = memory.one_memory() ? memory.total() : memory.on_host();
  return all - std::min(all, taken) + memory.data;
}

Result<MemoryFit> fit_memory(const TrainingProgram& program, const runtime::Provider& provider,
                             const SessionOptions& options, std::size_t data_bytes,
                             const MemoryLimit& limit) {
  return Fitter(program, provider, options, data_bytes, limit).fit();
}

Error does_not_fit(const MemoryFit& least, const MemoryLimit& limit, const FitSettings& settings,
                   const std::string& narrower, const FitWith& fit_with, double planned_s, double seconds) {
  const std::string text = what_it_needs(least, limit);
  if (least.kept.fixed() >= limit.bytes)
    return invalid(
        fmt::format("{}. {} of it are weights, optimizer and the model, which no batch makes smaller: it "
                    "takes a smaller model, or more memory",
                    text, fitting_bytes(least.kept.fixed())));
  const double part_s = planned_s / static_cast<double>(settings.accumulate);
  SettingSearch of_parts(fit_with, part_s, seconds / 2);
  const auto fewest = of_parts.fewest_parts(settings);
  SettingSearch of_batches(fit_with, part_s, seconds / 2);
  const auto largest = of_batches.largest_batch(settings);
  std::vector<std::string> offers;
  if (fewest) offers.push_back(offer(*fewest, "[train] accumulate"));
  if (largest) offers.push_back(offer(*largest, "[train] batch"));
  if (!narrower.empty()) {
    SettingSearch of_types(fit_with, part_s, seconds / 2);
    if (const auto bytes = of_types.in_precision(settings, narrower))
      offers.push_back(fmt::format("[train] precision = \"{}\" ({})", narrower, fitting_bytes(*bytes)));
  }
  if (!offers.empty())
    return invalid(fmt::format("{}. It fits with {}", text, fmt::join(offers, ", or with ")));
  if (of_batches.least() > 0)
    return invalid(fmt::format("{}. A batch of {} needs {}: it takes a smaller model, or more memory", text,
                               settings.accumulate, fitting_bytes(of_batches.least())));
  return invalid(text +
                 ". What would fit was not found in the time; try a smaller [train] batch, or more of "
                 "[train] accumulate");
}

}  // namespace hone::lab

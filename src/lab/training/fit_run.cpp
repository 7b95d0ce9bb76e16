#include "lab/training/fit_run.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/clock.h"
#include "core/units.h"
#include "lab/prepared.h"
#include "lab/training/trainer.h"

namespace hone::lab {
namespace {

constexpr double kSearchSeconds = 10;  // for what would fit, or so many times what planning has taken:
constexpr double kSearchShare = 2.5;

std::size_t data_bytes(const model::Recipe& recipe, const TrainingSetup& setup, int64_t steps,
                       int64_t together) {
  return data_memory(setup.data, recipe, setup.data_bytes, setup.batches->fields(), steps, together);
}

// The same run with another batch. Of epochs it has other steps, which keep another number of samples.
Result<MemoryFit> fit_with(model::Recipe recipe, const TrainingSetup& setup,
                           const runtime::Provider& provider, SessionOptions options,
                           const MemoryLimit& limit, const FitSettings& settings) {
  const auto& [batch, accumulate, precision] = settings;
  recipe.train.batch = batch;
  recipe.train.accumulate = accumulate;
  recipe.train.precision = options.precision = precision;
  const int64_t steps = training_steps(recipe.train, setup.data.training->size() / batch);
  const int64_t together = setup.data.validation
                               ? evaluation_batch(setup.data.validation->size(), batch / accumulate)
                               : batch / accumulate;
  HONE_ASSIGN(const TrainingProgram program, make_program(recipe, setup.batches->fields(), steps, together));
  options.progress = {};
  return fit_memory(program, provider, options, data_bytes(recipe, setup, steps, together), limit);
}

// bf16 needs no scaled loss, which makes another step.
std::string narrower_than(const std::string& precision, const runtime::Provider& provider) {
  if (precision != "f32") return "";
  const graph::Capabilities& takes = provider.capabilities();
  for (const auto& [type, name] : {std::pair(DType::kBF16, "bf16"), std::pair(DType::kF16, "fp16")})
    if (takes.products.holds(type) || takes.converted_products.holds(type)) return name;
  return "";
}

}  // namespace

SessionOptions session_options_of(const model::RecipeTrain& train, runtime::TimingCache* cache) {
  SessionOptions session;
  session.autotune = !train.deterministic;
  session.without_passes.insert(train.without_passes.begin(), train.without_passes.end());
  session.precision = train.precision;
  session.cache = cache;
  return session;
}

Result<MemoryFit> fit_run(const model::Recipe& recipe, const TrainingSetup& setup,
                          const runtime::Provider& provider, const SessionOptions& options,
                          const MemoryLimit& limit) {
  HONE_ASSIGN(MemoryFit fit,
              fit_memory(setup.program, provider, options,
                         data_bytes(recipe, setup, setup.steps, setup.evaluated_together), limit));
  if (fit.fits) return fit;
  const double planned_s = static_cast<double>(now_ns() - setup.planning_ns) * 1e-9;
  return does_not_fit(
      fit, limit, {recipe.train.batch, recipe.train.accumulate, recipe.train.precision},
      narrower_than(recipe.train.precision, provider),
      [&](const FitSettings& settings) {
        return fit_with(recipe, setup, provider, options, limit, settings);
      },
      planned_s, std::max(kSearchSeconds, kSearchShare * planned_s));
}

Result<graph::Graph> step_that_trains(const model::Recipe& recipe, const TrainingSetup& setup,
                                      const TrainingProgram& program, const runtime::Provider& provider,
                                      const SessionOptions& options) {
  if (recipe.train.memory == 0) {
    HONE_ASSIGN(passes::PipelineResult step,
                optimised_step(program, provider, options.without_passes, options.precision));
    return std::move(step.graph);
  }
  const MemoryLimit limit = memory_limit(recipe.train.memory, *provider.device());
  HONE_ASSIGN(MemoryFit fit,
              fit_memory(program, provider, options,
                         data_bytes(recipe, setup, setup.steps, setup.evaluated_together), limit));
  if (!fit.fits)
    return invalid(fmt::format("the run would need {}, more than {} ({})",
                               format_bytes(static_cast<double>(fit.memory.bounded())),
                               format_bytes(static_cast<double>(limit.bytes)), limit.why));
  return std::move(fit.graphs.step);
}

}  // namespace hone::lab

// For tests: training runs that learn along a curve, with noise that depends on a seed.
#pragma once

#include <cmath>
#include <random>
#include <string>

#include "analyze/training/training_run.h"

namespace hone::analyze::fabricate {

struct TrainingOptions {
  uint64_t seed = 1;
  int64_t steps = 200;
  double rate = 1;  // of learning: the loss falls as exp(-rate · 4 · step / steps)
  double step_ms = 10;
  double wait_ms = 0.1;
  double best = 0.95;         // the accuracy that it tends to
  double seed_noise = 0.002;  // of that, by seed
};

inline TrainingRun training_run(const TrainingOptions& options = {}) {
  std::mt19937_64 random(options.seed);
  std::normal_distribution<double> normal;
  TrainingRun run;
  run.source = "runs/seed" + std::to_string(options.seed);
  run.name = "digits";
  run.end = RunEnd::kDone;
  run.steps = options.steps;
  run.batch = 32;
  run.batches_per_epoch = 50;
  run.parameters = 12'345;
  run.step_flops = 1e9;
  run.metric = "accuracy";
  run.limiting_stage = "decode";
  run.command = "hone train digits.toml";
  run.recipe = {
      {"model.zoo", "\"digits_cnn\""}, {"train.batch", "32"}, {"train.seed", std::to_string(options.seed)}};
  run.recipe_text = "[model]\nzoo = 'digits_cnn'\n";
  run.environment.machine = "a machine of round numbers";
  run.environment.device = "cpu";
  run.environment.threads = 2;
  run.environment.when = "2026-03-14T09:26:53+01:00";
  run.memory = {{"weights", 49'380, "kept from step to step"},
                {"activations, gradients and scratch", 4e6, ""}};
  const double best = options.best + options.seed_noise * normal(random);
  for (int64_t step = 1; step <= options.steps; ++step) {
    const double done = static_cast<double>(step) / static_cast<double>(options.steps);
    const double left = std::exp(-4 * options.rate * done);
    run.log.push_back({step, 0.1 + 2.2 * left + 0.02 * normal(random), 1e-3 * (1 - done),
                       0.5 + 0.1 * std::abs(normal(random)), options.step_ms * (1 + 0.01 * normal(random)),
                       options.wait_ms * std::abs(normal(random))});
    run.seconds += run.log.back().step_ms * 1e-3;
    if (step % 20 == 0) run.evaluations.push_back({step, 0.12 + 2.2 * left, best * (1 - 0.9 * left)});
  }
  return run;
}

}  // namespace hone::analyze::fabricate

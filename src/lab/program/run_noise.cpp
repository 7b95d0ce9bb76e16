#include "lab/program/run_noise.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace hone::lab {
namespace {

constexpr double kLeastNoise = 0.005;

}  // namespace

void RunNoise::add(const std::vector<std::string>& changes, double step_ms) {
  logs_[{phase_, changes}].push_back(std::log(step_ms));
}

std::optional<double> RunNoise::measured() const {
  double squares = 0, freedom = 0;
  for (const auto& [variant, logs] : logs_) {
    const double mean = std::accumulate(logs.begin(), logs.end(), 0.0) / static_cast<double>(logs.size());
    for (const double each : logs) squares += (each - mean) * (each - mean);
    freedom += static_cast<double>(logs.size()) - 1;
  }
  return freedom > 0 ? std::optional(std::sqrt(squares / freedom)) : std::nullopt;
}

double RunNoise::value() const { return std::max(kLeastNoise, measured().value_or(0)); }

}  // namespace hone::lab

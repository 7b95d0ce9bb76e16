#include "lab/program/computed.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

namespace hone::lab {
namespace {

// What rounding may change where two unchanged runs agree to the last bit.
double tolerance(Effect effect) {
  switch (effect) {
    case Effect::kNone:
      return 2e-3;
    case Effect::kRounding:
      return 2e-2;
    case Effect::kOrder:
    case Effect::kTraining:  // which nobody compares
      return 5e-2;
  }
  return 0;
}
// How far beyond the distance of two unchanged runs another run may lie.
constexpr double kBeyondUnchanged = 3;

double mean(const std::vector<double>& values, std::size_t count) {
  return std::accumulate(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count), 0.0) /
         static_cast<double>(count);
}

double distance_of_losses(const std::vector<double>& a, const std::vector<double>& b, bool by_mean) {
  const std::size_t count = std::min(a.size(), b.size());
  double scale = 0, largest = 0;
  for (std::size_t i = 0; i < count; ++i) scale += std::abs(a[i]) / static_cast<double>(count);
  if (by_mean) {
    largest = std::abs(mean(a, count) - mean(b, count));
  } else {
    for (std::size_t i = 0; i < count; ++i) {
      if (!std::isfinite(b[i])) return INFINITY;
      largest = std::max(largest, std::abs(a[i] - b[i]));
    }
  }
  return scale > 0 ? largest / scale : largest;
}

double distance_of_outputs(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return INFINITY;
  double square = 0, all = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    square += (a[i] - b[i]) * (a[i] - b[i]);
    all += a[i] * a[i];
  }
  if (!std::isfinite(square)) return INFINITY;
  return all > 0 ? std::sqrt(square / all) : std::sqrt(square);
}

struct Distance {
  double value = 0;
  int steps = 0;
};

Distance distance(const Computed& a, const Computed& b, bool by_mean) {
  Distance found;
  if (!a.losses.empty()) {
    found.steps = static_cast<int>(std::min(a.losses.size(), b.losses.size()));
    if (found.steps > 0) found.value = distance_of_losses(a.losses, b.losses, by_mean);
    return found;
  }
  found.steps = static_cast<int>(std::min(a.outputs.size(), b.outputs.size()));
  for (int i = 0; i < found.steps; ++i)
    found.value = std::max(found.value, distance_of_outputs(a.outputs[static_cast<std::size_t>(i)],
                                                            b.outputs[static_cast<std::size_t>(i)]));
  return found;
}

}  // namespace

SameNumbers compare_numbers(const Computed& a, const Computed& again, const Computed& changed,
                            Effect effect) {
  const bool by_mean = effect == Effect::kOrder;
  SameNumbers result;
  const Distance unchanged = distance(a, again, by_mean), to_changed = distance(a, changed, by_mean);
  result.steps = to_changed.steps;
  result.difference = to_changed.value;
  result.allowed = std::max(tolerance(effect), kBeyondUnchanged * unchanged.value);
  const bool losses = !a.losses.empty();
  if (result.steps == 0) {
    result.sentence = a.empty() ? "neither losses nor outputs were seen in the unchanged program"
                                : "neither losses nor outputs were seen with the change";
    return result;
  }
  result.same = result.difference <= result.allowed;
  result.sentence = fmt::format(
      "{} of {} steps differ by {:.2g} % at most; two unchanged runs by {:.2g} %, {:.2g} % are allowed",
      losses ? (by_mean ? "the means of the losses" : "losses") : "outputs", result.steps,
      100 * result.difference, 100 * unchanged.value, 100 * result.allowed);
  return result;
}

}  // namespace hone::lab

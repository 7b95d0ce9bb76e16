#include "lab/training/non_finite.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "lab/training/checkpoint.h"

namespace hone::lab {
namespace {

// "'dense.weight' from -3.1e+20 to 2.2e+20, 12 of 640 not finite" of the weight with the largest number.
std::string largest_weight(const TrainingProgram& program, const model::NamedTensors& states) {
  std::string text;
  double largest = -1;
  for (const auto& [name, tensor] : states) {
    const bool is_parameter = std::any_of(program.model.parameters.begin(), program.model.parameters.end(),
                                          [&, n = name](const graph::NamedTensor& p) { return p.name == n; });
    if (!is_parameter || tensor.size() == 0) continue;
    double low = tensor.at(0), high = tensor.at(0);
    int64_t bad = 0;
    for (int64_t i = 0; i < tensor.size(); ++i) {
      const double value = tensor.at(i);
      bad += std::isfinite(value) ? 0 : 1;
      low = std::fmin(low, value);
      high = std::fmax(high, value);
    }
    const double size = bad > 0 ? HUGE_VAL : std::max(-low, high);
    if (size <= largest) continue;
    largest = size;
    text =
        fmt::format("'{}' from {:.3g} to {:.3g}, {} of {} not finite", name, low, high, bad, tensor.size());
  }
  return text;
}

// The states before `step`.
Status replay(Session& session, data::Batches& batches, const data::Dataset& data,
              const std::filesystem::path& run, int64_t step) {
  std::vector<std::string> damaged;
  data::Place place;
  int64_t done = 0;
  if (const auto checkpoint = read_newest_checkpoint(run, damaged); checkpoint && checkpoint->step < step) {
    HONE_CHECK(session.restore(checkpoint->states));
    place = checkpoint->place;
    done = checkpoint->step;
  }
  HONE_CHECK(batches.seek(place));
  for (; done + 1 < step; ++done) {
    HONE_ASSIGN(const data::Batch batch, batches.next());
    HONE_CHECK(session.write_batch(batch, data));
    HONE_CHECK(session.step());
  }
  return {};
}

}  // namespace

std::string describe_non_finite(double loss, double gradient_norm) {
  const double bad = std::isfinite(loss) ? gradient_norm : loss;
  return fmt::format("{} is {}", std::isfinite(loss) ? "the gradient's norm" : "the loss",
                     std::isnan(bad) ? "NaN" : "infinite");
}

std::string find_non_finite(const TrainingProgram& program, const SessionGraphs& graphs,
                            const runtime::Provider& provider, bool autotune, data::Batches& batches,
                            const data::Dataset& data, const std::filesystem::path& run, int64_t step) {
  const auto search = [&]() -> Result<std::string> {
    SessionOptions options;
    options.autotune = autotune;
    options.graphs = &graphs;
    HONE_ASSIGN(auto session, Session::make(program, provider, options));
    HONE_CHECK(replay(*session, batches, data, run, step));
    HONE_ASSIGN(const model::NamedTensors before, session->states());
    const std::string weights = "the largest weight before it: " + largest_weight(program, before);
    session.reset();  // there may be memory for one of them
    options.check_numbers = true;
    HONE_ASSIGN(const auto watched, Session::make(program, provider, options));
    HONE_CHECK(watched->restore(before));
    HONE_ASSIGN(const data::Batch batch, batches.next());
    HONE_CHECK(watched->write_batch(batch, data));
    const auto numbers = watched->step();
    if (!numbers.ok()) return numbers.error().message + "; " + weights;
    return "no operator made it of finite numbers: weights or data had it before; " + weights;
  };
  const auto found = search();
  return found.ok() ? *found : "the step could not be repeated: " + found.error().message;
}

}  // namespace hone::lab

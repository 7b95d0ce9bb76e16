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

// "x/7.tif: its image holds NaN", of the first sample that holds NaN or Inf; empty: none does.
std::string sample_not_finite(const TrainingProgram& program, const data::Batch& batch,
                              const data::Dataset& data) {
  for (std::size_t f = 0; f < batch.tensors.size(); ++f) {
    const Tensor& tensor = batch.tensors[f];
    if (tensor.dtype() != DType::kF32 || batch.samples.empty()) continue;
    const int64_t each = tensor.size() / static_cast<int64_t>(batch.samples.size());
    for (int64_t i = 0; i < tensor.size(); ++i)
      if (const double value = tensor.at(i); !std::isfinite(value))
        return fmt::format("{}: its {} holds {}",
                           data.name_of(batch.samples[static_cast<std::size_t>(i / each)]),
                           program.options.fields[f].name, std::isnan(value) ? "NaN" : "Inf");
  }
  return {};
}

}  // namespace

std::string describe_non_finite(double loss, double gradient_norm) {
  const double bad = std::isfinite(loss) ? gradient_norm : loss;
  return fmt::format("{} is {}", std::isfinite(loss) ? "the gradient's norm" : "the loss",
                     std::isnan(bad) ? "NaN" : "infinite");
}

NonFinite find_non_finite(const TrainingProgram& program, const SessionGraphs& graphs,
                          const runtime::Provider& provider, bool autotune, data::Batches& batches,
                          const data::Dataset& data, const std::filesystem::path& run, int64_t step) {
  const auto search = [&]() -> Result<NonFinite> {
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
    if (std::string sample = sample_not_finite(program, batch, data); !sample.empty())
      return NonFinite{sample + "; mend the sample or take it out", true};
    HONE_CHECK(watched->write_batch(batch, data));
    const auto numbers = watched->step();
    if (!numbers.ok()) return NonFinite{numbers.error().message + "; " + weights};
    return NonFinite{"no operator made it of finite numbers: the weights had it before; " + weights};
  };
  const auto found = search();
  return found.ok() ? *found : NonFinite{"the step could not be repeated: " + found.error().message};
}

}  // namespace hone::lab

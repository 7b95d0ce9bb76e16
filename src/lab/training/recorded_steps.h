// The steps of a training run that are recorded as a trace: which they are, and what is made of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/result.h"
#include "core/roofs.h"
#include "data/stages.h"
#include "lab/experiment/profile.h"
#include "lab/training/session.h"
#include "model/recipe/recipe.h"
#include "runtime/provider.h"

namespace hone::lab {

// Of a run, or of the part that goes on behind step `begun_at`.
struct RunSpan {
  int64_t begun_at = 0;
  int64_t steps = 0;
  int64_t batches_per_epoch = 0;
};

// Seven steps, once three have warmed the run up; anew behind the first epoch, where the run gets so far within 500 steps.
class RecordedSteps {
 public:
  // All that is given outlives it.
  RecordedSteps(Session& session, const runtime::Provider& provider, const model::Recipe& recipe,
                const Roofs& roofs, const RunSpan& run);

  // The region of a scope in which a batch is written (core/scope.h).
  static constexpr auto kWriteRegion = static_cast<uint32_t>(data::kInputRegions.size());

  // Whether the step behind so many is recorded. Such steps run alone, and are steps like any other.
  bool records(int64_t step) const;
  StepRecorder& recorder_of(int64_t step);
  int count() const { return recorder_->steps(); }

  Result<Profile> profile(data::Stage limiting) const;
  // Operators that ran by reference, ms a step, the slowest first.
  std::vector<std::pair<std::string, double>> reference_ms(const Profile& profile) const;

 private:
  void start();

  Session& session_;
  const runtime::Provider& provider_;
  const model::Recipe& recipe_;
  const Roofs& roofs_;
  RunSpan run_;
  int64_t typical_step_;  // behind which steps are like most
  std::optional<StepRecorder> recorder_;
};

}  // namespace hone::lab

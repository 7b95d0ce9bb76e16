// Runs the steps of a training session on the loader's batches, so that a device of its own is never without work: the next
// batch is brought to it while it runs a step, and the next step is given before the numbers of the one before are looked at.
// When a step must not be given ahead, because somebody wants the state before it, is its caller's to know.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>

#include "core/result.h"
#include "data/batches.h"
#include "data/dataset.h"
#include "lab/experiment/profile.h"
#include "lab/training/session.h"

namespace hone::lab {

struct DoneStep {
  StepNumbers numbers;
  double wait_s = 0;  // for its batch, while the device had nothing to do
  double step_s = 0;  // since it was given, or since the step before it was done, if that is later
};

// Not thread-safe. What it is given outlives it.
class StepRunner {
 public:
  // A scope's region of this number is where a batch is written (core/scope.h).
  StepRunner(Session& session, data::Batches& batches, const data::Dataset& data, uint32_t write_region)
      : session_(session), batches_(batches), data_(data), write_region_(write_region) {}

  // Steps that can be given and not taken.
  std::size_t most_given() const { return session_.can_give_ahead() ? runtime::Plan::kMostGiven : 1; }
  std::size_t given() const { return given_.size(); }  // and not taken
  // Reads and checks the batch of the first step, which give() then takes. For who writes nothing before it fits.
  Status look_at_first();
  // Gives the next step. `last`: there is none behind it, which would need a batch. What goes wrong with the batch behind it
  // is the error of the next call: this step may make the last good state.
  Status give(bool last);
  // The same, recorded, and over when this returns.
  Status give_recorded(StepRecorder& recorder, bool last);
  // The first that was given and not taken, once it is over.
  Result<DoneStep> take();
  // Of the batch of the step that would be given next.
  data::Place place() const { return ahead_ ? ahead_->place : batches_.place(); }

 private:
  struct Ahead {
    data::Place place;
    double wait_s = 0;  // for it
    int64_t done_ns = 0;
    Status readied = {};
  };
  struct Given {
    int64_t begun_ns = 0;
    double wait_s = 0;
    std::optional<StepNumbers> numbers = {};  // of a step that is over
  };

  Result<data::Batch> next_batch(double& wait_s);
  Status take_batch(double& wait_s);
  Status ready_next(bool last);
  void forget_wait(int64_t device_done_ns);

  Session& session_;
  data::Batches& batches_;
  const data::Dataset& data_;
  uint32_t write_region_;
  std::optional<Ahead> ahead_;  // the next step's batch, on its way to a device with memory of its own
  std::deque<Given> given_;
  int64_t last_done_ns_ = 0;
};

}  // namespace hone::lab

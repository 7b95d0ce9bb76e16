#include "lab/training/step_runner.h"

#include <algorithm>
#include <utility>

#include "core/clock.h"
#include "core/scope.h"

namespace hone::lab {
namespace {

constexpr int64_t kDeviceWasDone = 50'000;  // ns: who waits longer for the device's run waits for its work

double seconds_between(int64_t from_ns, int64_t to_ns) { return static_cast<double>(to_ns - from_ns) * 1e-9; }

}  // namespace

Result<data::Batch> StepRunner::next_batch(double& wait_s) {
  const int64_t begin_ns = now_ns();
  auto batch = batches_.next();
  wait_s = seconds_between(begin_ns, now_ns());
  return batch;
}

Status StepRunner::take_batch(double& wait_s) {
  if (const auto ahead = std::exchange(ahead_, std::nullopt)) {
    wait_s = ahead->wait_s;
    HONE_CHECK(ahead->readied);
    const Scope write(ScopeListener::Kind::kRegion, write_region_);
    return session_.take_batch();
  }
  HONE_ASSIGN(const data::Batch batch, next_batch(wait_s));
  const Scope write(ScopeListener::Kind::kRegion, write_region_);
  return session_.write_batch(batch, data_);
}

Status StepRunner::ready_next(bool last) {
  if (last) return {};
  Ahead ahead{.place = batches_.place()};
  auto batch = next_batch(ahead.wait_s);
  if (batch.ok()) {
    const Scope write(ScopeListener::Kind::kRegion, write_region_);
    ahead.readied = session_.ready_batch(*batch, data_);
  } else {
    ahead.readied = batch.error();
  }
  ahead.done_ns = now_ns();
  ahead_ = std::move(ahead);
  return {};
}

Status StepRunner::look_at_first() {
  HONE_CHECK(ready_next(false));
  ahead_->wait_s = 0;  // no step has begun
  return ahead_->readied;
}

// What the device was busy for anyway was no waiting.
void StepRunner::forget_wait(int64_t device_done_ns) {
  if (ahead_ && device_done_ns - ahead_->done_ns > kDeviceWasDone) ahead_->wait_s = 0;
}

Status StepRunner::give(bool last) {
  Given step{.begun_ns = now_ns()};
  HONE_CHECK(take_batch(step.wait_s));
  if (session_.can_give_ahead()) {
    HONE_CHECK(session_.give_step());
    HONE_CHECK(ready_next(last));
  } else {
    HONE_ASSIGN(step.numbers, session_.step([&] { return ready_next(last); }));
    forget_wait(now_ns());
  }
  given_.push_back(std::move(step));
  return {};
}

Status StepRunner::give_recorded(StepRecorder& recorder, bool last) {
  Given step{.begun_ns = now_ns()};
  HONE_CHECK(recorder.record(
      0, [&] { return take_batch(step.wait_s); }, [&] { return ready_next(last); }));
  forget_wait(session_.plan().marked_run().ended_ns);
  HONE_ASSIGN(step.numbers, session_.numbers());
  given_.push_back(std::move(step));
  return {};
}

Result<DoneStep> StepRunner::take() {
  const Given step = given_.front();
  given_.pop_front();
  DoneStep done{.numbers = {}, .wait_s = step.wait_s};
  if (step.numbers) {
    done.numbers = *step.numbers;
  } else {
    auto taken = session_.take_step();
    if (!taken.ok()) {
      given_.clear();  // they are over
      return taken.error();
    }
    done.numbers = taken->numbers;
    if (taken->idle_s) done.wait_s = std::min(done.wait_s, std::max(*taken->idle_s, 0.0));
    if (given_.empty()) forget_wait(now_ns());
  }
  const int64_t now = now_ns();
  done.step_s = seconds_between(std::max(step.begun_ns, last_done_ns_), now);
  last_done_ns_ = now;
  return done;
}

}  // namespace hone::lab

// Runs of a plan that are given before earlier ones have been looked at. How a plan runs otherwise: plan.cpp.
#include <cstring>

#include <fmt/core.h>

#include "runtime/plan_state.h"

namespace hone::runtime {

bool Plan::State::can_give_ahead() const {
  return !queue->immediate() && !check_numbers && !is_listened_to() && parts.size() == 1 &&
         parts.front().segment != nullptr;
}

// What is read behind a run has left the device's queue before the next run writes over it.
Status Plan::State::give(std::span<const std::size_t> numbers) {
  if (!can_give_ahead())
    return invalid("this plan's runs cannot be given ahead: its host is needed for each");
  if (runs_given - runs_taken >= kMostGiven)
    return invalid(fmt::format("{} runs are given and not taken: take one first", kMostGiven));
  GivenRun& run = given_run(runs_given);
  std::size_t bytes = 0;
  for (const std::size_t output : numbers)
    bytes += placed_bytes(graph.type(graph.outputs()[output]).storage_bytes());
  if (run.begun == nullptr) {
    HONE_ASSIGN(run.begun, queue->make_event());
    HONE_ASSIGN(run.ended, queue->make_event());
  }
  if (run.staging.bytes() < bytes) {
    HONE_ASSIGN(run.staging, device->allocate_staging(bytes));
  }
  run.outputs.assign(numbers.begin(), numbers.end());
  run.is_behind_another = runs_given > runs_taken;
  HONE_CHECK(queue->record(*run.begun));
  HONE_CHECK(start());
  std::size_t at = 0;
  for (const std::size_t output : numbers) {
    const std::size_t each = graph.type(graph.outputs()[output]).storage_bytes();
    HONE_CHECK(queue->copy_out(run.staging.address() + at, output_at[output], each));
    at += placed_bytes(each);
  }
  HONE_CHECK(queue->record(*run.ended));
  ++runs_given;
  return {};
}

Result<TakenRun> Plan::State::take() {
  if (runs_taken == runs_given) return invalid("no run was given that is to be taken");
  auto taken = outcome_of(runs_taken);
  if (taken.ok())
    ++runs_taken;
  else
    runs_taken = runs_given;
  return taken;
}

Result<TakenRun> Plan::State::outcome_of(std::size_t number) {
  const GivenRun& run = given_run(number);
  if (const Status over = queue->wait(*run.ended); !over.ok()) {
    (void)queue->wait();  // for those behind it
    return over.error();
  }
  HONE_CHECK(tell_fault());
  TakenRun taken;
  std::size_t at = 0;
  for (const std::size_t output : run.outputs) {
    const graph::TensorType& type = graph.type(graph.outputs()[output]);
    HONE_ASSIGN(Tensor tensor, Tensor::try_make(type.dtype, type.shape()));
    if (tensor.bytes() > 0) std::memcpy(tensor.data(), run.staging.address() + at, tensor.bytes());
    at += placed_bytes(tensor.bytes());
    taken.outputs.push_back(std::move(tensor));
  }
  if (run.is_behind_another) {
    HONE_ASSIGN(taken.idle_us, queue->microseconds(*given_run(number - 1).ended, *run.begun));
  }
  return taken;
}

}  // namespace hone::runtime

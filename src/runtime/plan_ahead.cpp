// Runs of a plan that are given before earlier ones have been looked at: steps over what was written, and requests, which
// bring inputs of their own. How a plan runs otherwise: plan.cpp.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include <fmt/core.h>

#include "runtime/interpreter.h"
#include "runtime/plan_state.h"

namespace hone::runtime {

using graph::ValueId;

bool Plan::State::can_give_ahead() const {
  return !queue->immediate() && !check_numbers && !is_listened_to() && parts.size() == 1 &&
         parts.front().segment != nullptr;
}

// Steps leave the word of a fault until somebody has been told, requests each have their own: they do not mix.
Status Plan::State::check_may_give(bool request) const {
  const std::size_t untaken = runs_given - runs_taken;
  if (untaken == 0) return {};
  if (given_runs[runs_taken % given_runs.size()].is_request != request)
    return invalid(fmt::format("{} {} given and not taken: take {} before {}", untaken,
                               request ? "runs over what was written are" : "requests are",
                               untaken == 1 ? "it" : "them", request ? "a request" : "another run"));
  const std::size_t most = request ? kMostRequests : kMostGiven;
  if (untaken < most) return {};
  return invalid(
      fmt::format("{} {} are given and not taken: take one first", most, request ? "requests" : "runs"));
}

// What is read behind a run has left the device's queue before the next run writes over it.
Status Plan::State::give(std::span<const std::size_t> numbers) {
  if (!can_give_ahead())
    return invalid("this plan's runs cannot be given ahead: its host is needed for each");
  HONE_CHECK(check_may_give(/*request=*/false));
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
  run.is_request = false;
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

// --- requests ---

// Events order three queues: a place is written again only behind the copy that reads it.
Status Plan::State::give(std::span<const Tensor> inputs_given) {
  HONE_CHECK(check_inputs(graph, inputs_given));
  HONE_CHECK(check_may_give(/*request=*/true));
  GivenRun& run = given_run(runs_given);
  run.is_request = true;
  run.is_behind_another = runs_given > runs_taken && !given_run(runs_given - 1).done;
  run.done.reset();
  run.outputs.resize(graph.outputs().size());
  std::iota(run.outputs.begin(), run.outputs.end(), std::size_t{0});
  if (!is_pipelined()) {
    run.done = run_request(inputs_given);
  } else if (const Status given = give_request(inputs_given); !given.ok()) {
    (void)wait_for_all();  // part of it may be on its way
    return given.error();
  }
  ++runs_given;
  return {};
}

Status Plan::State::give_request(std::span<const Tensor> inputs_given) {
  const RequestLayout& layout = *request_layout;
  const RequestPlaces::PageLocked& page_locked = requests->page_locked_of(runs_given);
  for (std::size_t i = 0; i < layout.inputs.size(); ++i) {
    HONE_CHECK(check_bytes(graph.value(graph.inputs()[i]), inputs_given[i].bytes()));
    if (inputs_given[i].bytes() > 0)
      std::memcpy(page_locked.inputs.address() + layout.inputs[i], inputs_given[i].data(),
                  inputs_given[i].bytes());
  }
  GivenRun& run = given_run(runs_given);
  Queue &in = *requests->in, &out = *requests->out;
  HONE_CHECK(in.after(*requests->inputs_read));
  HONE_CHECK(in.copy_in(requests->inputs.address(), page_locked.inputs.address(), layout.input_bytes));
  HONE_CHECK(in.record(*run.landed));

  HONE_CHECK(queue->after(*run.landed));
  HONE_CHECK(queue->record(*run.begun));
  for (std::size_t i = 0; i < layout.inputs.size(); ++i)
    HONE_CHECK(put_request_in(i, requests->inputs.address() + layout.inputs[i]));
  HONE_CHECK(queue->record(*requests->inputs_read));
  HONE_CHECK(start());
  if (requests->outputs_left != nullptr) HONE_CHECK(queue->after(*requests->outputs_left));
  for (std::size_t i = 0; i < layout.outputs.size(); ++i)
    HONE_CHECK(put_request_out(i, requests->outputs.address() + layout.outputs[i]));
  // The next request begins without a fault.
  HONE_CHECK(queue->copy(requests->outputs.address() + layout.fault, fault.address(), sizeof(FaultWord)));
  HONE_CHECK(queue->fill(fault.address(), std::byte{0}, sizeof(FaultWord)));
  HONE_CHECK(queue->record(*run.ended));

  HONE_CHECK(out.after(*run.ended));
  HONE_CHECK(out.copy_out(page_locked.outputs.address(), requests->outputs.address(), layout.output_bytes));
  HONE_CHECK(out.record(*run.left));
  requests->outputs_left = run.left.get();
  return {};
}

// Values in the host's memory are page-locked, so that these copies wait for nobody.
Status Plan::State::put_request_in(std::size_t input, const std::byte* from) {
  const ValueId id = graph.inputs()[input];
  const graph::TensorType& type = graph.type(id);
  return type.device.is_host() ? queue->copy_out(writable[id.index], from, type.storage_bytes())
                               : queue->copy(writable[id.index], from, type.storage_bytes());
}

Status Plan::State::put_request_out(std::size_t output, std::byte* to) {
  const graph::TensorType& type = graph.type(graph.outputs()[output]);
  return type.device.is_host() ? queue->copy_in(to, output_at[output], type.storage_bytes())
                               : queue->copy(to, output_at[output], type.storage_bytes());
}

Result<std::vector<Tensor>> Plan::State::run_request(std::span<const Tensor> inputs_given) {
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) HONE_CHECK(write(i, inputs_given[i]));
  HONE_CHECK(run({}));
  return read_all();
}

// --- taking ---

Result<TakenRun> Plan::State::take() {
  if (runs_taken == runs_given) return invalid("no run was given that is to be taken");
  const std::size_t number = runs_taken;
  if (given_run(number).is_request) {
    ++runs_taken;
    return outcome_of_request(number);
  }
  auto taken = outcome_of(number);
  if (taken.ok())
    ++runs_taken;
  else
    runs_taken = runs_given;
  return taken;
}

Result<std::vector<Tensor>> Plan::State::tensors_at(std::span<const std::size_t> numbers,
                                                    const std::byte* from) const {
  std::vector<Tensor> tensors;
  for (const std::size_t output : numbers) {
    const graph::TensorType& type = graph.type(graph.outputs()[output]);
    HONE_ASSIGN(Tensor tensor, Tensor::try_make(type.dtype, type.shape()));
    if (tensor.bytes() > 0) std::memcpy(tensor.data(), from, tensor.bytes());
    from += placed_bytes(tensor.bytes());
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

Status Plan::State::add_idle(std::size_t number, TakenRun& taken) {
  const GivenRun& run = given_run(number);
  if (!run.is_behind_another) return {};
  HONE_ASSIGN(taken.idle_us, queue->microseconds(*given_run(number - 1).ended, *run.begun));
  return {};
}

Result<TakenRun> Plan::State::outcome_of(std::size_t number) {
  const GivenRun& run = given_run(number);
  if (const Status over = queue->wait(*run.ended); !over.ok()) {
    (void)wait_for_all();  // for those behind it
    return over.error();
  }
  HONE_CHECK(tell_fault());
  TakenRun taken;
  HONE_ASSIGN(taken.outputs, tensors_at(run.outputs, run.staging.address()));
  HONE_CHECK(add_idle(number, taken));
  return taken;
}

Result<TakenRun> Plan::State::outcome_of_request(std::size_t number) {
  GivenRun& run = given_run(number);
  TakenRun taken;
  if (run.done) {
    HONE_ASSIGN(taken.outputs, *std::exchange(run.done, std::nullopt));
    return taken;
  }
  if (const Status over = requests->out->wait(*run.left); !over.ok()) {
    (void)wait_for_all();
    runs_taken = runs_given;
    return over.error();
  }
  const std::byte* const page_locked = requests->page_locked_of(number).outputs.address();
  FaultWord found = 0;
  std::memcpy(&found, page_locked + request_layout->fault, sizeof found);
  if (found != 0) {
    const std::size_t step = step_of_fault(found);
    return failed(step, kernels[step]->fault(code_of_fault(found)));
  }
  HONE_ASSIGN(taken.outputs, tensors_at(run.outputs, page_locked));
  HONE_CHECK(add_idle(number, taken));
  return taken;
}

Status Plan::State::wait_for_all() {
  Status first;
  for (Queue* const each :
       {queue.get(), requests ? requests->in.get() : nullptr, requests ? requests->out.get() : nullptr}) {
    if (each == nullptr) continue;
    if (Status waited = each->wait(); !waited.ok() && first.ok()) first = std::move(waited);
  }
  return first;
}

// --- making ---

void Plan::State::lay_out_requests(const PlanOptions& options) {
  const auto is_carried = [this](ValueId value) {
    return graph::has_place(graph.type(value)) && graph.type(value).layout == Layout::kPlain;
  };
  if (!options.pipelined || options.check_numbers || device->host_visible() || parts.size() != 1 ||
      parts.front().segment == nullptr || !std::ranges::all_of(graph.inputs(), is_carried) ||
      !std::ranges::all_of(graph.outputs(), is_carried))
    return;
  request_layout.emplace(graph);
}

Status Plan::State::make_request_places() {
  if (!request_layout) return {};
  HONE_ASSIGN(requests, RequestPlaces::make(*request_layout, kMostRequests, *device));
  for (GivenRun& run : given_runs) {
    HONE_ASSIGN(run.begun, queue->make_event());
    HONE_ASSIGN(run.ended, queue->make_event());
    HONE_ASSIGN(run.landed, requests->in->make_event());
    HONE_ASSIGN(run.left, requests->out->make_event());
  }
  return {};
}

}  // namespace hone::runtime

// How a plan runs. How it is made: plan_make.cpp.
#include "runtime/plan.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include <fmt/core.h>

#include "core/clock.h"
#include "core/memory_budget.h"
#include "core/scope.h"
#include "runtime/interpreter.h"
#include "runtime/plan_state.h"

namespace hone::runtime {

using graph::Graph;
using graph::Node;
using graph::ValueId;

namespace {

// Whether `tensor` is of `type`, with any extent where the type leaves it open.
bool is_of(const Tensor& tensor, const graph::TensorType& type) {
  if (tensor.dtype() != type.dtype) return false;
  if (!type.has_rank()) return true;
  return std::equal(
      type.dims->begin(), type.dims->end(), tensor.shape().begin(), tensor.shape().end(),
      [](const graph::Dim& dim, int64_t extent) { return !dim.known() || dim.extent() == extent; });
}

Result<Tensor> copy_of(const Tensor& tensor) {
  try {
    return tensor.clone();
  } catch (const OverMemoryBudget& error) {
    return invalid(error.what());
  }
}

}  // namespace

Error Plan::State::failed(std::size_t step, const Error& error) const {
  return error.within(
      fmt::format("node '{}' ({}, {})", steps[step].name, steps[step].op, steps[step].implementation));
}

Result<bool> Plan::State::finite(ValueId id, Queue& on) const {
  if (!id.valid() || graph.type(id).device.is_host() || graph.type(id).dtype != DType::kF32 ||
      addresses[id.index] == nullptr)
    return true;
  std::vector<float> data(graph.type(id).storage_bytes() / sizeof(float));
  HONE_CHECK(on.copy_out(data.data(), addresses[id.index], data.size() * sizeof(float)));
  HONE_CHECK(on.wait());
  return std::all_of(data.begin(), data.end(), [](float x) { return std::isfinite(x); });
}

Result<bool> Plan::State::finite(std::span<const ValueId> values, Queue& on) const {
  for (ValueId value : values) {
    HONE_ASSIGN(const bool good, finite(value, on));
    if (!good) return false;
  }
  return true;
}

// Inputs are looked at first: the kernel may write over them.
Status Plan::State::enqueue_watched(std::size_t step, Queue& on) {
  const Node& node = graph.node(steps[step].node);
  const auto enqueue_marked = [&] {
    if (!marks) return enqueue_step(step, on);
    const QueueScope scope(on, ScopeListener::Kind::kOperator, static_cast<uint32_t>(step));
    return enqueue_step(step, on);
  };
  if (!check_numbers) return enqueue_marked();
  HONE_ASSIGN(const bool good_before, finite(node.inputs, on));
  HONE_CHECK(enqueue_marked());
  HONE_ASSIGN(const bool good_after, finite(node.outputs, on));
  if (good_before && !good_after) return failed(step, invalid("gives NaN or Inf from finite inputs"));
  return {};
}

inline Status Plan::State::enqueue_step(std::size_t step, Queue& on) {
  if (Status status = kernels[step]->enqueue(arguments[step], on); !status.ok()) [[unlikely]]
    return failed(step, status.error());
  return {};
}

void Plan::State::enqueue_lane(RunningLane& lane, Queue& on) {
  for (std::size_t step : lane.steps) {
    if (lane_failed.load(std::memory_order_relaxed)) [[unlikely]]
      return;
    lane.status = watched ? enqueue_watched(step, on) : enqueue_step(step, on);
    if (lane.status.ok()) continue;
    lane_failed.store(true, std::memory_order_relaxed);
    return;
  }
}

Status Plan::State::enqueue_lanes(Stretch& stretch, Queue& on) {
  struct Work {
    State& state;
    Stretch& stretch;
  } work{*this, stretch};
  lane_failed.store(false, std::memory_order_relaxed);
  HONE_CHECK(on.fork(
      static_cast<int>(stretch.lanes.size()),
      [](void* context, int lane, Queue& lane_queue) {
        const Work& mine = *static_cast<Work*>(context);
        mine.state.enqueue_lane(mine.stretch.lanes[static_cast<std::size_t>(lane)], lane_queue);
      },
      &work));
  if (!lane_failed.load(std::memory_order_relaxed)) [[likely]]
    return {};
  Status first;
  for (RunningLane& lane : stretch.lanes) {
    if (first.ok() && !lane.status.ok()) first = std::move(lane.status);
    lane.status = {};
  }
  return first;
}

Status Plan::State::enqueue_moves(Queue& on) const {
  for (std::size_t i = 0; i < moves.saved.size(); ++i) {
    const ValueId output = graph.outputs()[moves.saved[i]];
    HONE_CHECK(on.copy(saved_at[i], addresses[output.index], graph.type(output).storage_bytes()));
  }
  for (const graph::StatePair& pair : moves.copied) {
    const ValueId state = graph.state_input(pair);
    HONE_CHECK(on.copy(writable[state.index], output_at[pair.output], graph.type(state).storage_bytes()));
  }
  return {};
}

Status Plan::State::enqueue_stretch(Stretch& stretch, Queue& on) {
  if (!stretch.lanes.empty()) return enqueue_lanes(stretch, on);
  if (watched) [[unlikely]] {
    for (std::size_t i = stretch.first; i < stretch.last; ++i) HONE_CHECK(enqueue_watched(i, on));
    return {};
  }
  for (std::size_t i = stretch.first; i < stretch.last; ++i) HONE_CHECK(enqueue_step(i, on));
  return {};
}

Status Plan::State::Segment::enqueue(Queue& on) {
  state.watched = state.check_numbers || (state.marks && scopes_have_listener());
  for (Stretch& stretch : stretches) HONE_CHECK(state.enqueue_stretch(stretch, on));
  if (last) HONE_CHECK(state.enqueue_moves(on));
  if (on.immediate()) return {};
  return on.copy_out(state.fault_staging.address(), state.fault.address(), sizeof(FaultWord));
}

int Plan::State::Segment::lanes() const {
  std::size_t most = 1;
  for (const Stretch& stretch : stretches) most = std::max(most, stretch.lanes.size());
  return static_cast<int>(most);
}

// The host's steps run as soon as what is before them has ended; what comes after the last of them is given.
Status Plan::State::start() {
  for (Part& part : parts) {
    if (part.segment == nullptr) {
      HONE_CHECK(finish());
      HONE_CHECK(run_on_host(part.host_step));
    } else if (check_numbers) [[unlikely]] {
      HONE_CHECK(queue->run(*part.segment));
    } else {
      HONE_CHECK(part.segment->recording->replay());
    }
  }
  return {};
}

Status Plan::State::finish() {
  if (queue->immediate()) return {};
  HONE_CHECK(queue->wait());
  return tell_fault();
}

// The word stays until somebody has been told of it: runs that were given behind the one at fault leave it as it is.
Status Plan::State::tell_fault() {
  FaultWord found = 0;
  std::memcpy(&found, fault_staging.address(), sizeof found);
  if (found == 0) return {};
  HONE_CHECK(queue->wait());
  std::memset(fault_staging.address(), 0, sizeof found);
  HONE_CHECK(queue->fill(fault.address(), std::byte{0}, sizeof found));
  const std::size_t step = step_of_fault(found);
  return failed(step, kernels[step]->fault(code_of_fault(found)));
}

Status Plan::State::run_on_host(std::size_t step) {
  std::optional<Scope> scope;
  if (marks) scope.emplace(ScopeListener::Kind::kOperator, static_cast<uint32_t>(step));
  try {
    return compute_on_host(step);
  } catch (const OverMemoryBudget& error) {
    return failed(step, invalid(error.what()));
  }
}

Status Plan::State::compute_on_host(std::size_t step) {
  const Node& node = graph.node(steps[step].node);
  std::vector<Tensor> given;
  for (const ValueId input : node.inputs) {
    HONE_ASSIGN(Tensor tensor, host_input(input));
    given.push_back(std::move(tensor));
  }
  auto results = host_steps[step]->run(given);
  if (!results.ok()) return failed(step, results.error());
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (!node.outputs[i].valid()) continue;
    if (Status kept = keep_host_output(node.outputs[i], std::move((*results)[i])); !kept.ok())
      return failed(step, kept.error());
  }
  for (const ValueId value : last_reads[step]) loose[value.index] = Tensor();
  return {};
}

Result<Tensor> Plan::State::host_input(ValueId id) const {
  if (!id.valid()) return Tensor();
  const graph::Value& value = graph.value(id);
  if (value.is_constant()) return *value.constant;
  if (!graph::has_place(value.type)) return loose[id.index];
  // A copy: what a step gives may share the buffer of what it was given, and outlive it.
  Tensor tensor(value.type.dtype, value.type.shape());
  if (tensor.bytes() > 0) std::memcpy(tensor.data(), addresses[id.index], tensor.bytes());
  return tensor;
}

Status Plan::State::keep_host_output(ValueId id, Tensor result) {
  const graph::TensorType& type = graph.type(id);
  if (!graph::has_place(type)) {
    loose[id.index] = std::move(result);
    return {};
  }
  if (result.dtype() != type.dtype || result.shape() != type.shape())
    return invalid(fmt::format("gives '{}' as {}{}, where {} was inferred", graph.value(id).name,
                               dtype_name(result.dtype()), shape_text(result.shape()), type.text()));
  if (result.bytes() > 0) std::memcpy(writable[id.index], std::as_const(result).data(), result.bytes());
  return {};
}

Plan::Plan(std::unique_ptr<State> state) : state_(std::move(state)) {}
Plan::~Plan() = default;

const Graph& Plan::graph() const { return state_->graph; }
std::span<const PlanStep> Plan::steps() const { return state_->steps; }

PlanMemory Plan::State::memory() const {
  PlanMemory memory;
  memory.arena_bytes = arena.placement.arena_bytes;
  memory.arena_lower_bound = arena.placement.lower_bound;
  memory.weights_bytes = weights_bytes;
  memory.constants_bytes = constants_bytes;
  memory.host_bytes = host_arena.placement.arena_bytes;
  const auto bytes_of = [&](const std::vector<ValueId>& values) {
    std::size_t bytes = 0;
    for (const ValueId value : values)
      if (graph::has_place(graph.type(value))) bytes += graph.type(value).storage_bytes();
    return bytes;
  };
  memory.input_bytes = bytes_of(graph.inputs());
  memory.output_bytes = bytes_of(graph.outputs());
  for (const graph::StatePair& pair : graph.states())
    memory.state_bytes += graph.type(graph.state_input(pair)).storage_bytes();
  for (const graph::StatePair& pair : moves.copied)
    memory.state_copy_bytes += graph.type(graph.state_input(pair)).storage_bytes();
  if (request_layout) {
    memory.pipeline_bytes = request_layout->bytes();
    memory.pipeline_host_bytes = kMostRequests * request_layout->bytes();
  }
  return memory;
}

PlanMemory Plan::memory() const { return state_->memory(); }
MarkTimes Plan::mark_times() const { return state_->queue->mark_times(); }
std::span<const MarkedKernel> Plan::marked_kernels() const { return state_->queue->marked_kernels(); }
MarkedInterval Plan::marked_run() const { return state_->marked_run; }

graph::PlanChoices Plan::choices() const {
  graph::PlanChoices choices;
  for (std::size_t i = 0; i < state_->steps.size(); ++i) {
    const PlanStep& step = state_->steps[i];
    choices.kernels.push_back({step.node, step.candidate, step.microseconds, step.candidates, {}});
    if (step.on_host) choices.kernels.back().bodies = state_->host_steps[i]->choices();
  }
  for (std::size_t i = 0; i < state_->sections.size(); ++i) {
    const Section& section = state_->sections[i];
    choices.sections.push_back({section.first, section.last, section.lanes, state_->section_us[i]});
  }
  return choices;
}

Status Plan::State::write(std::size_t i, const Tensor& tensor) {
  const ValueId id = graph.inputs()[i];
  const graph::Value& value = graph.value(id);
  if (!is_of(tensor, value.type))
    return invalid(fmt::format("input '{}': the plan is for {}, not for {}{}", value.name, value.type.text(),
                               dtype_name(tensor.dtype()), shape_text(tensor.shape())));
  if (!graph::has_place(value.type)) {
    HONE_ASSIGN(loose[id.index], copy_of(tensor));
    return {};
  }
  return write_bytes(i, {static_cast<const std::byte*>(tensor.data()), tensor.bytes()});
}

Status Plan::State::check_bytes(const graph::Value& value, std::size_t bytes) const {
  if (!graph::has_place(value.type))
    return invalid(fmt::format("input '{}' has type {}: give a tensor, which has a shape", value.name,
                               value.type.text()));
  if (bytes != value.type.storage_bytes())
    return invalid(fmt::format("input '{}' ({}) takes {} bytes, not {}", value.name, value.type.text(),
                               value.type.storage_bytes(), bytes));
  return {};
}

Status Plan::State::write_bytes(std::size_t i, std::span<const std::byte> bytes) {
  const ValueId id = graph.inputs()[i];
  const graph::Value& value = graph.value(id);
  HONE_CHECK(check_bytes(value, bytes.size()));
  if (!value.type.device.is_host()) return queue->copy_in(writable[id.index], bytes.data(), bytes.size());
  HONE_CHECK(queue->wait());  // for a run that reads it
  if (!bytes.empty()) std::memcpy(writable[id.index], bytes.data(), bytes.size());
  return {};
}

Status Plan::State::write_from(std::size_t i, std::span<const std::byte> bytes, const Event& written,
                               Event& taken) {
  const ValueId id = graph.inputs()[i];
  const graph::Value& value = graph.value(id);
  HONE_CHECK(check_bytes(value, bytes.size()));
  HONE_CHECK(queue->after(written));
  HONE_CHECK(value.type.device.is_host() ? queue->copy_out(writable[id.index], bytes.data(), bytes.size())
                                         : queue->copy(writable[id.index], bytes.data(), bytes.size()));
  return queue->record(taken);
}

Result<Tensor> Plan::State::read(ValueId id, const std::byte* from) const {
  const graph::Value& value = graph.value(id);
  if (!graph::has_place(value.type)) return loose[id.index];
  if (value.type.layout != Layout::kPlain)
    return unsupported(
        fmt::format("'{}' is {}: only plain layouts can be read", value.name, value.type.text()));
  HONE_ASSIGN(Tensor result, Tensor::try_make(value.type.dtype, value.type.shape()));
  const bool on_host = value.type.device.is_host();
  if (!on_host) HONE_CHECK(queue->copy_out(result.data(), from, result.bytes()));
  HONE_CHECK(queue->wait());
  if (on_host && result.bytes() > 0) std::memcpy(result.data(), from, result.bytes());
  return result;
}

Result<std::vector<Tensor>> Plan::State::read_all() const {
  std::vector<Tensor> all;
  for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
    HONE_ASSIGN(Tensor output, read(graph.outputs()[i], output_at[i]));
    all.push_back(std::move(output));
  }
  return all;
}

Status Plan::State::run(const std::function<Status()>& meanwhile) {
  if (is_listened_to()) [[unlikely]]
    return run_marked(meanwhile);
  return run_unmarked(meanwhile);
}

// What was given is waited for, whatever went wrong meanwhile.
Status Plan::State::run_unmarked(const std::function<Status()>& meanwhile) {
  HONE_CHECK(start());
  const Status did = meanwhile && !queue->immediate() ? meanwhile() : Status();
  HONE_CHECK(finish());
  return did;
}

Status Plan::State::ready_marks() {
  if (check_numbers) return {};  // nothing is replayed
  for (Part& part : parts) {
    if (part.segment != nullptr) HONE_CHECK(part.segment->recording->ready_marks());
  }
  return {};
}

// The step is what the device took where the device tells, and nothing of it is the host's.
Status Plan::State::run_marked(const std::function<Status()>& meanwhile) {
  if (runs_given > runs_taken) HONE_CHECK(wait_for_all());  // what was given before is none of this run's
  HONE_CHECK(ready_marks());
  marked_run.begun_ns = now_ns();
  const Status ran = run_unmarked(meanwhile);
  marked_run.ended_ns = now_ns();
  const auto marked = queue->tell_marks();
  HONE_CHECK(ran);
  HONE_CHECK(marked);
  if (!marked->told) return {};
  if (marked->known() && parts.size() == 1)
    tell_scope_listener(ScopeListener::Kind::kStep, 0, marked->busy_from_ns, marked->busy_to_ns);
  else
    tell_scope_listener(ScopeListener::Kind::kStep, 0, marked_run.begun_ns, marked_run.ended_ns);
  return {};
}

// --- one thread at a time ---

namespace {

// The plan's, for as long as it lives; not ok() where another thread has it.
class Use {
 public:
  explicit Use(std::atomic<bool>& in_use)
      : in_use_(in_use), ok_(!in_use.exchange(true, std::memory_order_acquire)) {}
  ~Use() {
    if (ok_) in_use_.store(false, std::memory_order_release);
  }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;
  bool ok() const { return ok_; }

 private:
  std::atomic<bool>& in_use_;
  bool ok_;
};

Error in_use_elsewhere() {
  return invalid(
      "the plan is in use by another thread; a plan runs once at a time: take turns, or make one for each "
      "thread");
}

}  // namespace

Status Plan::write(std::size_t i, const Tensor& tensor) {
  const Use use(state_->in_use);
  return use.ok() ? state_->write(i, tensor) : in_use_elsewhere();
}

Status Plan::write_bytes(std::size_t i, std::span<const std::byte> bytes) {
  const Use use(state_->in_use);
  return use.ok() ? state_->write_bytes(i, bytes) : in_use_elsewhere();
}

Status Plan::write_from(std::size_t i, std::span<const std::byte> bytes, const Event& written, Event& taken) {
  const Use use(state_->in_use);
  return use.ok() ? state_->write_from(i, bytes, written, taken) : in_use_elsewhere();
}

Result<Tensor> Plan::read(std::size_t i) const {
  const Use use(state_->in_use);
  if (!use.ok()) return in_use_elsewhere();
  return state_->read(state_->graph.outputs()[i], state_->output_at[i]);
}

Result<Tensor> Plan::read_input(std::size_t i) const {
  const Use use(state_->in_use);
  if (!use.ok()) return in_use_elsewhere();
  const ValueId id = state_->graph.inputs()[i];
  return state_->read(id, state_->addresses[id.index]);
}

Result<std::vector<Tensor>> Plan::read_all() const {
  const Use use(state_->in_use);
  if (!use.ok()) return in_use_elsewhere();
  return state_->read_all();
}

Status Plan::ready_marks() {
  const Use use(state_->in_use);
  if (!use.ok()) return in_use_elsewhere();
  return state_->is_listened_to() ? state_->ready_marks() : Status();
}

Status Plan::start() {
  const Use use(state_->in_use);
  if (!use.ok()) return in_use_elsewhere();
  if (state_->is_listened_to()) [[unlikely]]
    HONE_CHECK(state_->ready_marks());
  return state_->start();
}

Status Plan::finish() {
  const Use use(state_->in_use);
  if (!use.ok()) return in_use_elsewhere();
  const Status finished = state_->finish();
  if (!state_->is_listened_to()) [[likely]]
    return finished;
  const auto told = state_->queue->tell_marks();
  HONE_CHECK(finished);
  HONE_CHECK(told);
  return {};
}

bool Plan::can_give_ahead() const { return state_->can_give_ahead(); }

Status Plan::give(std::span<const std::size_t> outputs) {
  const Use use(state_->in_use);
  return use.ok() ? state_->give(outputs) : in_use_elsewhere();
}

Status Plan::give(std::span<const Tensor> inputs) {
  const Use use(state_->in_use);
  return use.ok() ? state_->give(inputs) : in_use_elsewhere();
}

std::size_t Plan::requests_in_flight() const { return state_->is_pipelined() ? kMostRequests : 1; }
std::size_t Plan::untaken() const { return state_->runs_given - state_->runs_taken; }

Result<TakenRun> Plan::take() {
  const Use use(state_->in_use);
  if (!use.ok()) return in_use_elsewhere();
  return state_->take();
}

Status Plan::run(const std::function<Status()>& meanwhile) {
  const Use use(state_->in_use);
  return use.ok() ? state_->run(meanwhile) : in_use_elsewhere();
}

Result<std::vector<Tensor>> Plan::run(std::span<const Tensor> inputs) {
  const Use use(state_->in_use);
  if (!use.ok()) return in_use_elsewhere();
  HONE_CHECK(check_inputs(state_->graph, inputs));
  for (std::size_t i = 0; i < inputs.size(); ++i) HONE_CHECK(state_->write(i, inputs[i]));
  HONE_CHECK(state_->run({}));
  return state_->read_all();
}

}  // namespace hone::runtime

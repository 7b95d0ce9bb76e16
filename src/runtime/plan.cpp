#include "runtime/plan.h"

#include <cmath>
#include <cstring>

#include <fmt/format.h>
#include <unistd.h>

#include "core/scope.h"
#include "core/units.h"
#include "graph/buffer_assignment.h"
#include "graph/op_table.h"
#include "runtime/autotune.h"
#include "runtime/interpreter.h"
#include "runtime/memory_plan.h"
#include "runtime/timing_cache.h"

namespace hone::runtime {

using graph::BufferAssignment;
using graph::BufferPlace;
using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

namespace {

std::size_t byte_size(const graph::TensorType& type) {
  return static_cast<std::size_t>(storage_elements(type.shape(), type.layout)) * dtype_size(type.dtype);
}

std::size_t physical_memory() {
  return static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGE_SIZE));
}

// Whether `graph` can be a plan: every shape known and no larger than memory, no strings.
Status check_values(const Graph& graph) {
  const std::size_t memory = physical_memory();
  for (const graph::Value& value : graph.values()) {
    if (!value.type.is_static())
      return invalid(
          fmt::format("'{}' has type {}: a plan needs every shape known; bind the model's symbolic extents",
                      value.name, value.type.text()));
    if (value.type.dtype == DType::kString)
      return unsupported(
          fmt::format("unsupported: '{}' has type {}; strings have no place in a plan, only "
                      "hone run computes with them",
                      value.name, value.type.text()));
    if (const auto bytes = static_cast<double>(byte_size(value.type)); bytes > static_cast<double>(memory))
      return invalid(fmt::format(
          "'{}' ({}) takes {}, more than this machine's memory of {}; give smaller shapes", value.name,
          value.type.text(), format_bytes(bytes), format_bytes(static_cast<double>(memory))));
  }
  return {};
}

}  // namespace

struct Plan::State {
  explicit State(Graph g) : graph(std::move(g)) {}

  Status make_kernels(const Provider& provider, const PlanOptions& options, const BufferAssignment& buffers);
  void share_buffers(BufferAssignment& buffers);
  Status place_buffers(const BufferAssignment& buffers);
  void resolve_arguments();
  Error failed(std::size_t step, const Error& error) const;
  Status look_for_bad_numbers(std::size_t step) const;

  Graph graph;
  std::vector<PlanStep> steps;
  std::vector<std::unique_ptr<Kernel>> kernels;  // one a step
  std::vector<std::byte*> addresses;             // of each value, once placed
  std::vector<std::vector<const void*>> inputs;  // pointers of each step
  std::vector<std::vector<void*>> outputs;
  std::vector<std::size_t> scratch_places;  // index into the memory plan, one a step
  std::vector<Shape> shapes;                // of each value
  std::vector<KernelArguments> arguments;   // one a step
  Tensor arena;
  MemoryPlan placement;
  std::size_t weights_bytes = 0;
  bool check_numbers = false;
};

Status Plan::State::make_kernels(const Provider& provider, const PlanOptions& options,
                                 const BufferAssignment& buffers) {
  const std::size_t total = graph.nodes().size();
  for (uint32_t i = 0; i < total; ++i) {
    const Node& node = graph.nodes()[i];
    if (options.progress) options.progress(i, total, node.name);
    if (buffers.elided(NodeId{i})) continue;
    auto chosen = choose_kernel(graph, node, provider, options);
    if (!chosen.ok()) return chosen.error().within(fmt::format("node '{}' ({})", node.name, node.op));
    PlanStep step;
    step.node = NodeId{i};
    step.name = node.name;
    step.op = node.op;
    step.implementation = chosen->kernel->implementation();
    step.algorithm = chosen->kernel->algorithm();
    step.scratch_bytes = chosen->kernel->scratch_bytes();
    step.packed_bytes = chosen->kernel->packed_bytes();
    step.choice = chosen->why;
    weights_bytes += step.packed_bytes;
    steps.push_back(std::move(step));
    kernels.push_back(std::move(chosen->kernel));
  }
  if (options.progress) options.progress(total, total, "");
  return {};
}

void Plan::State::share_buffers(BufferAssignment& buffers) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (auto input = kernels[i]->in_place_input()) buffers.try_in_place(steps[i].node, *input);
  }
}

Status Plan::State::place_buffers(const BufferAssignment& buffers) {
  std::vector<Lifetime> lifetimes;
  std::vector<std::size_t> place_of(graph.values().size(), SIZE_MAX);
  for (uint32_t i = 0; i < graph.values().size(); ++i) {
    const graph::Value& value = graph.values()[i];
    if (value.is_constant() || buffers.place(ValueId{i}).root != ValueId{i}) continue;
    place_of[i] = lifetimes.size();
    lifetimes.push_back(
        {byte_size(value.type), buffers.first_definition(ValueId{i}), buffers.last_use(ValueId{i})});
  }
  for (const PlanStep& step : steps) {
    scratch_places.push_back(lifetimes.size());
    lifetimes.push_back({step.scratch_bytes, step.node.index, step.node.index});
  }
  placement = plan_memory(lifetimes);
  if (const std::size_t memory = physical_memory(); placement.arena_bytes > memory)
    return invalid(fmt::format(
        "a plan of it takes {} of memory, more than this machine's {}; give smaller shapes",
        format_bytes(static_cast<double>(placement.arena_bytes)), format_bytes(static_cast<double>(memory))));
  arena = Tensor(DType::kU8, {static_cast<int64_t>(placement.arena_bytes + kTensorAlignment)});
  // Touch the pages now: the first run is not where they should be mapped. 0xff is a NaN in every float
  // format, so that a read of something never written shows.
  std::memset(arena.data(), 0xff, arena.bytes());

  addresses.assign(graph.values().size(), nullptr);
  auto* base = static_cast<std::byte*>(arena.data());
  for (uint32_t i = 0; i < graph.values().size(); ++i) {
    const BufferPlace& place = buffers.place(ValueId{i});
    const graph::Value& root = graph.value(place.root);
    std::byte* start = root.is_constant() ? static_cast<std::byte*>(const_cast<void*>(root.constant->data()))
                                          : base + placement.offsets[place_of[place.root.index]];
    addresses[i] = start + place.offset;
  }
  return {};
}

void Plan::State::resolve_arguments() {
  std::vector<bool> counted(graph.values().size(), false);
  auto* base = static_cast<std::byte*>(arena.data());
  for (const graph::Value& value : graph.values()) shapes.push_back(value.type.shape());
  inputs.resize(steps.size());
  outputs.resize(steps.size());
  for (std::size_t s = 0; s < steps.size(); ++s) {
    const Node& node = graph.node(steps[s].node);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId id = node.inputs[i];
      const bool read = id.valid() && kernels[s]->reads(i);
      inputs[s].push_back(read ? addresses[id.index] : nullptr);
      if (!read || counted[id.index] || !graph.value(id).is_constant()) continue;
      counted[id.index] = true;
      weights_bytes += byte_size(graph.type(id));
    }
    for (ValueId id : node.outputs) outputs[s].push_back(id.valid() ? addresses[id.index] : nullptr);
    arguments.push_back({inputs[s], outputs[s], base + placement.offsets[scratch_places[s]]});
  }
}

Error Plan::State::failed(std::size_t step, const Error& error) const {
  return error.within(
      fmt::format("node '{}' ({}, {})", steps[step].name, steps[step].op, steps[step].implementation));
}

Status Plan::State::look_for_bad_numbers(std::size_t step) const {
  auto bad = [&](ValueId id) {
    if (!id.valid() || graph.type(id).dtype != DType::kF32) return false;
    const auto* data = reinterpret_cast<const float*>(addresses[id.index]);
    const auto count = byte_size(graph.type(id)) / sizeof(float);
    return std::any_of(data, data + count, [](float x) { return !std::isfinite(x); });
  };
  const Node& node = graph.node(steps[step].node);
  if (std::any_of(node.inputs.begin(), node.inputs.end(), bad)) return {};
  for (ValueId output : node.outputs) {
    if (bad(output)) return failed(step, invalid("gives NaN or Inf from finite inputs"));
  }
  return {};
}

Plan::Plan(std::unique_ptr<State> state) : state_(std::move(state)) {}
Plan::~Plan() = default;

Result<std::unique_ptr<Plan>> Plan::compile(Graph graph, const Provider& provider,
                                            const PlanOptions& options) {
  HONE_CHECK(check_values(graph));
  auto state = std::make_unique<State>(std::move(graph));
  state->check_numbers = options.check_numbers;
  BufferAssignment buffers(state->graph);
  // Nodes of one signature are measured once, whether or not the caller keeps measurements.
  TimingCache of_this_plan;
  PlanOptions remembering = options;
  if (remembering.cache == nullptr) remembering.cache = &of_this_plan;
  HONE_CHECK(state->make_kernels(provider, remembering, buffers));
  state->share_buffers(buffers);
  HONE_CHECK(state->place_buffers(buffers));
  state->resolve_arguments();
  return std::unique_ptr<Plan>(new Plan(std::move(state)));
}

const Graph& Plan::graph() const { return state_->graph; }
std::span<const PlanStep> Plan::steps() const { return state_->steps; }

PlanMemory Plan::memory() const {
  return {state_->placement.arena_bytes, state_->placement.lower_bound, state_->weights_bytes};
}

TensorView Plan::input(std::size_t i) {
  const ValueId id = state_->graph.inputs()[i];
  return {state_->graph.type(id).dtype, state_->shapes[id.index], state_->addresses[id.index]};
}

ConstTensorView Plan::output(std::size_t i) const {
  const ValueId id = state_->graph.outputs()[i];
  return {state_->graph.type(id).dtype, state_->shapes[id.index], state_->addresses[id.index]};
}

Status Plan::run() {
  State& state = *state_;
  const Scope whole(ScopeListener::Kind::kStep, 0);
  const std::size_t count = state.kernels.size();
  for (std::size_t i = 0; i < count; ++i) {
    const Scope scope(ScopeListener::Kind::kOperator, static_cast<uint32_t>(i));
    if (Status status = state.kernels[i]->run(state.arguments[i]); !status.ok()) [[unlikely]] {
      return state.failed(i, status.error());
    }
    if (state.check_numbers) [[unlikely]]
      HONE_CHECK(state.look_for_bad_numbers(i));
  }
  return {};
}

Result<std::vector<Tensor>> Plan::run(std::span<const Tensor> inputs) {
  HONE_CHECK(check_inputs(state_->graph, inputs));
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].bytes() > 0) std::memcpy(input(i).data, inputs[i].data(), inputs[i].bytes());
  }
  HONE_CHECK(run());
  std::vector<Tensor> results;
  for (std::size_t i = 0; i < state_->graph.outputs().size(); ++i) {
    const ConstTensorView view = output(i);
    Tensor result(view.dtype, Shape(view.shape.begin(), view.shape.end()));
    if (result.bytes() > 0) std::memcpy(result.data(), view.data, result.bytes());
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace hone::runtime

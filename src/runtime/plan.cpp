#include "runtime/plan.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>

#include <fmt/core.h>
#include <unistd.h>

#include "core/scope.h"
#include "core/units.h"
#include "graph/buffer_assignment.h"
#include "graph/op_table.h"
#include "runtime/autotune.h"
#include "runtime/interpreter.h"
#include "runtime/memory_plan.h"
#include "runtime/overlap.h"
#include "runtime/overlap_choice.h"
#include "runtime/timing_cache.h"

namespace hone::runtime {

using graph::BufferAssignment;
using graph::BufferPlace;
using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

namespace {

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
    if (const auto bytes = static_cast<double>(value.type.storage_bytes());
        bytes > static_cast<double>(memory))
      return invalid(fmt::format(
          "'{}' ({}) takes {}, more than this machine's memory of {}; give smaller shapes", value.name,
          value.type.text(), format_bytes(bytes), format_bytes(static_cast<double>(memory))));
  }
  return {};
}

// A lane of steps, and how its last run ended.
struct RunningLane {
  std::vector<std::size_t> steps;
  Status status;
};

// Steps [first, last) of a plan: a section where there are lanes, otherwise one step after another.
struct Stretch {
  std::size_t first = 0;
  std::size_t last = 0;
  std::vector<RunningLane> lanes;
};

}  // namespace

struct Plan::State {
  explicit State(Graph g) : graph(std::move(g)) {}

  Status make_kernels(const Provider& provider, const PlanOptions& options, const BufferAssignment& buffers);
  // Which sections run side by side; their steps get the kernels of a lane.
  Status overlap(const Provider& provider, const PlanOptions& options, const BufferAssignment& buffers);
  Status use_lanes(const OverlapChoice& choice, const Lanes& lanes, const PlanOptions& options);
  void take_kernel(std::size_t step, Chosen chosen);
  const Section* section_of(NodeId node) const;  // null: the node has all threads
  void find_stretches();
  void share_buffers(BufferAssignment& buffers);
  Status place_buffers(const BufferAssignment& buffers);
  void resolve_arguments();
  Status run_step(std::size_t step);
  Status run_lanes(Stretch& stretch);
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

  std::vector<Section> sections;   // that run side by side
  std::vector<Stretch> stretches;  // all steps, in order
  void (*start_lanes)(int lanes, void (*work)(void* context, int lane), void* context) = nullptr;
  std::atomic<bool> lane_failed{false};
};

Status Plan::State::make_kernels(const Provider& provider, const PlanOptions& options,
                                 const BufferAssignment& buffers) {
  Tuner tuner(provider, options);
  const std::size_t total = graph.nodes().size();
  for (uint32_t i = 0; i < total; ++i) {
    const Node& node = graph.nodes()[i];
    if (options.progress) options.progress(i, total, node.name);
    if (buffers.elided(NodeId{i})) continue;
    auto chosen = tuner.choose(graph, node);
    if (!chosen.ok()) return chosen.error().within(fmt::format("node '{}' ({})", node.name, node.op));
    PlanStep& step = steps.emplace_back();
    step.node = NodeId{i};
    step.name = node.name;
    step.op = node.op;
    kernels.emplace_back();
    take_kernel(steps.size() - 1, std::move(*chosen));
  }
  if (options.progress) options.progress(total, total, "");
  return {};
}

void Plan::State::take_kernel(std::size_t index, Chosen chosen) {
  PlanStep& step = steps[index];
  step.implementation = chosen.kernel->implementation();
  step.algorithm = chosen.kernel->algorithm();
  step.scratch_bytes = chosen.kernel->scratch_bytes();
  step.packed_bytes = chosen.kernel->packed_bytes();
  step.choice = std::move(chosen.why);
  kernels[index] = std::move(chosen.kernel);
}

Status Plan::State::overlap(const Provider& provider, const PlanOptions& options,
                            const BufferAssignment& buffers) {
  if (options.overlap == Overlap::kNever) return {};
  const Lanes lanes = provider.lanes();
  HONE_ASSIGN(const std::vector<OverlapChoice> choices,
              choose_overlap(graph, buffers, provider, lanes, options));
  for (const OverlapChoice& choice : choices) HONE_CHECK(use_lanes(choice, lanes, options));
  start_lanes = lanes.run;
  return {};
}

Status Plan::State::use_lanes(const OverlapChoice& choice, const Lanes& lanes, const PlanOptions& options) {
  const Section& section = choice.section;
  Tuner tuner(*lanes.provider, options);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    PlanStep& step = steps[i];
    if (!section.holds(step.node)) continue;
    const auto lane = std::find_if(section.lanes.begin(), section.lanes.end(), [&](const auto& nodes) {
      return std::find(nodes.begin(), nodes.end(), step.node) != nodes.end();
    });
    auto chosen = choose_in_lane(graph, graph.node(step.node), lanes, tuner);
    if (!chosen.ok()) return failed(i, chosen.error());
    take_kernel(i, std::move(*chosen));
    step.lane = static_cast<int>(lane - section.lanes.begin());
    step.lanes = static_cast<int>(section.lanes.size());
    step.choice += fmt::format("; lane {} of {}: {}", step.lane + 1, step.lanes, choice.why);
  }
  sections.push_back(section);
  return {};
}

const Section* Plan::State::section_of(NodeId node) const {
  const auto found =
      std::find_if(sections.begin(), sections.end(), [&](const Section& s) { return s.holds(node); });
  return found != sections.end() ? &*found : nullptr;
}

void Plan::State::find_stretches() {
  const Section* before = nullptr;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Section* section = section_of(steps[i].node);
    if (stretches.empty() || section != before) {
      stretches.push_back({i, i, {}});
      if (section != nullptr) stretches.back().lanes.resize(section->lanes.size());
    }
    before = section;
    stretches.back().last = i + 1;
    if (section != nullptr)
      stretches.back().lanes[static_cast<std::size_t>(steps[i].lane)].steps.push_back(i);
  }
}

void Plan::State::share_buffers(BufferAssignment& buffers) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto input = kernels[i]->in_place_input();
    if (!input) continue;
    const Node& node = graph.node(steps[i].node);
    const Section* section = section_of(steps[i].node);
    if (section != nullptr && node.has_input(*input) &&
        !only_lane(graph, buffers, *section, node.inputs[*input]))
      continue;
    buffers.try_in_place(steps[i].node, *input);
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
        {value.type.storage_bytes(), buffers.first_definition(ValueId{i}), buffers.last_use(ValueId{i})});
    widen(lifetimes.back(), sections,
          [&](const Section& section) { return only_lane(graph, buffers, section, ValueId{i}); });
  }
  for (const PlanStep& step : steps) {
    scratch_places.push_back(lifetimes.size());
    lifetimes.push_back({step.scratch_bytes, step.node.index, step.node.index});
    widen(lifetimes.back(), sections, [&](const Section&) { return std::optional<std::size_t>(step.lane); });
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
  for (const PlanStep& step : steps) weights_bytes += step.packed_bytes;
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
      weights_bytes += graph.type(id).storage_bytes();
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
    const auto count = graph.type(id).storage_bytes() / sizeof(float);
    return std::any_of(data, data + count, [](float x) { return !std::isfinite(x); });
  };
  const Node& node = graph.node(steps[step].node);
  if (std::any_of(node.inputs.begin(), node.inputs.end(), bad)) return {};
  for (ValueId output : node.outputs) {
    if (bad(output)) return failed(step, invalid("gives NaN or Inf from finite inputs"));
  }
  return {};
}

inline Status Plan::State::run_step(std::size_t step) {
  const Scope scope(ScopeListener::Kind::kOperator, static_cast<uint32_t>(step));
  if (Status status = kernels[step]->run(arguments[step]); !status.ok()) [[unlikely]]
    return failed(step, status.error());
  if (check_numbers) [[unlikely]]
    HONE_CHECK(look_for_bad_numbers(step));
  return {};
}

Status Plan::State::run_lanes(Stretch& stretch) {
  struct Work {
    State& state;
    Stretch& stretch;
  } work{*this, stretch};
  lane_failed.store(false, std::memory_order_relaxed);
  start_lanes(
      static_cast<int>(stretch.lanes.size()),
      [](void* context, int index) {
        const Work& mine = *static_cast<Work*>(context);
        RunningLane& lane = mine.stretch.lanes[static_cast<std::size_t>(index)];
        for (std::size_t step : lane.steps) {
          if (mine.state.lane_failed.load(std::memory_order_relaxed)) [[unlikely]]
            return;
          lane.status = mine.state.run_step(step);
          if (lane.status.ok()) continue;
          mine.state.lane_failed.store(true, std::memory_order_relaxed);
          return;
        }
      },
      &work);
  if (!lane_failed.load(std::memory_order_relaxed)) [[likely]]
    return {};
  Status first;
  for (RunningLane& lane : stretch.lanes) {
    if (first.ok() && !lane.status.ok()) first = std::move(lane.status);
    lane.status = {};
  }
  return first;
}

Plan::Plan(std::unique_ptr<State> state) : state_(std::move(state)) {}
Plan::~Plan() = default;

Result<std::unique_ptr<Plan>> Plan::compile(Graph graph, const Provider& provider,
                                            const PlanOptions& options) {
  HONE_CHECK(check_values(graph));
  auto state = std::make_unique<State>(std::move(graph));
  state->check_numbers = options.check_numbers;
  BufferAssignment buffers(state->graph);
  PlanOptions complete = options;
  if (complete.step_bytes == 0) complete.step_bytes = step_bytes(state->graph);
  // Nodes of one signature are measured once, whether or not the caller keeps measurements.
  TimingCache of_this_plan;
  if (complete.cache == nullptr) complete.cache = &of_this_plan;
  HONE_CHECK(state->make_kernels(provider, complete, buffers));
  HONE_CHECK(state->overlap(provider, complete, buffers));
  state->find_stretches();
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
  for (Stretch& stretch : state.stretches) {
    if (!stretch.lanes.empty()) {
      HONE_CHECK(state.run_lanes(stretch));
      continue;
    }
    for (std::size_t i = stretch.first; i < stretch.last; ++i) HONE_CHECK(state.run_step(i));
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

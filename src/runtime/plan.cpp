#include "runtime/plan.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>

#include <fmt/core.h>

#include "core/scope.h"
#include "core/units.h"
#include "graph/buffer_assignment.h"
#include "graph/op_table.h"
#include "runtime/autotune.h"
#include "runtime/copy_kernel.h"
#include "runtime/host_device.h"
#include "runtime/interpreter.h"
#include "runtime/memory_plan.h"
#include "runtime/overlap.h"
#include "runtime/overlap_choice.h"
#include "runtime/state_moves.h"
#include "runtime/timing_cache.h"

namespace hone::runtime {

using graph::BufferAssignment;
using graph::BufferPlace;
using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

namespace {

constexpr std::byte kUnwritten{0xff};

// Whether `graph` can be a plan: every shape known and no larger than the device's memory, no strings, no
// other device than number 0 and the host.
Status check_values(const Graph& graph, const Device& device) {
  const std::size_t memory = device.capacity();
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
    if (!value.type.device.is_host() && value.type.device != DeviceId())
      return unsupported(fmt::format("unsupported: '{}' lies on {}; a plan has device0 and the host",
                                     value.name, value.type.device.text()));
    if (const auto bytes = static_cast<double>(value.type.storage_bytes());
        bytes > static_cast<double>(memory))
      return invalid(fmt::format("'{}' ({}) takes {}, more than the memory of {} ({}); give smaller shapes",
                                 value.name, value.type.text(), format_bytes(bytes), device.name(),
                                 format_bytes(static_cast<double>(memory))));
  }
  return {};
}

// hone.CopyTo is the plan's own; what else there is to compute is computed on the device.
Status check_on_device(const Graph& graph, const Node& node) {
  const bool on_host = std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId output) {
    return output.valid() && graph.type(output).device.is_host();
  });
  if (!on_host) return {};
  return unsupported(
      "unsupported: computing in the host's memory within a plan; put a hone.CopyTo before it");
}

// Values of one memory, and where they lie in it.
struct Arena {
  std::vector<Lifetime> lifetimes;
  MemoryPlan placement;
  Memory memory;
};

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

struct Plan::State : Sequence {
  State(Graph g, std::shared_ptr<Device> d) : graph(std::move(g)), device(std::move(d)) {}
  ~State() override {
    if (queue != nullptr) (void)queue->wait();  // for what still uses the memory
  }

  // --- making ---
  Status make_kernels(const Provider& provider, const PlanOptions& options, const BufferAssignment& buffers);
  // Which sections run side by side; their steps get the kernels of a lane.
  Status overlap(const Provider& provider, const PlanOptions& options, const BufferAssignment& buffers);
  Status use_lanes(const OverlapChoice& choice, const Provider& provider, const PlanOptions& options);
  void take_kernel(std::size_t step, Chosen chosen);
  const Section* section_of(NodeId node) const;  // null: the node has all of the device
  void find_stretches();
  void share_buffers(BufferAssignment& buffers);
  Status plan_moves(const BufferAssignment& buffers);
  Result<Chosen> choose(const Node& node, Tuner& tuner) const;
  Status plan_arenas(const BufferAssignment& buffers);
  Status place(Arena& of, std::string_view where, std::size_t capacity);
  Arena& arena_of(ValueId value) { return graph.type(value).device.is_host() ? host_arena : arena; }
  Status allocate();
  Status place_constants(const BufferAssignment& buffers);
  std::vector<bool> constants_read(const BufferAssignment& buffers) const;
  void place_values(const BufferAssignment& buffers);
  void place_outputs();
  void resolve_arguments();

  // --- running ---
  Status enqueue(Queue& queue) override;  // one run
  Status enqueue_step(std::size_t step, Queue& queue);
  Status enqueue_watched(std::size_t step, Queue& queue);  // marked, and NaN and Inf looked for
  Status enqueue_moves(Queue& queue) const;
  Status enqueue_lanes(Stretch& stretch, Queue& queue);
  void enqueue_lane(RunningLane& lane, Queue& queue);
  Status finish();
  Error failed(std::size_t step, const Error& error) const;
  Result<bool> finite(ValueId id, Queue& queue) const;
  Result<bool> finite(std::span<const ValueId> values, Queue& queue) const;
  Result<Tensor> read(ValueId id, const std::byte* from) const;

  Graph graph;
  std::vector<PlanStep> steps;
  std::vector<std::unique_ptr<Kernel>> kernels;  // one a step

  // The device's, in the order in which they must be made; released the other way round.
  std::shared_ptr<Device> device;
  Arena arena, host_arena;  // the second in staging memory
  Memory constants, fault;
  Memory fault_staging;  // where the host reads what `fault` held after a run
  std::unique_ptr<Queue> queue;
  std::unique_ptr<Recording> recording;

  std::vector<const std::byte*> constant_at;     // of each value: device address of its data, null if none
  std::vector<const std::byte*> addresses;       // of each value, once placed
  std::vector<std::byte*> writable;              // the same; null for what lies in a constant
  std::vector<std::vector<const void*>> inputs;  // pointers of each step
  std::vector<std::vector<void*>> outputs;
  std::vector<std::size_t> value_places;    // index into the memory plan of each value that owns memory
  std::vector<std::size_t> scratch_places;  // the same of each step's scratch
  std::vector<std::size_t> saved_places;    // the same of each saved output
  std::vector<KernelArguments> arguments;   // one a step
  std::size_t weights_bytes = 0;
  bool check_numbers = false;
  bool watched = false;     // the run at hand: somebody listens, or numbers are checked
  std::size_t at_node = 0;  // whose kernel is being chosen

  StateMoves moves;                         // behind the last step
  std::vector<std::byte*> saved_at;         // of each saved output
  std::vector<const std::byte*> output_at;  // of each output: where it is read

  std::vector<Section> sections;   // that run side by side
  std::vector<Stretch> stretches;  // all steps, in order
  std::atomic<bool> lane_failed{false};
};

Status Plan::State::make_kernels(const Provider& provider, const PlanOptions& options,
                                 const BufferAssignment& buffers) {
  Tuner tuner(provider, options);
  const std::size_t total = graph.nodes().size();
  for (uint32_t i = 0; i < total; ++i) {
    const Node& node = graph.nodes()[i];
    at_node = i;
    if (!options.may_go_on()) return interrupted_choice();
    if (buffers.elided(NodeId{i})) continue;
    auto chosen = choose(node, tuner);
    if (!chosen.ok() && chosen.error().code == ErrorCode::kCancelled) return chosen.error();
    if (!chosen.ok()) return chosen.error().within(fmt::format("node '{}' ({})", node.name, node.op));
    PlanStep& step = steps.emplace_back();
    step.node = NodeId{i};
    step.name = node.name;
    step.op = node.op;
    kernels.emplace_back();
    take_kernel(steps.size() - 1, std::move(*chosen));
  }
  at_node = total;
  if (!options.may_go_on()) return interrupted_choice();
  return {};
}

Result<Chosen> Plan::State::choose(const Node& node, Tuner& tuner) const {
  if (node.op == "hone.CopyTo")
    return Chosen{make_copy_kernel(graph.type(node.inputs[0]), graph.type(node.outputs[0])),
                  "the queue's own"};
  HONE_CHECK(check_on_device(graph, node));
  return tuner.choose(graph, node);
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
  HONE_ASSIGN(const std::vector<OverlapChoice> choices, choose_overlap(graph, buffers, provider, options));
  for (const OverlapChoice& choice : choices) HONE_CHECK(use_lanes(choice, provider, options));
  return {};
}

Status Plan::State::use_lanes(const OverlapChoice& choice, const Provider& provider,
                              const PlanOptions& options) {
  const Section& section = choice.section;
  Tuner tuner(provider, options, Share::kLane);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    PlanStep& step = steps[i];
    if (!section.holds(step.node)) continue;
    const auto lane = std::find_if(section.lanes.begin(), section.lanes.end(), [&](const auto& nodes) {
      return std::find(nodes.begin(), nodes.end(), step.node) != nodes.end();
    });
    auto chosen = choose(graph.node(step.node), tuner);
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
  place_next_values(graph, sections, buffers);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Node& node = graph.node(steps[i].node);
    const Section* section = section_of(steps[i].node);
    for (std::size_t output = 0; output < node.outputs.size(); ++output) {
      const auto input = kernels[i]->in_place_input_of(output);
      if (!input || !node.has_input(*input)) continue;
      if (section != nullptr && !only_lane(graph, buffers, *section, node.inputs[*input])) continue;
      buffers.try_in_place(steps[i].node, *input, output);
    }
  }
}

Status Plan::State::plan_moves(const BufferAssignment& buffers) {
  moves = state_moves(graph, buffers);
  for (const graph::StatePair& pair : moves.copied) {
    const graph::Value& state = graph.value(graph.state_input(pair));
    if (state.type.device.is_host())
      return unsupported(fmt::format(
          "unsupported: state '{}' in the host's memory, which its next value cannot overwrite in place",
          state.name));
  }
  const auto behind = static_cast<uint32_t>(graph.nodes().size());
  for (uint32_t output : moves.saved) {
    saved_places.push_back(arena.lifetimes.size());
    arena.lifetimes.push_back({graph.type(graph.outputs()[output]).storage_bytes(), behind, behind});
  }
  return {};
}

Status Plan::State::plan_arenas(const BufferAssignment& buffers) {
  value_places.assign(graph.values().size(), SIZE_MAX);
  for (uint32_t i = 0; i < graph.values().size(); ++i) {
    const graph::Value& value = graph.values()[i];
    if (value.is_constant() || buffers.place(ValueId{i}).root != ValueId{i}) continue;
    std::vector<Lifetime>& lifetimes = arena_of(ValueId{i}).lifetimes;
    value_places[i] = lifetimes.size();
    lifetimes.push_back(
        {value.type.storage_bytes(), buffers.first_definition(ValueId{i}), buffers.last_use(ValueId{i})});
    widen(lifetimes.back(), sections,
          [&](const Section& section) { return only_lane(graph, buffers, section, ValueId{i}); });
  }
  for (const PlanStep& step : steps) {
    scratch_places.push_back(arena.lifetimes.size());
    arena.lifetimes.push_back({step.scratch_bytes, step.node.index, step.node.index});
    widen(arena.lifetimes.back(), sections,
          [&](const Section&) { return std::optional<std::size_t>(step.lane); });
  }
  HONE_CHECK(plan_moves(buffers));
  HONE_CHECK(place(arena, device->name(), device->capacity()));
  return place(host_arena, "the host", HostDevice().capacity());
}

Status Plan::State::place(Arena& of, std::string_view where, std::size_t capacity) {
  of.placement = plan_memory(of.lifetimes);
  if (of.placement.arena_bytes <= capacity) return {};
  return invalid(
      fmt::format("a plan of it takes {} of memory, more than there is on {} ({}); give smaller shapes",
                  format_bytes(static_cast<double>(of.placement.arena_bytes)), where,
                  format_bytes(static_cast<double>(capacity))));
}

Status Plan::State::allocate() {
  HONE_ASSIGN(queue, device->make_queue());
  HONE_ASSIGN(arena.memory, device->allocate(arena.placement.arena_bytes + kTensorAlignment));
  // Touch the pages now: the first run is not where they should be mapped. 0xff is a NaN in every float
  // format, so that a read of something never written shows.
  HONE_CHECK(queue->fill(arena.memory.address(), kUnwritten, arena.memory.bytes()));
  if (host_arena.placement.arena_bytes > 0) {
    HONE_ASSIGN(host_arena.memory, device->allocate_staging(host_arena.placement.arena_bytes));
    std::memset(host_arena.memory.address(), std::to_integer<int>(kUnwritten), host_arena.memory.bytes());
  }
  HONE_ASSIGN(fault, device->allocate(sizeof(FaultWord)));
  HONE_ASSIGN(fault_staging, device->allocate_staging(sizeof(FaultWord)));
  HONE_CHECK(queue->fill(fault.address(), std::byte{0}, sizeof(FaultWord)));
  HONE_ASSIGN(recording, queue->make_recording(*this));
  return {};
}

// Constants whose bytes some kernel or reader of outputs wants; what kernels have packed is not among them.
std::vector<bool> Plan::State::constants_read(const BufferAssignment& buffers) const {
  std::vector<bool> read(graph.values().size(), false);
  const auto mark = [&](ValueId id) {
    const ValueId root = buffers.place(id).root;
    if (graph.value(root).is_constant()) read[root.index] = true;
  };
  for (std::size_t s = 0; s < steps.size(); ++s) {
    const Node& node = graph.node(steps[s].node);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i].valid() && kernels[s]->reads(i)) mark(node.inputs[i]);
    }
  }
  for (ValueId output : graph.outputs()) mark(output);
  return read;
}

// In place where the device reads host memory, otherwise as a copy.
Status Plan::State::place_constants(const BufferAssignment& buffers) {
  constant_at.assign(graph.values().size(), nullptr);
  const std::vector<bool> read = constants_read(buffers);
  std::vector<std::size_t> offsets(graph.values().size(), 0);
  std::size_t bytes = 0;
  for (uint32_t i = 0; i < graph.values().size(); ++i) {
    if (!graph.values()[i].is_constant()) continue;
    if (device->host_visible())
      constant_at[i] = static_cast<const std::byte*>(std::as_const(*graph.values()[i].constant).data());
    offsets[i] = bytes;
    if (read[i]) bytes += placed_bytes(graph.values()[i].type.storage_bytes());
  }
  if (device->host_visible()) return {};
  HONE_ASSIGN(constants, device->allocate(bytes));
  for (uint32_t i = 0; i < graph.values().size(); ++i) {
    if (!read[i]) continue;
    const graph::Value& value = graph.values()[i];
    std::byte* const to = constants.address() + offsets[i];
    HONE_CHECK(queue->copy_in(to, std::as_const(*value.constant).data(), value.type.storage_bytes()));
    constant_at[i] = to;
  }
  return queue->wait();
}

void Plan::State::place_values(const BufferAssignment& buffers) {
  addresses.assign(graph.values().size(), nullptr);
  writable.assign(graph.values().size(), nullptr);
  for (uint32_t i = 0; i < graph.values().size(); ++i) {
    const BufferPlace& place = buffers.place(ValueId{i});
    if (const std::byte* data = constant_at[place.root.index]; data != nullptr) {
      addresses[i] = data + place.offset;
    } else if (!graph.value(place.root).is_constant()) {
      const Arena& in = arena_of(place.root);
      writable[i] = in.memory.address() + in.placement.offsets[value_places[place.root.index]] + place.offset;
      addresses[i] = writable[i];
    }
  }
}

void Plan::State::place_outputs() {
  for (ValueId output : graph.outputs()) output_at.push_back(addresses[output.index]);
  for (std::size_t i = 0; i < moves.saved.size(); ++i) {
    saved_at.push_back(arena.memory.address() + arena.placement.offsets[saved_places[i]]);
    output_at[moves.saved[i]] = saved_at[i];
  }
}

void Plan::State::resolve_arguments() {
  std::vector<bool> counted(graph.values().size(), false);
  for (const PlanStep& step : steps) weights_bytes += step.packed_bytes;
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
    for (ValueId id : node.outputs) outputs[s].push_back(id.valid() ? writable[id.index] : nullptr);
    arguments.push_back({inputs[s], outputs[s],
                         arena.memory.address() + arena.placement.offsets[scratch_places[s]],
                         reinterpret_cast<FaultWord*>(fault.address()), static_cast<uint32_t>(s)});
  }
}

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

Status Plan::State::enqueue(Queue& on) {
  watched = check_numbers || scopes_have_listener();
  for (Stretch& stretch : stretches) {
    if (!stretch.lanes.empty()) {
      HONE_CHECK(enqueue_lanes(stretch, on));
      continue;
    }
    if (watched) [[unlikely]] {
      for (std::size_t i = stretch.first; i < stretch.last; ++i) HONE_CHECK(enqueue_watched(i, on));
      continue;
    }
    for (std::size_t i = stretch.first; i < stretch.last; ++i) HONE_CHECK(enqueue_step(i, on));
  }
  HONE_CHECK(enqueue_moves(on));
  if (on.immediate()) return {};
  HONE_CHECK(on.copy_out(fault_staging.address(), fault.address(), sizeof(FaultWord)));
  return on.fill(fault.address(), std::byte{0}, sizeof(FaultWord));
}

Status Plan::State::finish() {
  if (queue->immediate()) return {};
  HONE_CHECK(queue->wait());
  FaultWord found = 0;
  std::memcpy(&found, fault_staging.address(), sizeof found);
  if (found == 0) return {};
  const std::size_t step = step_of_fault(found);
  return failed(step, kernels[step]->fault(code_of_fault(found)));
}

Error interrupted_choice() {
  return {ErrorCode::kCancelled, "interrupted while kernels were chosen; nothing was written"};
}

Plan::Plan(std::unique_ptr<State> state) : state_(std::move(state)) {}
Plan::~Plan() = default;

Result<std::unique_ptr<Plan>> Plan::compile(Graph graph, const Provider& provider,
                                            const PlanOptions& options) {
  HONE_CHECK(check_values(graph, *provider.device()));
  auto state = std::make_unique<State>(std::move(graph), provider.device());
  state->check_numbers = options.check_numbers;
  BufferAssignment buffers(state->graph);
  PlanOptions complete = options;
  if (!complete.keep_going && options.progress) {
    complete.keep_going = [&progress = options.progress, &made = *state] {
      const auto& nodes = made.graph.nodes();
      return progress(made.at_node, nodes.size(),
                      made.at_node < nodes.size() ? nodes[made.at_node].name : "");
    };
  }
  if (complete.step_bytes == 0) complete.step_bytes = step_bytes(state->graph);
  // Nodes of one signature are measured once, whether or not the caller keeps measurements.
  TimingCache of_this_plan;
  if (complete.cache == nullptr) complete.cache = &of_this_plan;
  HONE_CHECK(state->make_kernels(provider, complete, buffers));
  HONE_CHECK(state->overlap(provider, complete, buffers));
  state->find_stretches();
  state->share_buffers(buffers);
  HONE_CHECK(state->plan_arenas(buffers));
  HONE_CHECK(state->allocate());
  HONE_CHECK(state->place_constants(buffers));
  state->place_values(buffers);
  state->place_outputs();
  state->resolve_arguments();
  return std::unique_ptr<Plan>(new Plan(std::move(state)));
}

const Graph& Plan::graph() const { return state_->graph; }
std::span<const PlanStep> Plan::steps() const { return state_->steps; }

PlanMemory Plan::memory() const {
  const Graph& graph = state_->graph;
  PlanMemory memory;
  memory.arena_bytes = state_->arena.placement.arena_bytes;
  memory.arena_lower_bound = state_->arena.placement.lower_bound;
  memory.weights_bytes = state_->weights_bytes;
  memory.host_bytes = state_->host_arena.placement.arena_bytes;
  for (const graph::StatePair& pair : graph.states())
    memory.state_bytes += graph.type(graph.state_input(pair)).storage_bytes();
  for (const graph::StatePair& pair : state_->moves.copied)
    memory.state_copy_bytes += graph.type(graph.state_input(pair)).storage_bytes();
  return memory;
}

Status Plan::write(std::size_t i, const Tensor& tensor) {
  const graph::Value& value = state_->graph.value(state_->graph.inputs()[i]);
  if (tensor.dtype() != value.type.dtype || tensor.shape() != value.type.shape())
    return invalid(fmt::format("input '{}': the plan is for {}, not for {}{}", value.name, value.type.text(),
                               dtype_name(tensor.dtype()), shape_text(tensor.shape())));
  return write_bytes(i, {static_cast<const std::byte*>(tensor.data()), tensor.bytes()});
}

Status Plan::write_bytes(std::size_t i, std::span<const std::byte> bytes) {
  const ValueId id = state_->graph.inputs()[i];
  const graph::Value& value = state_->graph.value(id);
  if (bytes.size() != value.type.storage_bytes())
    return invalid(fmt::format("input '{}' ({}) takes {} bytes, not {}", value.name, value.type.text(),
                               value.type.storage_bytes(), bytes.size()));
  if (!value.type.device.is_host())
    return state_->queue->copy_in(state_->writable[id.index], bytes.data(), bytes.size());
  HONE_CHECK(state_->queue->wait());  // for a run that reads it
  if (!bytes.empty()) std::memcpy(state_->writable[id.index], bytes.data(), bytes.size());
  return {};
}

Result<Tensor> Plan::State::read(ValueId id, const std::byte* from) const {
  const graph::Value& value = graph.value(id);
  if (value.type.layout != Layout::kPlain)
    return unsupported(
        fmt::format("'{}' is {}: only plain layouts can be read", value.name, value.type.text()));
  Tensor result(value.type.dtype, value.type.shape());
  const bool on_host = value.type.device.is_host();
  if (!on_host) HONE_CHECK(queue->copy_out(result.data(), from, result.bytes()));
  HONE_CHECK(queue->wait());
  if (on_host && result.bytes() > 0) std::memcpy(result.data(), from, result.bytes());
  return result;
}

Result<Tensor> Plan::read(std::size_t i) const {
  return state_->read(state_->graph.outputs()[i], state_->output_at[i]);
}

Result<Tensor> Plan::read_input(std::size_t i) const {
  const ValueId id = state_->graph.inputs()[i];
  return state_->read(id, state_->addresses[id.index]);
}

Result<std::vector<Tensor>> Plan::read_all() const {
  std::vector<Tensor> all;
  for (std::size_t i = 0; i < state_->graph.outputs().size(); ++i) {
    HONE_ASSIGN(Tensor output, read(i));
    all.push_back(std::move(output));
  }
  return all;
}

Status Plan::start() {
  State& state = *state_;
  if (state.check_numbers) [[unlikely]]  // it reads between steps: nothing to be taken down
    return state.queue->run(state);
  return state.recording->replay();
}

Status Plan::finish() { return state_->finish(); }

Status Plan::run() {
  const Scope whole(ScopeListener::Kind::kStep, 0);
  HONE_CHECK(start());
  return state_->finish();
}

Result<std::vector<Tensor>> Plan::run(std::span<const Tensor> inputs) {
  HONE_CHECK(check_inputs(state_->graph, inputs));
  for (std::size_t i = 0; i < inputs.size(); ++i) HONE_CHECK(write(i, inputs[i]));
  HONE_CHECK(run());
  return read_all();
}

}  // namespace hone::runtime

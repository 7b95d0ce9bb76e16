// How a plan is made: kernels are chosen, values get their places, and arguments their addresses.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <fmt/core.h>

#include "core/units.h"
#include "runtime/bounded_results.h"
#include "runtime/copy_kernel.h"
#include "runtime/host_border.h"
#include "runtime/host_device.h"
#include "runtime/interpret_control.h"
#include "runtime/plan_state.h"
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

// HONE_ONE_BY_ONE=1: each run gives the device its commands one by one, where a CUDA graph would be replayed. Slower, and
// what a profiler needs that counts single launches (lab/counters/count_plan.h).
bool gives_one_by_one() {
  const char* const wish = std::getenv("HONE_ONE_BY_ONE");
  return wish != nullptr && std::string_view(wish) == "1";
}

// Whether `graph` can be a plan: no value larger than the memory that it lies in, no other device than number 0
// and the host.
Status check_values(const Graph& graph, const Device& device) {
  const std::size_t memory = device.capacity();
  for (const graph::StatePair& pair : graph.states()) {
    const graph::Value& state = graph.value(graph.state_input(pair));
    if (!graph::has_place(state.type))
      return unsupported(
          fmt::format("unsupported: state '{}' has type {}; a plan keeps states whose size is known",
                      state.name, state.type.text()));
  }
  for (const graph::Value& value : graph.values()) {
    if (!value.type.device.is_host() && value.type.device != DeviceId())
      return unsupported(fmt::format("unsupported: '{}' lies on {}; a plan has device0 and the host",
                                     value.name, value.type.device.text()));
    if (!graph::has_place(value.type)) continue;
    if (const auto bytes = static_cast<double>(value.type.storage_bytes());
        bytes > static_cast<double>(memory))
      return invalid(
          fmt::format("'{}' ({}) takes {}, more than the memory of {} ({}); give smaller shapes, or allow "
                      "more with --memory",
                      value.name, value.type.text(), format_bytes(bytes), device.name(),
                      format_bytes(static_cast<double>(memory))));
  }
  return {};
}

std::size_t packed_bytes(std::span<const PlanStep> steps) {
  std::size_t bytes = 0;
  for (const PlanStep& step : steps) bytes += step.packed_bytes;
  return bytes;
}

// What a plan takes of a device with memory of its own, and what of that is free.
std::string needs_text(const PlanMemory& memory, std::span<const PlanStep> steps, const Device& device) {
  const auto text = [](std::size_t bytes) { return format_bytes(static_cast<double>(bytes)); };
  const std::size_t weights = memory.constants_bytes + packed_bytes(steps);
  const std::size_t values = memory.arena_bytes + memory.pipeline_bytes;
  return fmt::format("the plan needs {} of {} ({} for values, {} for weights), where {} of {} are free",
                     text(values + weights), device.name(), text(values), text(weights),
                     text(device.available()), text(device.capacity()));
}

// Before any of it is taken: memory that others hold is known as well as what the plan needs. A device that says only what
// there is in all has been asked before.
Status check_free(const PlanMemory& memory, std::span<const PlanStep> steps, const Device& device) {
  const std::size_t free = device.available();
  if (device.host_visible() || free == device.capacity() ||
      memory.arena_bytes + memory.pipeline_bytes + memory.constants_bytes + packed_bytes(steps) <= free)
    return {};
  return invalid(needs_text(memory, steps, device) +
                 "; close other programs on it (nvidia-smi lists them), or give smaller shapes");
}

}  // namespace

Status Plan::State::make_ahead(Tuner& tuner, const Provider& provider, const PlanOptions& options,
                               const BufferAssignment& buffers) const {
  if (!provider.compiles()) return {};
  std::vector<const Node*> nodes;
  for (uint32_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph.nodes()[i];
    const bool elsewhere = runs_on_host(graph, node) || node.op == "hone.CopyTo";
    if (!buffers.elided(NodeId{i}) && !elsewhere && !told_to_lane(options, NodeId{i})) nodes.push_back(&node);
  }
  const auto go_on = [&](std::size_t made, std::size_t of) {
    if (!options.may_go_on()) return false;
    return !options.progress ||
           options.progress(0, graph.nodes().size(), fmt::format("{} of {} kernels made", made, of));
  };
  if (!tuner.make_ahead(graph, nodes, go_on)) return interrupted_choice();
  return {};
}

Status Plan::State::make_kernels(const Provider& provider, const PlanOptions& options,
                                 const BufferAssignment& buffers) {
  Tuner tuner(provider, options);
  HONE_CHECK(make_ahead(tuner, provider, options, buffers));
  const std::size_t total = graph.nodes().size();
  for (uint32_t i = 0; i < total; ++i) {
    const Node& node = graph.nodes()[i];
    at_node = i;
    if (!options.may_go_on()) return interrupted_choice();
    if (buffers.elided(NodeId{i})) continue;
    if (runs_on_host(graph, node)) {
      HONE_CHECK(add_host_step(NodeId{i}, provider, options));
      continue;
    }
    if (told_to_lane(options, NodeId{i})) {
      add_step(NodeId{i});
      continue;
    }
    auto chosen = choose(node, tuner);
    if (!chosen.ok() && chosen.error().code == ErrorCode::kCancelled) return chosen.error();
    if (!chosen.ok()) return chosen.error().within(fmt::format("node '{}' ({})", node.name, node.op));
    add_step(NodeId{i});
    take_kernel(steps.size() - 1, std::move(*chosen));
  }
  at_node = total;
  if (!options.may_go_on()) return interrupted_choice();
  return {};
}

bool Plan::State::told_to_lane(const PlanOptions& options, NodeId node) {
  if (options.choices == nullptr) return false;
  const auto& told = options.choices->sections;
  return std::any_of(told.begin(), told.end(), [&](const graph::LaneChoice& section) {
    return section.first <= node.index && node.index <= section.last;
  });
}

PlanStep& Plan::State::add_step(NodeId id) {
  kernels.emplace_back();
  host_steps.emplace_back();
  PlanStep& step = steps.emplace_back();
  step.node = id;
  step.name = graph.node(id).name;
  step.op = graph.node(id).op;
  return step;
}

Status Plan::State::add_host_step(NodeId id, const Provider& provider, const PlanOptions& options) {
  const Node& node = graph.node(id);
  std::span<const graph::PlanChoices> of_bodies;
  if (options.choices != nullptr) {  // which check_choices() has found to be one for each step
    of_bodies = options.choices->kernels[steps.size()].bodies;
    if (is_control(node) && of_bodies.size() != node.bodies.size())
      return corrupt(fmt::format("node '{}' has no choices for its bodies", node.name));
  }
  auto made = HostStep::make(graph, node, provider, options, of_bodies);
  if (!made.ok() && made.error().code == ErrorCode::kCancelled) return made.error();
  if (!made.ok()) return made.error().within(fmt::format("node '{}' ({})", node.name, node.op));
  PlanStep& step = add_step(id);
  step.implementation = (*made)->implementation();
  step.choice = why_on_host(graph, node);
  step.on_host = true;
  host_steps.back() = std::move(*made);
  return {};
}

Result<Chosen> Plan::State::choose(const Node& node, Tuner& tuner) const {
  if (node.op == "hone.CopyTo")
    return Chosen{make_copy_kernel(graph.type(node.inputs[0]), graph.type(node.outputs[0])),
                  "the queue's own"};
  return tuner.choose(graph, node);
}

void Plan::State::take_kernel(std::size_t index, Chosen chosen) {
  PlanStep& step = steps[index];
  step.implementation = chosen.kernel->implementation();
  step.algorithm = chosen.kernel->algorithm();
  step.reference = chosen.kernel->is_reference();
  step.scratch_bytes = chosen.kernel->scratch_bytes();
  step.packed_bytes = chosen.kernel->packed_bytes();
  step.choice = std::move(chosen.why);
  step.candidate = std::move(chosen.candidate);
  step.candidates = chosen.of;
  step.microseconds = chosen.microseconds;
  kernels[index] = std::move(chosen.kernel);
}

Status Plan::State::overlap(const Provider& provider, const PlanOptions& options,
                            const BufferAssignment& buffers) {
  if (options.overlap == Overlap::kNever && options.choices == nullptr) return {};
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
    if (!chosen.ok() && chosen.error().code == ErrorCode::kCancelled) return chosen.error();
    if (!chosen.ok()) return failed(i, chosen.error());
    take_kernel(i, std::move(*chosen));
    step.lane = static_cast<int>(lane - section.lanes.begin());
    step.lanes = static_cast<int>(section.lanes.size());
    step.choice += fmt::format("; lane {} of {}: {}", step.lane + 1, step.lanes, choice.why);
  }
  sections.push_back(section);
  section_us.push_back(choice.microseconds);
  return {};
}

const Section* Plan::State::section_of(NodeId node) const {
  const auto found =
      std::find_if(sections.begin(), sections.end(), [&](const Section& s) { return s.holds(node); });
  return found != sections.end() ? &*found : nullptr;
}

std::vector<Stretch> Plan::State::find_stretches() const {
  std::vector<Stretch> stretches;
  const Section* before = nullptr;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Section* section = section_of(steps[i].node);
    if (stretches.empty() || section != before || steps[i].on_host || stretches.back().on_host) {
      stretches.push_back({i, i, steps[i].on_host, {}});
      if (section != nullptr) stretches.back().lanes.resize(section->lanes.size());
    }
    before = section;
    stretches.back().last = i + 1;
    if (section != nullptr)
      stretches.back().lanes[static_cast<std::size_t>(steps[i].lane)].steps.push_back(i);
  }
  return stretches;
}

void Plan::State::find_parts() {
  for (Stretch& stretch : find_stretches()) {
    if (stretch.on_host) {
      parts.push_back({nullptr, stretch.first});
      continue;
    }
    if (parts.empty() || parts.back().segment == nullptr)
      parts.push_back({std::make_unique<Segment>(*this), 0});
    parts.back().segment->stretches.push_back(std::move(stretch));
  }
  if (parts.empty() || parts.back().segment == nullptr)
    parts.push_back({std::make_unique<Segment>(*this), 0});
  parts.back().segment->last = true;
}

void Plan::State::find_last_reads() {
  loose.resize(graph.values().size());
  last_reads.resize(steps.size());
  for (uint32_t i = 0; i < graph.values().size(); ++i) {
    const graph::Value& value = graph.values()[i];
    if (graph::has_place(value.type) || !value.producer.valid() || graph.is_output(ValueId{i})) continue;
    for (std::size_t step = steps.size(); step-- > 0;) {
      const auto& users = graph.users(ValueId{i});
      const bool reads = std::find(users.begin(), users.end(), steps[step].node) != users.end();
      if (!reads && steps[step].node != value.producer) continue;
      last_reads[step].push_back(ValueId{i});
      break;
    }
  }
}

void Plan::State::share_buffers(BufferAssignment& buffers) {
  place_next_values(graph, sections, buffers);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].on_host) continue;
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
    if (value.is_constant() || !graph::has_place(value.type)) continue;
    if (buffers.place(ValueId{i}).root != ValueId{i}) continue;
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
  arena.placement = plan_memory(arena.lifetimes);
  host_arena.placement = plan_memory(host_arena.lifetimes);
  return {};
}

Status Plan::State::check_room() const {
  const auto check = [](const Arena& of, std::string_view where, std::size_t capacity) -> Status {
    if (of.placement.arena_bytes <= capacity) return {};
    return invalid(
        fmt::format("a plan of it takes {} of memory, more than there is on {} ({}); give smaller shapes, or "
                    "allow more with --memory",
                    format_bytes(static_cast<double>(of.placement.arena_bytes)), where,
                    format_bytes(static_cast<double>(capacity))));
  };
  HONE_CHECK(check(arena, device->name(), device->capacity()));
  return check(host_arena, "the host", HostDevice().capacity());
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
  std::memset(fault_staging.address(), 0, sizeof(FaultWord));  // a plan may begin on the host
  return queue->fill(fault.address(), std::byte{0}, sizeof(FaultWord));
}

// A queue may take commands down with the addresses that they have now. Not where numbers are checked: the host reads
// between steps.
Status Plan::State::make_recordings() {
  if (check_numbers) return {};
  const bool one_by_one = gives_one_by_one();
  for (Part& part : parts) {
    if (part.segment == nullptr) continue;
    Segment& segment = *part.segment;
    HONE_ASSIGN(segment.recording,
                one_by_one ? queue->Queue::make_recording(segment) : queue->make_recording(segment));
  }
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
    for (std::size_t i = 0; i < node.inputs.size() && !steps[s].on_host; ++i) {
      if (node.inputs[i].valid() && kernels[s]->reads(i)) mark(node.inputs[i]);
    }
  }
  for (ValueId output : graph.outputs()) mark(output);
  return read;
}

// Where the copies lie of those that are read; SIZE_MAX for others. Behind the last: the bytes of all.
std::vector<std::size_t> Plan::State::constant_offsets(const BufferAssignment& buffers) const {
  const std::vector<bool> read = constants_read(buffers);
  std::vector<std::size_t> offsets(graph.values().size() + 1, SIZE_MAX);
  std::size_t bytes = 0;
  for (uint32_t i = 0; i < graph.values().size() && !device->host_visible(); ++i) {
    if (!read[i]) continue;
    offsets[i] = bytes;
    bytes += placed_bytes(graph.values()[i].type.storage_bytes());
  }
  offsets.back() = bytes;
  return offsets;
}

// In place where the device reads host memory, otherwise as a copy.
Status Plan::State::place_constants(const BufferAssignment& buffers) {
  constant_at.assign(graph.values().size(), nullptr);
  if (device->host_visible()) {
    for (uint32_t i = 0; i < graph.values().size(); ++i)
      if (const graph::Value& value = graph.values()[i]; value.is_constant())
        constant_at[i] = static_cast<const std::byte*>(std::as_const(*value.constant).data());
    return {};
  }
  const std::vector<std::size_t> offsets = constant_offsets(buffers);
  HONE_ASSIGN(constants, device->allocate(constants_bytes));
  for (uint32_t i = 0; i < graph.values().size(); ++i) {
    if (offsets[i] == SIZE_MAX) continue;
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
    } else if (value_places[place.root.index] != SIZE_MAX) {
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

void Plan::State::count_weights() {
  std::vector<bool> counted(graph.values().size(), false);
  for (std::size_t s = 0; s < steps.size(); ++s) {
    weights_bytes += steps[s].packed_bytes;
    const Node& node = graph.node(steps[s].node);
    for (std::size_t i = 0; i < node.inputs.size() && !steps[s].on_host; ++i) {
      const ValueId id = node.inputs[i];
      if (!id.valid() || !kernels[s]->reads(i) || counted[id.index] || !graph.value(id).is_constant())
        continue;
      counted[id.index] = true;
      weights_bytes += graph.type(id).storage_bytes();
    }
  }
}

void Plan::State::resolve_arguments() {
  inputs.resize(steps.size());
  outputs.resize(steps.size());
  for (std::size_t s = 0; s < steps.size(); ++s) {
    const Node& node = graph.node(steps[s].node);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId id = node.inputs[i];
      const bool read = id.valid() && !steps[s].on_host && kernels[s]->reads(i);
      inputs[s].push_back(read ? addresses[id.index] : nullptr);
    }
    for (ValueId id : node.outputs) outputs[s].push_back(id.valid() ? writable[id.index] : nullptr);
    arguments.push_back({inputs[s], outputs[s],
                         arena.memory.address() + arena.placement.offsets[scratch_places[s]],
                         reinterpret_cast<FaultWord*>(fault.address()), static_cast<uint32_t>(s)});
  }
}

Error interrupted_choice() {
  return {ErrorCode::kCancelled, "interrupted while kernels were chosen; nothing was written"};
}

Status Plan::State::decide(const Provider& provider, const PlanOptions& options, BufferAssignment& buffers) {
  if (options.choices != nullptr) HONE_CHECK(check_choices(graph, *options.choices));
  PlanOptions complete = options;
  if (!complete.keep_going && options.progress) {
    complete.keep_going = [this, &progress = options.progress] {
      const auto& nodes = graph.nodes();
      return progress(at_node, nodes.size(), at_node < nodes.size() ? nodes[at_node].name : "");
    };
  }
  if (complete.step_bytes == 0) complete.step_bytes = step_bytes(graph);
  // Nodes of one signature are measured once, whether or not the caller keeps measurements.
  TimingCache of_this_plan;
  if (complete.cache == nullptr) complete.cache = &of_this_plan;
  HONE_CHECK(make_kernels(provider, complete, buffers));
  HONE_CHECK(overlap(provider, complete, buffers));
  find_parts();
  lay_out_requests(options);
  find_last_reads();
  share_buffers(buffers);
  count_weights();
  constants_bytes = constant_offsets(buffers).back();
  return plan_arenas(buffers);
}

Result<PlanForecast> Plan::forecast(Graph graph, const Provider& provider, const PlanOptions& options) {
  HONE_ASSIGN(graph, with_bounded_results(std::move(graph), provider));
  HONE_ASSIGN(graph, with_host_border(std::move(graph)));
  State state(std::move(graph), provider.device());
  BufferAssignment buffers(state.graph);
  HONE_CHECK(state.decide(provider, options, buffers));
  return PlanForecast{state.memory(), std::move(state.steps)};
}

Result<std::unique_ptr<Plan>> Plan::compile(Graph graph, const Provider& provider,
                                            const PlanOptions& options) {
  HONE_ASSIGN(graph, with_bounded_results(std::move(graph), provider));
  HONE_ASSIGN(graph, with_host_border(std::move(graph)));
  HONE_CHECK(check_values(graph, *provider.device()));
  auto state = std::make_unique<State>(std::move(graph), provider.device());
  state->check_numbers = options.check_numbers;
  state->marks = options.marks;
  BufferAssignment buffers(state->graph);
  if (const Status decided = state->decide(provider, options, buffers); !decided.ok()) {
    // Kernels are measured in the device's memory, too: where that is what lacks, what the plan needs says more.
    PlanOptions unmeasured = options;
    unmeasured.autotune = false;
    unmeasured.progress = {};
    State other(state->graph, provider.device());
    BufferAssignment others(other.graph);
    if (!provider.device()->host_visible() && decided.error().code == ErrorCode::kInvalidArgument &&
        other.decide(provider, unmeasured, others).ok())
      HONE_CHECK(check_free(other.memory(), other.steps, *provider.device()));
    return decided.error();
  }
  const auto told = [&state](Status taken) -> Status {
    if (taken.ok() || state->device->host_visible()) return taken;
    return taken.error().within(needs_text(state->memory(), state->steps, *state->device));
  };
  HONE_CHECK(state->check_room());
  HONE_CHECK(check_free(state->memory(), state->steps, *state->device));
  HONE_CHECK(told(state->allocate()));
  HONE_CHECK(told(state->make_request_places()));
  HONE_CHECK(told(state->place_constants(buffers)));
  state->place_values(buffers);
  state->place_outputs();
  state->resolve_arguments();
  HONE_CHECK(state->make_recordings());
  return std::unique_ptr<Plan>(new Plan(std::move(state)));
}

}  // namespace hone::runtime

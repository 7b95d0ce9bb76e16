// What a plan is made of. For the files that make plans (plan_make.cpp) and run them (plan.cpp) alone.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "graph/buffer_assignment.h"
#include "runtime/autotune.h"
#include "runtime/host_step.h"
#include "runtime/memory_plan.h"
#include "runtime/overlap.h"
#include "runtime/overlap_choice.h"
#include "runtime/plan.h"
#include "runtime/request_places.h"
#include "runtime/state_moves.h"

namespace hone::runtime {

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

// Steps [first, last) of a plan: a section where there are lanes, one step of the host, or one step after another.
struct Stretch {
  std::size_t first = 0;
  std::size_t last = 0;
  bool on_host = false;
  std::vector<RunningLane> lanes;
};

struct Plan::State {
  State(graph::Graph g, std::shared_ptr<Device> d) : graph(std::move(g)), device(std::move(d)) {}
  ~State() {
    (void)wait_for_all();  // for what still uses the memory
  }

  // --- making ---
  // Everything that a plan decides: kernels, order, places. Takes no memory of the device.
  Status decide(const Provider& provider, const PlanOptions& options, graph::BufferAssignment& buffers);
  Status make_kernels(const Provider& provider, const PlanOptions& options,
                      const graph::BufferAssignment& buffers);
  // Kernels that are compiled, as many at a time as there are cores.
  Status make_ahead(Tuner& tuner, const Provider& provider, const PlanOptions& options,
                    const graph::BufferAssignment& buffers) const;
  // Which sections run side by side; their steps get the kernels of a lane.
  Status overlap(const Provider& provider, const PlanOptions& options,
                 const graph::BufferAssignment& buffers);
  Status use_lanes(const OverlapChoice& choice, const Provider& provider, const PlanOptions& options);
  PlanStep& add_step(graph::NodeId node);
  Status add_host_step(graph::NodeId node, const Provider& provider, const PlanOptions& options);
  void take_kernel(std::size_t step, Chosen chosen);
  // Whether use_lanes() will bring the node's kernel.
  static bool told_to_lane(const PlanOptions& options, graph::NodeId node);
  const Section* section_of(graph::NodeId node) const;  // null: the node has all of the device
  std::vector<Stretch> find_stretches() const;
  void find_parts();
  void find_last_reads();
  void share_buffers(graph::BufferAssignment& buffers);
  Status plan_moves(const graph::BufferAssignment& buffers);
  Result<Chosen> choose(const graph::Node& node, Tuner& tuner) const;
  Status plan_arenas(const graph::BufferAssignment& buffers);
  Status check_room() const;  // for what plan_arenas() has placed
  PlanMemory memory() const;
  void lay_out_requests(const PlanOptions& options);
  Status make_request_places();
  void count_weights();
  Arena& arena_of(graph::ValueId value) { return graph.type(value).device.is_host() ? host_arena : arena; }
  Status allocate();
  Status place_constants(const graph::BufferAssignment& buffers);
  std::vector<bool> constants_read(const graph::BufferAssignment& buffers) const;
  std::vector<std::size_t> constant_offsets(const graph::BufferAssignment& buffers) const;
  void place_values(const graph::BufferAssignment& buffers);
  void place_outputs();
  void resolve_arguments();
  Status make_recordings();

  // --- running ---
  Status write(std::size_t input, const Tensor& tensor);
  Status check_bytes(const graph::Value& input, std::size_t bytes) const;
  Status write_bytes(std::size_t input, std::span<const std::byte> bytes);
  Status write_from(std::size_t input, std::span<const std::byte> bytes, const Event& written, Event& taken);
  Status run(const std::function<Status()>& meanwhile);
  Status run_unmarked(const std::function<Status()>& meanwhile);
  bool is_listened_to() const { return marks && scopes_have_listener(); }
  Status ready_marks();
  Status run_marked(const std::function<Status()>& meanwhile);
  MarkedInterval marked_run;
  Result<std::vector<Tensor>> read_all() const;
  Status start();
  Status enqueue_stretch(Stretch& stretch, Queue& queue);
  Status enqueue_step(std::size_t step, Queue& queue);
  Status enqueue_watched(std::size_t step, Queue& queue);  // marked, and NaN and Inf looked for
  Status enqueue_moves(Queue& queue) const;
  Status enqueue_lanes(Stretch& stretch, Queue& queue);
  void enqueue_lane(RunningLane& lane, Queue& queue);
  Status finish();
  Status tell_fault();
  bool can_give_ahead() const;
  Status give(std::span<const std::size_t> outputs);
  Status give(std::span<const Tensor> inputs);
  bool is_pipelined() const { return requests != nullptr && can_give_ahead(); }
  Result<TakenRun> take();
  Status check_may_give(bool request) const;
  Status give_request(std::span<const Tensor> inputs);
  Status put_request_in(std::size_t input, const std::byte* from);
  Status put_request_out(std::size_t output, std::byte* to);
  Result<std::vector<Tensor>> run_request(std::span<const Tensor> inputs);
  Result<TakenRun> outcome_of(std::size_t run);
  Result<TakenRun> outcome_of_request(std::size_t run);
  Result<std::vector<Tensor>> tensors_at(std::span<const std::size_t> outputs, const std::byte* from) const;
  Status add_idle(std::size_t run, TakenRun& taken);
  Status wait_for_all();
  Status run_on_host(std::size_t step);
  Status compute_on_host(std::size_t step);  // throws OverMemoryBudget
  Result<Tensor> host_input(graph::ValueId value) const;
  Status keep_host_output(graph::ValueId value, Tensor result);
  Error failed(std::size_t step, const Error& error) const;
  Result<bool> finite(graph::ValueId id, Queue& queue) const;
  Result<bool> finite(std::span<const graph::ValueId> values, Queue& queue) const;
  Result<Tensor> read(graph::ValueId id, const std::byte* from) const;

  graph::Graph graph;
  std::vector<PlanStep> steps;
  std::vector<std::unique_ptr<Kernel>> kernels;       // one a step; null for a step of the host
  std::vector<std::unique_ptr<HostStep>> host_steps;  // one a step; null for a step of the device

  // The device's, in the order in which they must be made; released the other way round.
  std::shared_ptr<Device> device;
  Arena arena, host_arena;  // the second in staging memory
  Memory constants, fault;
  Memory fault_staging;  // where the host reads what `fault` held after a run
  std::unique_ptr<Queue> queue;

  // A run that was given ahead (plan_ahead.cpp).
  struct GivenRun {
    std::unique_ptr<Event> begun, ended;  // of the plan's queue; the second when outputs may be read
    std::vector<std::size_t> outputs;
    bool is_behind_another = false;  // that was not taken yet
    Memory staging;                  // that outputs are read into, but those of requests

    bool is_request = false;
    // Of the queues that carry requests: its inputs are on the device, its outputs are the host's.
    std::unique_ptr<Event> landed, left;
    std::optional<Result<std::vector<Tensor>>> done;  // of a request that ran while it was given
  };
  // One more than may be given: how long the device was idle behind a run is asked of the next.
  std::array<GivenRun, std::max(kMostGiven, kMostRequests) + 1> given_runs;
  std::size_t runs_given = 0, runs_taken = 0;
  std::optional<RequestLayout> request_layout;  // where requests are to be given ahead
  std::unique_ptr<RequestPlaces> requests;      // the same, once memory is taken
  GivenRun& given_run(std::size_t run) { return given_runs[run % given_runs.size()]; }

  // Stretches that the device runs without the host: what a recording takes down.
  struct Segment : Sequence {
    explicit Segment(State& s) : state(s) {}
    Status enqueue(Queue& on) override;
    int lanes() const override;
    State& state;
    std::vector<Stretch> stretches;
    bool last = false;  // moves of states come behind it
    std::unique_ptr<Recording> recording;
  };
  // Either a segment of the device's or a step of the host's.
  struct Part {
    std::unique_ptr<Segment> segment;
    std::size_t host_step = 0;
  };
  std::vector<Part> parts;  // all steps, in order

  std::vector<Tensor> loose;  // of each value that has no place in an arena, while it lives
  std::vector<std::vector<graph::ValueId>> last_reads;  // of each step: loose values that none reads later

  std::vector<const std::byte*> constant_at;     // of each value: device address of its data, null if none
  std::vector<const std::byte*> addresses;       // of each value, once placed
  std::vector<std::byte*> writable;              // the same; null for what lies in a constant
  std::vector<std::vector<const void*>> inputs;  // pointers of each step
  std::vector<std::vector<void*>> outputs;
  std::vector<std::size_t> value_places;    // index into the memory plan of each value that owns memory
  std::vector<std::size_t> scratch_places;  // the same of each step's scratch
  std::vector<std::size_t> saved_places;    // the same of each saved output
  std::vector<KernelArguments> arguments;   // one a step
  std::size_t weights_bytes = 0, constants_bytes = 0;
  bool check_numbers = false;
  bool marks = true;        // PlanOptions::marks
  bool watched = false;     // the run at hand: somebody listens, or numbers are checked
  std::size_t at_node = 0;  // whose kernel is being chosen

  StateMoves moves;                         // behind the last step
  std::vector<std::byte*> saved_at;         // of each saved output
  std::vector<const std::byte*> output_at;  // of each output: where it is read

  std::vector<Section> sections;   // that run side by side
  std::vector<double> section_us;  // of each, where it was measured
  std::atomic<bool> lane_failed{false};
  std::atomic<bool> in_use{false};  // by a call
};

}  // namespace hone::runtime

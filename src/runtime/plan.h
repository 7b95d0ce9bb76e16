// A plan: a graph with static shapes lowered for one provider. Kernels, order and memory offsets are fixed
// when it is made; arena, constants, inputs and outputs lie in the provider's device, and running it
// allocates nothing. One thread at a time: a call that comes while another thread's is under way changes nothing and is an
// error that says so (several plans may run side by side, each with a queue of its own). What one thread writes another may
// write over before it runs: who shares a plan takes turns with run(inputs), which is one call. A plan may outlive its
// provider.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/tensor.h"
#include "graph/graph.h"
#include "graph/plan_choices.h"
#include "runtime/kernel.h"
#include "runtime/provider.h"

namespace hone::runtime {

class TimingCache;

// What compile() returns when it is told to end, and whoever measures for it.
Error interrupted_choice();

// Whether operators that do not depend on each other run side by side, one thread each (overlap.h).
enum class Overlap : uint8_t {
  kNever,
  kMeasured,  // where a trial of both ways shows that it is faster; never without autotune
  kAlways,    // wherever it can be done, faster or not
};

struct PlanOptions {
  bool autotune = true;          // false: a node's first candidate, unmeasured
  double tune_ms_per_node = 20;  // the most time that measuring one node's candidates may take, roughly
  Overlap overlap = Overlap::kMeasured;
  double lane_trials_ms = 20'000;  // for all trials of lanes, roughly; then the sections left stay in order
  std::size_t step_bytes = 0;      // that a step touches: how cold kernels are timed; 0: found from the graph
  TimingCache* cache = nullptr;    // measurements kept from earlier plans; may be null
  // What an earlier plan of this very graph chose on such a provider (Plan::choices): obeyed, and nothing is measured.
  // An error where they are of another graph, or the provider offers them no more. May be null.
  const graph::PlanChoices* choices = nullptr;
  bool check_numbers =
      false;          // after each step, look for NaN and Inf that its inputs did not have (debugging)
  bool marks = true;  // false: no scopes, for a plan that is part of another's step
  // Requests are given ahead (Plan::give): they get places beside the plan's own, on the device and page-locked, so that
  // copies of one go beside the run of another. Nothing where that cannot be (Plan::requests_in_flight).
  bool pipelined = false;
  // Told how many nodes have their kernels, and the next one's name; before the first of them, how far kernels that
  // are compiled are made and lanes tried. False ends compile(), which then returns
  // ErrorCode::kCancelled. May be null.
  std::function<bool(std::size_t done, std::size_t total, const std::string& node)> progress = {};
  // Asked between any two readings of a measurement, with the same effect. Null: progress is asked again.
  std::function<bool()> keep_going = {};

  bool may_go_on() const { return !keep_going || keep_going(); }
};

// One step of a plan as people and traces see it.
struct PlanStep {
  graph::NodeId node;
  std::string name;  // the node's
  std::string op;
  std::string implementation;  // the kernel's
  FastAlgorithm algorithm;     // the kernel's
  std::size_t scratch_bytes = 0;
  std::size_t packed_bytes = 0;
  bool reference = false;  // the provider has no kernel: the interpreter stands in
  std::string choice;      // why this kernel: "fastest of 3: …", "only candidate"
  // The same for PlanOptions::choices of a later plan: the provider's name for the kernel, of how many, and one run's
  // time where it was measured.
  std::string candidate;
  uint32_t candidates = 1;
  double microseconds = 0;
  // Steps that run side by side have lanes, each one thread; a step with one lane has all threads.
  int lane = 0;
  int lanes = 1;
  // Run by the host between the device's (host_step.h), because it has to be; `choice` says why.
  bool on_host = false;
};

// Of the host's clock (core/clock.h).
struct MarkedInterval {
  int64_t begun_ns = 0, ended_ns = 0;
};

struct PlanMemory {
  std::size_t arena_bytes = 0;  // activations and scratch
  std::size_t arena_lower_bound = 0;
  std::size_t weights_bytes = 0;     // constants that kernels read, and what they packed
  std::size_t constants_bytes = 0;   // that constants take as copies, on a device with memory of its own
  std::size_t input_bytes = 0;       // of the arenas: the graph's inputs
  std::size_t output_bytes = 0;      // and its outputs, where they lie beside all else
  std::size_t host_bytes = 0;        // values that the graph keeps in the host's memory
  std::size_t state_bytes = 0;       // of the arenas: what lives from run to run
  std::size_t state_copy_bytes = 0;  // copied when a run ends: states that could not be updated in place
  // Of PlanOptions::pipelined, beside all of the above: a second place of each input and output on the device, and
  // page-locked memory for those of kMostRequests requests.
  std::size_t pipeline_bytes = 0;
  std::size_t pipeline_host_bytes = 0;
};

// A run that was given ahead (Plan::give), once it is over.
struct TakenRun {
  std::vector<Tensor> outputs;  // those asked for; of a request, all
  // That the device had nothing to do between the run before, not taken yet when this one was given, and this one. Of a
  // request: nothing but to wait for its inputs.
  std::optional<double> idle_us;
};

// What a plan would be, before it takes any memory.
struct PlanForecast {
  PlanMemory memory;
  std::vector<PlanStep> steps;
};

class Plan {
 public:
  // Whatever has static types runs on the provider's device. Everything else (control flow, extents known only
  // when they are computed, strings) runs on the host between the kernels, and hone.CopyTo nodes take tensors
  // across: the plan's graph then has more nodes than the one given. `provider` must outlive a plan with such
  // steps.
  static Result<std::unique_ptr<Plan>> compile(graph::Graph graph, const Provider& provider,
                                               const PlanOptions& options = {});
  // What compile() would make of it, to the byte as long as the same kernels are chosen: they are chosen, and every value
  // gets its place, but no memory of the device is taken. No error for what has no room there.
  static Result<PlanForecast> forecast(graph::Graph graph, const Provider& provider,
                                       const PlanOptions& options = {});
  ~Plan();
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  const graph::Graph& graph() const;
  std::span<const PlanStep> steps() const;
  PlanMemory memory() const;
  // How what run() told the listener of marks last came about; how it will be is not known before.
  MarkTimes mark_times() const;
  // The kernels that a device's own records name, where that is how (MarkTimes::How::kWithinReplay).
  std::span<const MarkedKernel> marked_kernels() const;
  // Before run() takes its time, when somebody listens; run() does it itself. For who takes the time of more than it.
  Status ready_marks();
  // Of the last run() that somebody listened to: without what making ready and telling marks took.
  MarkedInterval marked_run() const;
  // For a later plan of graph(), the border with the host drawn.
  graph::PlanChoices choices() const;

  // Input and output number `i`, copied to and from the device. What is written stays for every later run;
  // what is read is of the last one. A tensor of another type or size is an error.
  // A state (Graph::states()) becomes its next value in each run; after one that ended with an error it is what
  // the run had made of it so far: write it anew.
  Status write(std::size_t i, const Tensor& tensor);
  Status write_bytes(std::size_t i, std::span<const std::byte> bytes);  // in the layout of the input's type
  // The same from the device's own memory, once `written` is complete; `taken` is recorded behind the copy.
  Status write_from(std::size_t i, std::span<const std::byte> bytes, const Event& written, Event& taken);
  Result<Tensor> read(std::size_t i) const;
  Result<Tensor> read_input(std::size_t i) const;  // as written; of a state, its value now
  Result<std::vector<Tensor>> read_all() const;

  // Runs once over what was written, and waits until the device has. Marks a kStep scope and a kOperator
  // scope a step (id: the step's index), as the device ran them: those of lanes overlap. A run whose times the
  // device lost marks nothing (mark_times()). An error in the data names its node; of several, one. Where the queue
  // is immediate the steps after it do not run.
  // `meanwhile` is what the host does between giving the device the run and waiting for it, where the queue is not immediate.
  Status run(const std::function<Status()>& meanwhile = {});
  // The two halves of run(): give the device a run, wait for it. For hosts with something else to do
  // meanwhile; one run at a time.
  Status start();
  Status finish();
  // Runs given ahead, for a host that must see some outputs of each: it looks at those of a run while the device has the next
  // one already. Not on a queue that is immediate, with steps of the host's between, or while somebody listens to marks.
  bool can_give_ahead() const;
  // Gives a run, and has `outputs` read behind it; returns without waiting. At most kMostGiven may be given and not taken;
  // what is written meanwhile is for the next. An error of the data may show in a run that was given behind it.
  Status give(std::span<const std::size_t> outputs);
  static constexpr std::size_t kMostGiven = 2;
  // Gives a request: a run over inputs of its own, a tensor for each, which may change once this returns; take() brings all
  // outputs. A plan that is made for it (PlanOptions::pipelined, can_give_ahead()) does not wait: inputs go to the device
  // beside earlier requests' runs, outputs leave it beside later ones'. Every other plan runs at once, and keeps what comes
  // of it for take(). Inputs of another type or shape are this call's error and change nothing; what goes wrong in the run
  // is told by its own take(). At most kMostRequests may be given and not taken, and none while runs of the kind above are.
  Status give(std::span<const Tensor> inputs);
  static constexpr std::size_t kMostRequests = 3;  // one on its way in, one that runs, one on its way out
  // Requests that are on their way at once where each is given as soon as it may be: kMostRequests, or 1 where each runs
  // while it is given.
  std::size_t requests_in_flight() const;
  // Waits for the first that was given and not taken. An error of a request's data is that request's alone; after any
  // other all that were given are over, and none is to be taken.
  Result<TakenRun> take();
  std::size_t untaken() const;  // runs given and not taken
  // Copies in, runs, copies out into new tensors.
  Result<std::vector<Tensor>> run(std::span<const Tensor> inputs);

 private:
  struct State;
  explicit Plan(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace hone::runtime

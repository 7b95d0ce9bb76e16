// Kernel choice by measurement: the candidates of a node run in turns, with the caches as a step leaves them;
// the fastest is kept and remembered.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "core/result.h"
#include "runtime/kernel_timer.h"
#include "runtime/made_ahead.h"
#include "runtime/plan.h"
#include "runtime/provider.h"
#include "runtime/timing_cache.h"

namespace hone::runtime {

struct Chosen {
  std::unique_ptr<Kernel> kernel;
  std::string why;  // "only candidate", "fastest of 3: 41.0 µs, next 55.2 µs", "fastest of 3 (remembered)"
  std::string candidate = {};
  uint32_t of = 1;          // candidates
  double microseconds = 0;  // of one run, where it was measured
};

// Bytes that one step of `graph` goes through: its constants, and activations in a buffer reused. What a node
// finds in the caches is what a step of this size leaves there.
std::size_t step_bytes(const graph::Graph& graph);

// A kernel being compared. `time` takes one reading of how long it runs.
struct Contender {
  std::function<Result<double>()> time;
  std::vector<double> readings;  // µs
  bool failed = false;

  double estimate(const ReadingRules& rules = {}) const;  // infinity without readings
};

// Times the contenders in turns (A B C A B C …), so that what disturbs the machine for a while disturbs all.
// One that is clearly slower than another sits out the rest. Ends when `budget_ms` is spent and each has
// rules.least, or earlier when it is clear who wins, or when `keep_going`, asked between any two
// readings, says false: then it returns false.
bool run_rounds(std::span<Contender> contenders, double budget_ms, const ReadingRules& rules = {},
                const std::function<bool()>& keep_going = {});

class Tuner {
 public:
  // For the nodes of a step that touches options.step_bytes, run in such a share of the device. `provider`
  // and the cache of `options` must outlive the tuner.
  Tuner(const Provider& provider, const PlanOptions& options, Share share = Share::kDevice);
  Tuner(const Tuner&) = delete;  // cache_ may be its own
  Tuner& operator=(const Tuner&) = delete;

  // Makes what choose() will want of these nodes, which stay where they are, and keeps it until then. Told and ended
  // as MadeAhead::make() is.
  bool make_ahead(const graph::Graph& graph, std::span<const graph::Node* const> nodes,
                  const std::function<bool(std::size_t made, std::size_t of)>& go_on);
  // The same for nodes that seconds() is asked about next, where kernels are compiled: one after another, a hundred texts take
  // a compiler half a minute. What of it nobody has asked for is dropped with the result, before the graph goes.
  class Ahead {
   public:
    explicit Ahead(MadeAhead& made) : made_(made) {}
    ~Ahead() { made_.drop(); }
    Ahead(const Ahead&) = delete;
    Ahead& operator=(const Ahead&) = delete;

   private:
    MadeAhead& made_;
  };
  [[nodiscard]] Ahead prepare(const graph::Graph& graph, std::span<const graph::Node* const> nodes);
  // The kernel for `node`. Candidates that cannot be made are passed over; an error if none can be.
  Result<Chosen> choose(const graph::Graph& graph, const graph::Node& node);
  // Seconds of one run of the node's fastest kernel, remembered or measured now; an error if it has none.
  Result<double> seconds(const graph::Graph& graph, const graph::Node& node);
  // The same, if it is remembered.
  std::optional<double> remembered(const graph::Graph& graph, const graph::Node& node) const;
  // The same, timed anew and not remembered; an error where nothing is.
  Result<double> seconds_now(const graph::Graph& graph, const graph::Node& node);
  // Times the node's fastest kernel once more and remembers the shorter time: a machine may be slow for
  // longer than all readings of one node take. For later, after other nodes; nothing where nothing is
  // remembered.
  void look_again(const graph::Graph& graph, const graph::Node& node);
  // As if it had been measured.
  void remember(const graph::Graph& graph, const graph::Node& node, TimingCache::Entry entry);
  // The next plan measures this node again: its reading was disturbed.
  void forget(const graph::Graph& graph, const graph::Node& node);

 private:
  // An error for what only the host can run.
  Result<std::vector<Candidate>> candidates_of(const graph::Graph& graph, const graph::Node& node) const;
  Result<Chosen> choose_as_told(const graph::Graph& graph, const graph::Node& node);
  Result<Chosen> first_that_can_be_made(const std::vector<Candidate>& candidates, const graph::Node& node);
  Result<std::unique_ptr<Kernel>> make(const Candidate& candidate, const graph::Node& node);
  Result<Chosen> measure(const graph::Graph& graph, const graph::Node& node,
                         const std::vector<Candidate>& candidates);
  Contender contender(Sandbox& sandbox, Kernel& kernel);

  const Provider& provider_;
  const Share share_;
  PlanOptions options_;
  TimingCache own_;  // where the options name no cache
  TimingCache& cache_;
  Result<std::unique_ptr<KernelTimer>> timer_;  // an error where the device has none
  std::string key_;                             // of the provider, in the cache
  MadeAhead ahead_;
};

}  // namespace hone::runtime

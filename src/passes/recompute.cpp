#include "passes/recompute.h"

#include <algorithm>
#include <limits>

#include <fmt/core.h>

#include "core/units.h"
#include "graph/buffer_assignment.h"
#include "graph/builder.h"
#include "graph/op_table.h"
#include "graph/training/step_part.h"
#include "passes/recompute_copy.h"
#include "passes/recompute_schedule.h"

namespace hone::passes {
namespace {

using graph::Graph;
using graph::GraphBuilder;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

// Smaller values are not worth an operator.
constexpr std::ptrdiff_t kLeastBytes = 4096;
// So many of the best by bytes for work are tried before the rest.
constexpr std::size_t kTried = 8;

// What lies idle at the peak, and what would have to run again for it.
struct Candidate {
  Drop drop;
  double score = 0;  // bytes for work
};

class Walk {
 public:
  Walk(Schedule& schedule, std::ptrdiff_t limit) : schedule_(schedule), limit_(limit) {}

  // Until no more than the limit is alive at once, or nothing helps.
  void run() {
    const std::size_t most_drops = 4 * schedule_.size();
    for (std::size_t i = 0; i < most_drops; ++i) {
      now_ = schedule_.profile(limit_);
      if (now_.most <= limit_ || !drop_one()) return;
    }
  }

 private:
  bool drop_one() {
    std::vector<Candidate> candidates;
    for (const std::vector<uint32_t>& buffers : schedule_.idle_at(now_.peak, kLeastBytes)) {
      std::optional<Drop> drop = schedule_.plan_drop(buffers, now_.peak);
      if (drop) candidates.push_back({*std::move(drop), 0});
    }
    for (Candidate& c : candidates) c.score = static_cast<double>(c.drop.bytes) / (c.drop.work + 1);
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate& a, const Candidate& b) { return a.score > b.score; });
    const Drop* best = nullptr;
    double best_gain = 0;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (i >= kTried && best != nullptr) break;
      const double gain = gain_of(candidates[i].drop);
      if (gain > best_gain) {
        best_gain = gain;
        best = &candidates[i].drop;
      }
    }
    if (best == nullptr) return false;
    schedule_.apply(*best);
    return true;
  }

  // By how much less the budget is exceeded, for the work; 0: the peak would be higher.
  double gain_of(const Drop& drop) {
    const Applied applied = schedule_.apply(drop);
    const Profile after = schedule_.profile(limit_);
    schedule_.undo(applied);
    if (after.most > now_.most || after.excess >= now_.excess) return 0;
    return (now_.excess - after.excess) / (drop.work + 1);
  }

  Schedule& schedule_;
  std::ptrdiff_t limit_;
  Profile now_;
};

// The graph in the schedule's order, with its copies.
class Writer {
 public:
  Writer(const Graph& graph, const Schedule& schedule)
      : graph_(graph), schedule_(schedule), builder_(graph), ids_(schedule.value_count()) {
    for (uint32_t i = 0; i < graph.values().size(); ++i) ids_[i] = ValueId{i};
  }

  Result<Graph> write(std::vector<Note>& done) {
    std::vector<NodeId> order;
    for (const ScheduledNode& scheduled : schedule_.nodes()) {
      if (scheduled.copy) {
        HONE_ASSIGN(const NodeId made, add_copy(scheduled));
        order.push_back(made);
        done.push_back({graph_.node(scheduled.source).name, "computed again where it is read later"});
        continue;
      }
      for (std::size_t i = 0; i < scheduled.inputs.size(); ++i)
        if (scheduled.inputs[i] != kNoScheduled && scheduled.inputs[i] >= graph_.values().size())
          builder_.replace_input(scheduled.source, i, ids_[scheduled.inputs[i]]);
      order.push_back(scheduled.source);
    }
    builder_.reorder(order);
    return std::move(builder_).finish();
  }

 private:
  Result<NodeId> add_copy(const ScheduledNode& scheduled) {
    const Node& source = graph_.node(scheduled.source);
    std::vector<bool> wanted;
    for (const uint32_t output : scheduled.outputs) wanted.push_back(output != kNoScheduled);
    HONE_ASSIGN(CopiedNode copy, copy_of(graph_, source, wanted));
    for (std::size_t i = 0; i < copy.node.inputs.size(); ++i)
      if (copy.inputs[i] != kNoScheduled) copy.node.inputs[i] = ids_[scheduled.inputs[copy.inputs[i]]];
    std::vector<std::string> names;
    std::vector<graph::TensorType> types;
    for (const uint32_t output : copy.outputs) {
      const bool is_there = output != kNoScheduled && scheduled.outputs[output] != kNoScheduled;
      names.push_back(is_there ? graph_.value(source.outputs[output]).name + ".again" : "");
      types.push_back(is_there ? graph_.type(source.outputs[output]) : graph::TensorType{});
    }
    const std::size_t first = builder_.nodes().size();
    HONE_ASSIGN(const std::vector<ValueId> made, builder_.try_add(std::move(copy.node), names));
    if (graph::part_of_step(source) != graph::StepPart::kNone)
      graph::mark_part(builder_, first, graph::StepPart::kBackward);
    NodeId id;
    for (std::size_t i = 0; i < made.size(); ++i) {
      if (!made[i].valid()) continue;
      builder_.set_type(made[i], types[i]);
      ids_[scheduled.outputs[copy.outputs[i]]] = made[i];
      id = builder_.value(made[i]).producer;
    }
    return id;
  }

  const Graph& graph_;
  const Schedule& schedule_;
  GraphBuilder builder_;
  std::vector<ValueId> ids_;  // of the schedule's values
};

double flops_of(const Graph& graph) {
  double flops = 0;
  for (const Node& node : graph.nodes()) flops += graph::node_cost(graph, node).flops;
  return flops;
}

}  // namespace

Result<Recomputation> recompute(const Graph& graph, const RecomputeOptions& options) {
  Schedule schedule(graph, options.scratch);
  const auto limit = static_cast<std::ptrdiff_t>(
      std::min<std::size_t>(options.bytes, std::numeric_limits<std::ptrdiff_t>::max()));
  Recomputation made{graph, 0, 0, 0, flops_of(graph), 0, {}};
  made.peak_before = static_cast<std::size_t>(schedule.profile(limit).most);
  Walk(schedule, limit).run();
  made.peak = static_cast<std::size_t>(schedule.profile(limit).most);
  HONE_ASSIGN(made.graph, Writer(graph, schedule).write(made.done));
  made.operators = static_cast<int>(made.graph.nodes().size()) - static_cast<int>(graph.nodes().size());
  made.flops = flops_of(made.graph);
  return made;
}

}  // namespace hone::passes

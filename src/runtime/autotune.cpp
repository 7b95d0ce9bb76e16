#include "runtime/autotune.h"

#include <algorithm>
#include <array>
#include <limits>
#include <set>

#include <fmt/core.h>

#include "core/clock.h"
#include "core/statistics.h"
#include "graph/buffer_assignment.h"
#include "runtime/host_border.h"

namespace hone::runtime {
namespace {

using graph::Graph;
using graph::Node;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

constexpr std::size_t kLookAgainReadings = 2;
// µs: longer than a time slice lost to another program, and than what code and memory never used before cost.
// A reading so long counts from the first on.
constexpr double kLong = 5000;

double best_of(const Contender& contender) {
  return contender.readings.empty() ? kInfinity
                                    : *std::min_element(contender.readings.begin(), contender.readings.end());
}

// Whether a contender cannot win any more, given the best reading of all. One reading says little, unless it
// is long by far more than another program can have taken of it.
bool hopeless(const Contender& contender, double best, const ReadingRules& rules) {
  const double own = best_of(contender);
  switch (contender.readings.size()) {
    case 0:
      return false;
    case 1:
      return own > rules.out_after_one * best && (rules.first_counts || own - best > 1.6 * kLong);
    case 2:
    case 3:
      return own > rules.out_after_two * best;
    default:
      return own > rules.out_after_four * best;
  }
}

// Times those still in; returns who is left: nobody where `keep_going` ended it, and `ended` is set.
std::vector<Contender*> run_round(const std::vector<Contender*>& running, const ReadingRules& rules,
                                  const std::function<bool()>& keep_going, bool& ended) {
  double best = kInfinity;
  for (Contender* contender : running) {
    ended = keep_going && !keep_going();
    if (ended) return {};
    const Result<double> reading = contender->time();
    contender->failed = !reading.ok();
    if (reading.ok()) contender->readings.push_back(*reading);
    if (reading.ok()) best = std::min(best, best_of(*contender));
  }
  std::vector<Contender*> left;
  for (Contender* contender : running) {
    if (!contender->failed && !hopeless(*contender, best, rules)) left.push_back(contender);
  }
  return left;
}

// What the options say of `node`, which is one of `graph`'s; null where they say nothing.
const graph::KernelChoice* told_kernel(const Graph& graph, const Node& node,
                                       const graph::PlanChoices* choices) {
  if (choices == nullptr) return nullptr;
  const graph::NodeId id{static_cast<uint32_t>(&node - graph.nodes().data())};
  const auto found = std::lower_bound(
      choices->kernels.begin(), choices->kernels.end(), id,
      [](const graph::KernelChoice& choice, graph::NodeId wanted) { return choice.node < wanted; });
  return found != choices->kernels.end() && found->node == id ? &*found : nullptr;
}

}  // namespace

double Contender::estimate(const ReadingRules& rules) const {
  return readings.empty() ? kInfinity : quantile(readings, rules.quantile);
}

bool run_rounds(std::span<Contender> contenders, double budget_ms, const ReadingRules& rules,
                const std::function<bool()>& keep_going) {
  const int64_t end = now_ns() + static_cast<int64_t>(budget_ms * 1e6);
  std::vector<Contender*> running;
  for (Contender& contender : contenders) running.push_back(&contender);
  bool ended = false;
  running = run_round(running, rules, keep_going, ended);
  for (Contender* contender : running) {
    if (!rules.first_counts && best_of(*contender) < kLong) contender->readings.clear();
  }
  while (!running.empty()) {
    std::size_t readings = rules.most;  // that each has
    for (const Contender* contender : running) readings = std::min(readings, contender->readings.size());
    if (readings >= rules.most || (readings >= rules.least && now_ns() >= end)) return true;
    if (running.size() == 1 && readings >= rules.alone) return true;
    running = run_round(running, rules, keep_going, ended);
  }
  return !ended;
}

std::size_t step_bytes(const Graph& graph) {
  std::size_t constants = 0, largest = 0;
  for (const graph::Value& value : graph.values()) {
    if (!graph::has_place(value.type)) continue;
    const std::size_t bytes = value.type.storage_bytes();
    if (value.is_constant())
      constants += bytes;
    else
      largest = std::max(largest, bytes);
  }
  return constants + 2 * largest;
}

Tuner::Tuner(const Provider& provider, const PlanOptions& options, Share share)
    : provider_(provider),
      share_(share),
      options_(options),
      cache_(options.cache != nullptr ? *options.cache : own_),
      timer_(provider.make_timer(options.step_bytes, share)),
      key_(provider.signature(share) + (timer_.ok() ? (*timer_)->conditions() : "")) {}

// Equal nodes are measured once, on the first of them; the others want the one kernel that wins, which nobody knows yet.
bool Tuner::make_ahead(const Graph& graph, std::span<const Node* const> nodes,
                       const std::function<bool(std::size_t made, std::size_t of)>& go_on) {
  std::vector<MadeAhead::Wanted> wanted;
  std::set<std::string> seen;
  for (const Node* const node : nodes) {
    auto candidates = candidates_of(graph, *node);
    if (!candidates.ok() || candidates->empty()) continue;  // choose() says why
    if (!options_.autotune) candidates->resize(1);
    if (candidates->size() > 1) {
      const std::string signature = node_signature(graph, *node);
      const auto known = cache_.find(key_, signature);
      const auto remembered = std::find_if(
          candidates->begin(), candidates->end(),
          [&](const Candidate& candidate) { return known && candidate.name == known->candidate; });
      if (remembered != candidates->end())
        candidates = std::vector<Candidate>{*remembered};
      else if (!seen.insert(signature).second)
        continue;
    }
    for (Candidate& candidate : *candidates)
      if (!candidate.reference) wanted.push_back({node, std::move(candidate)});
  }
  return ahead_.make(wanted, go_on);
}

Tuner::Ahead Tuner::prepare(const Graph& graph, std::span<const Node* const> nodes) {
  if (provider_.compiles() && nodes.size() > 0)
    (void)make_ahead(graph, nodes, [this](std::size_t, std::size_t) { return options_.may_go_on(); });
  return Ahead(ahead_);
}

Result<std::unique_ptr<Kernel>> Tuner::make(const Candidate& candidate, const Node& node) {
  if (auto made = ahead_.take(node, candidate.name)) return made;
  return candidate.make();
}

Result<Chosen> Tuner::first_that_can_be_made(const std::vector<Candidate>& candidates, const Node& node) {
  Error last = unsupported(
      fmt::format("unsupported: {} (provider {} has no kernel for it)", node.op, provider_.name()));
  for (const Candidate& candidate : candidates) {
    auto kernel = make(candidate, node);
    if (kernel.ok())
      return Chosen{
          std::move(*kernel),
          candidates.size() == 1 ? "only candidate" : "first of " + std::to_string(candidates.size()),
          candidate.name, static_cast<uint32_t>(candidates.size())};
    last = kernel.error();
  }
  return last;
}

Result<std::vector<Candidate>> Tuner::candidates_of(const Graph& graph, const graph::Node& node) const {
  if (const std::string why = why_on_host(graph, node); !why.empty())
    return unsupported("unsupported: no kernel of a device takes it: " + why);
  HONE_ASSIGN(std::vector<Candidate> candidates, provider_.candidates(graph, node, share_));
  const graph::KernelChoice* const told = told_kernel(graph, node, options_.choices);
  if (told == nullptr) return candidates;
  std::erase_if(candidates, [&](const Candidate& candidate) { return candidate.name != told->candidate; });
  if (candidates.empty())
    return unsupported(
        fmt::format("kernel '{}' was chosen for it, which provider {} does not offer here; choose anew",
                    told->candidate, provider_.name()));
  candidates.resize(1);
  return candidates;
}

Result<Chosen> Tuner::choose_as_told(const Graph& graph, const Node& node) {
  const graph::KernelChoice& told = *told_kernel(graph, node, options_.choices);
  HONE_ASSIGN(const std::vector<Candidate> candidates, candidates_of(graph, node));
  HONE_ASSIGN(Chosen chosen, first_that_can_be_made(candidates, node));
  chosen.of = told.of;
  chosen.microseconds = told.microseconds;
  if (told.of > 1)
    chosen.why = told.microseconds > 0
                     ? fmt::format("fastest of {} when it was chosen: {:.1f} µs", told.of, told.microseconds)
                     : fmt::format("first of {} when it was chosen", told.of);
  return chosen;
}

Result<Chosen> Tuner::choose(const Graph& graph, const Node& node) {
  if (options_.choices != nullptr) return choose_as_told(graph, node);
  HONE_ASSIGN(const std::vector<Candidate> candidates, candidates_of(graph, node));
  if (!options_.autotune || candidates.size() < 2) return first_that_can_be_made(candidates, node);
  if (const auto known = cache_.find(key_, node_signature(graph, node))) {
    for (const Candidate& candidate : candidates) {
      if (candidate.name != known->candidate) continue;
      auto kernel = make(candidate, node);
      if (kernel.ok())
        return Chosen{
            std::move(*kernel),
            fmt::format("fastest of {} (remembered): {:.1f} µs", candidates.size(), known->microseconds),
            candidate.name, static_cast<uint32_t>(candidates.size()), known->microseconds};
    }
  }
  return measure(graph, node, candidates);
}

Contender Tuner::contender(Sandbox& sandbox, Kernel& kernel) {
  return {(*timer_)->stopwatch(sandbox, kernel), {}, false};
}

Result<Chosen> Tuner::measure(const Graph& graph, const Node& node,
                              const std::vector<Candidate>& candidates) {
  Error last = unsupported(
      fmt::format("unsupported: {} (provider {} has no kernel for it)", node.op, provider_.name()));
  HONE_CHECK(timer_);
  HONE_ASSIGN(const std::unique_ptr<Sandbox> sandbox, (*timer_)->sandbox(graph, node));
  std::vector<std::unique_ptr<Kernel>> kernels;
  std::vector<const Candidate*> made;
  for (const Candidate& candidate : candidates) {
    if (!options_.may_go_on()) return interrupted_choice();  // packing large weights takes its time, too
    auto kernel = make(candidate, node);
    if (!kernel.ok()) {
      last = kernel.error();
      continue;
    }
    kernels.push_back(std::move(*kernel));
    made.push_back(&candidate);
  }
  if (kernels.empty()) return last;
  std::vector<Contender> contenders;
  for (const auto& kernel : kernels) contenders.push_back(contender(*sandbox, *kernel));
  const ReadingRules rules = (*timer_)->rules();
  if (!run_rounds(contenders, options_.tune_ms_per_node, rules, options_.keep_going))
    return interrupted_choice();
  std::vector<double> times;
  for (const Contender& contender : contenders)
    times.push_back(contender.failed ? kInfinity : contender.estimate(rules));
  // One that fails on made-up data may do on real data: kept where there is no other.
  const auto best = static_cast<std::size_t>(std::min_element(times.begin(), times.end()) - times.begin());
  const double time = times[best];
  times.erase(times.begin() + static_cast<std::ptrdiff_t>(best));
  const double next = times.empty() ? kInfinity : *std::min_element(times.begin(), times.end());
  if (time < kInfinity) cache_.put(key_, node_signature(graph, node), {made[best]->name, time});
  return Chosen{std::move(kernels[best]),
                fmt::format("fastest of {}: {:.1f} µs, next {:.1f} µs", candidates.size(), time, next),
                made[best]->name, static_cast<uint32_t>(candidates.size()), time < kInfinity ? time : 0};
}

Result<double> Tuner::seconds_now(const Graph& graph, const Node& node) {
  const auto known = cache_.find(key_, node_signature(graph, node));
  if (!known) return not_found(fmt::format("node '{}' ({}) was not timed before", node.name, node.op));
  HONE_ASSIGN(const std::vector<Candidate> candidates, candidates_of(graph, node));
  const auto fastest = std::find_if(candidates.begin(), candidates.end(), [&](const Candidate& candidate) {
    return candidate.name == known->candidate;
  });
  if (fastest == candidates.end())
    return not_found(fmt::format("node '{}' ({}) has no kernel '{}'", node.name, node.op, known->candidate));
  HONE_ASSIGN(const std::unique_ptr<Kernel> kernel, fastest->make());
  HONE_CHECK(timer_);
  HONE_ASSIGN(const std::unique_ptr<Sandbox> sandbox, (*timer_)->sandbox(graph, node));
  std::array<Contender, 1> only = {contender(*sandbox, *kernel)};
  ReadingRules rules = (*timer_)->rules();
  rules.least = kLookAgainReadings;
  if (!run_rounds(only, options_.tune_ms_per_node / 2, rules, options_.keep_going))
    return interrupted_choice();
  if (only[0].failed)
    return invalid(fmt::format("node '{}' ({}): no kernel runs on made-up data", node.name, node.op));
  return only[0].estimate(rules) * 1e-6;
}

void Tuner::look_again(const Graph& graph, const Node& node) {
  const std::string signature = node_signature(graph, node);
  const auto known = cache_.find(key_, signature);
  const auto now = known ? seconds_now(graph, node) : Result<double>(Error{});
  if (now.ok()) cache_.put(key_, signature, {known->candidate, std::min(known->microseconds, *now * 1e6)});
}

std::optional<double> Tuner::remembered(const Graph& graph, const Node& node) const {
  const auto entry = cache_.find(key_, node_signature(graph, node));
  return entry ? std::optional(entry->microseconds * 1e-6) : std::nullopt;
}

// What is remembered counts where there is such a kernel here: a lane of one thread has the key of a device of one, and fewer
// kernels.
Result<double> Tuner::seconds(const Graph& graph, const Node& node) {
  HONE_ASSIGN(const std::vector<Candidate> candidates, candidates_of(graph, node));
  if (const auto known = cache_.find(key_, node_signature(graph, node))) {
    for (const Candidate& candidate : candidates)
      if (candidate.name == known->candidate) return known->microseconds * 1e-6;
  }
  HONE_CHECK(measure(graph, node, candidates));
  if (const auto known = remembered(graph, node)) return *known;
  return invalid(fmt::format("node '{}' ({}): no kernel runs on made-up data", node.name, node.op));
}

void Tuner::remember(const Graph& graph, const Node& node, TimingCache::Entry entry) {
  cache_.put(key_, node_signature(graph, node), std::move(entry));
}

void Tuner::forget(const Graph& graph, const Node& node) { cache_.erase(key_, node_signature(graph, node)); }

}  // namespace hone::runtime

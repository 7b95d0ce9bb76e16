#include "runtime/overlap_choice.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <unordered_set>

#include <fmt/core.h>

#include "core/clock.h"
#include "core/hash.h"
#include "graph/builder.h"
#include "runtime/autotune.h"
#include "runtime/host_border.h"
#include "runtime/timing_cache.h"

namespace hone::runtime {
namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

// Starting and joining the lanes: what a section must gain at least to be tried.
constexpr double kSectionUs = 2;
constexpr double kLeastGainNs = 500;  // and at least this much
constexpr double kMargin = 0.97;      // lanes must take less than this share of the time in order
constexpr double kBudgetNs = 60e6;    // of a trial, roughly
constexpr double kSlotNs = 50e3;      // the least that is timed at once: the clock must not matter
constexpr std::size_t kMostRounds = 60;
constexpr std::size_t kLeastRounds = 5;

constexpr const char* kOverlap = "side by side";
constexpr const char* kInOrder = "one after another";

// Calls of `plan` in nanoseconds each; the first error ends it.
Result<double> time_calls(Plan& plan, int calls) {
  const int64_t start = now_ns();
  for (int i = 0; i < calls; ++i) HONE_CHECK(plan.run());
  return static_cast<double>(now_ns() - start) / calls;
}

double median_of(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

struct BothWays {
  double in_order_ns = 0;
  double overlap_ns = 0;
};

Result<BothWays> measure(Plan& in_order, Plan& overlap, const PlanOptions& options) {
  double longest = 0;
  for (Plan* plan : {&in_order, &overlap}) {
    HONE_CHECK(time_calls(*plan, 2));
    HONE_ASSIGN(const double once, time_calls(*plan, 1));
    longest = std::max(longest, once);
  }
  const int calls = std::max(1, static_cast<int>(std::ceil(kSlotNs / std::max(longest, 1.0))));
  std::vector<double> a, b;
  const int64_t end = now_ns() + static_cast<int64_t>(kBudgetNs);
  while (a.size() < kLeastRounds || (a.size() < kMostRounds && now_ns() < end)) {
    if (!options.may_go_on()) return interrupted_choice();
    // Which comes first alternates: a clock that speeds up favours nobody.
    const bool in_order_first = a.size() % 2 == 0;
    Plan& first = in_order_first ? in_order : overlap;
    Plan& second = in_order_first ? overlap : in_order;
    HONE_ASSIGN(const double one, time_calls(first, calls));
    HONE_ASSIGN(const double other, time_calls(second, calls));
    a.push_back(in_order_first ? one : other);
    b.push_back(in_order_first ? other : one);
  }
  return BothWays{median_of(a), median_of(b)};
}

// What two sections share that are equally fast either way: signatures of the nodes and their connections.
std::string section_signature(const Graph& graph, const Section& section) {
  std::string text;
  for (uint32_t i = section.first; i <= section.last; ++i) {
    const Node& node = graph.nodes()[i];
    text += node_signature(graph, node);
    for (ValueId input : node.inputs) {
      const NodeId producer = input.valid() ? graph.value(input).producer : NodeId{};
      const bool inside = producer.valid() && producer.index >= section.first;
      text += inside ? fmt::format(" <{}", producer.index - section.first) : " <";
    }
    text += ';';
  }
  return fmt::format("section of {} nodes from {}, {:016x}", section.last - section.first + 1,
                     graph.nodes()[section.first].op, fnv1a(text));
}

Status write_inputs(Plan& plan) {
  for (std::size_t i = 0; i < plan.graph().inputs().size(); ++i) {
    const Tensor data = made_up(plan.graph().type(plan.graph().inputs()[i]));
    HONE_CHECK(plan.write_bytes(i, std::as_bytes(data.as<uint8_t>())));
  }
  return {};
}

struct Trial {
  bool overlap = false;
  std::string why;
  double microseconds = 0;  // of the faster way
};

// Both ways, unless the cache remembers it. Where there is no time left it stays in order, with this cache for good: the same
// cache gives the same plan.
Result<Trial> try_section(const Graph& graph, const Section& section, const Provider& provider,
                          const PlanOptions& options, bool has_time) {
  const std::string signature = section_signature(graph, section);
  const std::string device = provider.signature(Share::kDevice);
  if (options.cache != nullptr) {
    if (const auto known = options.cache->find(device, signature))
      return Trial{known->candidate == kOverlap,
                   fmt::format("{} {:.1f} µs (remembered)", known->candidate, known->microseconds),
                   known->microseconds};
  }
  if (!has_time) {
    if (options.cache != nullptr) options.cache->put(device, signature, {kInOrder, 0});
    return Trial{};
  }
  PlanOptions each = options;
  each.progress = nullptr;
  each.check_numbers = false;
  std::unique_ptr<Plan> plans[2];
  for (const Overlap overlap : {Overlap::kNever, Overlap::kAlways}) {
    each.overlap = overlap;
    HONE_ASSIGN(Graph alone, graph_of_section(graph, section));
    auto& plan = plans[overlap == Overlap::kAlways ? 1 : 0];
    HONE_ASSIGN(plan, Plan::compile(std::move(alone), provider, each));
    HONE_CHECK(write_inputs(*plan));
  }
  HONE_ASSIGN(const BothWays times, measure(*plans[0], *plans[1], options));
  Trial trial;
  trial.overlap = times.overlap_ns < std::min(kMargin * times.in_order_ns, times.in_order_ns - kLeastGainNs);
  trial.why = fmt::format("{} {:.1f} µs, {} {:.1f} µs", kOverlap, times.overlap_ns / 1e3, kInOrder,
                          times.in_order_ns / 1e3);
  trial.microseconds = std::min(times.overlap_ns, times.in_order_ns) / 1e3;
  if (options.cache != nullptr)
    options.cache->put(device, signature, {trial.overlap ? kOverlap : kInOrder, trial.microseconds});
  return trial;
}

// The time of one run of `node`; infinite where there is no kernel for it in such a share.
double microseconds(const Graph& graph, const Node& node, Tuner& tuner) {
  const Result<double> seconds = tuner.seconds(graph, node);
  return seconds.ok() ? *seconds * 1e6 : std::numeric_limits<double>::infinity();
}

// Runs on the host, or copies to or from it: the device's lanes meet there.
bool leaves_device(const Graph& graph, const Node& node) {
  return node.op == "hone.CopyTo" || runs_on_host(graph, node);
}

// That a section reads from outside and writes: of devices with memory of their own, what many trials would have to bring there.
// Kernels of so much keep its memory busy alone, so that nothing is to be won beside them.
constexpr std::size_t kMostSectionBytes = std::size_t{64} << 20;
bool is_large(const Graph& graph, std::span<const Node> nodes) {
  std::size_t bytes = 0;
  std::unordered_set<uint32_t> counted;
  for (const Node& node : nodes) {
    for (const auto* values : {&node.inputs, &node.outputs}) {
      for (const ValueId value : *values)
        if (value.valid() && counted.insert(value.index).second) bytes += graph.type(value).storage_bytes();
    }
  }
  return bytes > kMostSectionBytes;
}

// Before the first node has its kernel. False: to end.
bool say(const PlanOptions& options, const Graph& graph, const std::string& what) {
  return !options.autotune || !options.progress || options.progress(0, graph.nodes().size(), what);
}

// The times of all nodes that have company; without autotune every step counts the same.
std::vector<NodeTime> time_nodes(const Graph& graph, const graph::BufferAssignment& buffers,
                                 const Provider& provider, const PlanOptions& options) {
  Tuner whole(provider, options), lane(provider, options, Share::kLane);
  const std::vector<bool> company = nodes_with_company(graph, buffers);
  std::vector<NodeTime> times(graph.nodes().size());
  const auto of = std::count(company.begin(), company.end(), true);
  std::ptrdiff_t timed = 0;
  for (uint32_t i = 0; i < times.size(); ++i) {
    const Node& node = graph.nodes()[i];
    if (!company[i] || buffers.elided(NodeId{i})) continue;
    if (!options.may_go_on()) break;  // choose_overlap() says so
    if (!say(options, graph, fmt::format("{} of {} operators timed for lanes", ++timed, of))) break;
    // A large one is not timed: making up its data takes long, and it stays alone.
    const bool many = options.autotune && !provider.device()->host_visible();
    if (leaves_device(graph, node) || (many && is_large(graph, std::span(&node, 1)))) {
      times[i] = {0, std::numeric_limits<double>::infinity()};
      continue;
    }
    times[i] = {1, 1};
    if (!options.autotune) continue;
    const double alone_us = microseconds(graph, node, whole);
    times[i] = {std::isfinite(alone_us) ? alone_us : 0, std::numeric_limits<double>::infinity()};
    if (alone_us > provider.longest_in_lane_us()) continue;  // a lane is no faster
    const double lane_us = microseconds(graph, node, lane);
    if (lane_us <= provider.longest_in_lane_us()) times[i].lane_us = lane_us;
  }
  return times;
}

Result<std::vector<OverlapChoice>> as_told(const graph::PlanChoices& told, const Provider& provider) {
  std::vector<OverlapChoice> choices;
  for (const graph::LaneChoice& section : told.sections) {
    if (section.lanes.size() > static_cast<std::size_t>(provider.lanes()))
      return unsupported(
          fmt::format("{} lanes side by side were chosen, and provider {} has {} here; choose anew",
                      section.lanes.size(), provider.name(), provider.lanes()));
    std::string why = "when it was chosen";
    if (section.microseconds > 0) why += fmt::format(", {} {:.1f} µs", kOverlap, section.microseconds);
    choices.push_back({{section.first, section.last, section.lanes}, std::move(why), section.microseconds});
  }
  return choices;
}

}  // namespace

Result<Graph> graph_of_section(const Graph& graph, const Section& section) {
  graph::GraphBuilder builder(graph);
  std::vector<ValueId> stand_ins(graph.values().size());
  std::vector<ValueId> outputs;
  for (uint32_t i = section.first; i <= section.last; ++i) {
    const Node& node = graph.nodes()[i];
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      const ValueId input = node.inputs[k];
      const NodeId producer = input.valid() ? graph.value(input).producer : NodeId{};
      if (!producer.valid() || section.holds(producer))
        continue;  // a constant, an input, or the section's own
      ValueId& stand_in = stand_ins[input.index];
      if (!stand_in.valid()) stand_in = builder.input(graph.value(input).name, graph.type(input));
      builder.replace_input(NodeId{i}, k, stand_in);
    }
    for (ValueId output : node.outputs) {
      if (!output.valid()) continue;
      const auto& users = graph.users(output);
      const bool read_outside =
          std::any_of(users.begin(), users.end(), [&](NodeId id) { return !section.holds(id); });
      if (read_outside || graph.is_output(output)) outputs.push_back(output);
    }
  }
  builder.set_outputs(std::move(outputs));
  return std::move(builder).finish();
}

Result<std::vector<OverlapChoice>> choose_overlap(const Graph& graph, const graph::BufferAssignment& buffers,
                                                  const Provider& provider, const PlanOptions& options) {
  if (options.choices != nullptr) return as_told(*options.choices, provider);
  std::vector<OverlapChoice> choices;
  const bool always = options.overlap == Overlap::kAlways;
  if (options.overlap == Overlap::kNever || provider.lanes() < 2 || (!always && !options.autotune))
    return choices;
  std::vector<NodeTime> times = time_nodes(graph, buffers, provider, options);
  if (!options.may_go_on()) return interrupted_choice();
  if (always) {  // as if a team were a thousand times slower
    for (NodeTime& time : times) time.team_us = 1e3 * std::max(1.0, time.team_us);
  }
  std::vector<Section> sections =
      choose_sections(graph, buffers, times, provider.lanes(), always ? 0 : kSectionUs);
  const int64_t end = now_ns() + static_cast<int64_t>(options.lane_trials_ms * 1e6);
  for (std::size_t i = 0; i < sections.size(); ++i) {
    Section& section = sections[i];
    Trial trial{true, "wherever it can be done", 0};
    const auto nodes = std::span(graph.nodes()).subspan(section.first, section.last - section.first + 1);
    if (!always && !provider.device()->host_visible() && is_large(graph, nodes)) continue;
    if (!always) {
      if (!say(options, graph, fmt::format("{} of {} sections tried in lanes", i, sections.size())))
        return interrupted_choice();
      HONE_ASSIGN(trial, try_section(graph, section, provider, options, now_ns() < end));
    }
    if (trial.overlap) choices.push_back({std::move(section), std::move(trial.why), trial.microseconds});
  }
  return choices;
}

}  // namespace hone::runtime

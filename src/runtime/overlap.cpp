#include "runtime/overlap.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace hone::runtime {
namespace {

using graph::BufferAssignment;
using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

// Nodes that a section spans at most: branches that are longer than this gain little more by being whole.
constexpr uint32_t kLongestSection = 64;
// What the times must promise before a section is worth a trial.
constexpr double kPromise = 0.97;

// The nodes of a growing interval in parts that do not depend on each other: weakly connected components.
class Parts {
 public:
  Parts(const Graph& graph, const BufferAssignment& buffers, uint32_t first)
      : graph_(graph), buffers_(buffers), first_(first) {}

  // The next node in the graph's order.
  void add(uint32_t node) {
    parent_.push_back(node - first_);
    has_step_.push_back(!buffers_.elided(NodeId{node}));
    with_steps_ += has_step_.back() ? 1 : 0;
    for (ValueId input : graph_.nodes()[node].inputs) {
      if (!input.valid()) continue;
      const NodeId producer = graph_.value(input).producer;
      if (producer.valid() && producer.index >= first_) join(node - first_, producer.index - first_);
    }
  }

  // Parts in which a kernel runs.
  int with_steps() const { return with_steps_; }
  uint32_t part_of(uint32_t node) { return find(node - first_); }

 private:
  uint32_t find(uint32_t at) {
    while (parent_[at] != at) at = parent_[at] = parent_[parent_[at]];
    return at;
  }
  void join(uint32_t a, uint32_t b) {
    a = find(a);
    b = find(b);
    if (a == b) return;
    with_steps_ -= has_step_[a] && has_step_[b] ? 1 : 0;
    has_step_[b] = has_step_[a] || has_step_[b];
    parent_[a] = b;
  }

  const Graph& graph_;
  const BufferAssignment& buffers_;
  const uint32_t first_;
  std::vector<uint32_t> parent_;
  std::vector<bool> has_step_;  // of each root
  int with_steps_ = 0;
};

// Parts over lanes: the longest part to the lane that is free first (Graham, "Bounds on Multiprocessing
// Timing Anomalies", 1969).
struct Packing {
  double longest_us = 0;
  std::vector<int> lane_of;  // of each part
};

Packing pack(std::span<const double> part_us, int lanes) {
  Packing packing;
  packing.lane_of.assign(part_us.size(), 0);
  std::vector<std::size_t> order(part_us.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return part_us[a] > part_us[b]; });
  std::vector<double> busy(static_cast<std::size_t>(lanes), 0.0);
  for (std::size_t part : order) {
    const auto lane = std::min_element(busy.begin(), busy.end());
    packing.lane_of[part] = static_cast<int>(lane - busy.begin());
    *lane += part_us[part];
    packing.longest_us = std::max(packing.longest_us, *lane);
  }
  return packing;
}

class Chooser {
 public:
  Chooser(const Graph& graph, const BufferAssignment& buffers, std::span<const NodeTime> times, int lanes,
          double section_us)
      : graph_(graph), buffers_(buffers), times_(times), lanes_(lanes), section_us_(section_us) {}

  // Shortest path over the nodes in order: to each node either by itself, or by a section that ends there.
  std::vector<Section> run() {
    const auto count = static_cast<uint32_t>(graph_.nodes().size());
    std::vector<double> best(count + 1, std::numeric_limits<double>::infinity());
    std::vector<uint32_t> from(count + 1, 0);
    best[0] = 0;
    for (uint32_t first = 0; first < count; ++first) {
      const auto reach = [&](uint32_t end, double cost) {
        if (best[first] + cost >= best[end]) return;
        best[end] = best[first] + cost;
        from[end] = first;
      };
      reach(first + 1, times_[first].team_us);
      if (buffers_.elided(NodeId{first})) continue;  // a section begins and ends with work
      Parts parts(graph_, buffers_, first);
      double in_order = 0;
      for (uint32_t last = first; last < std::min(count, first + kLongestSection); ++last) {
        parts.add(last);
        in_order += times_[last].team_us;
        if (times_[last].lane_us == std::numeric_limits<double>::infinity()) break;
        if (parts.with_steps() < 2 || buffers_.elided(NodeId{last})) continue;
        const double cost = longest_lane(parts, first, last) + section_us_;
        if (cost < kPromise * in_order) reach(last + 1, cost);
      }
    }
    std::vector<Section> sections;
    for (uint32_t end = count; end > 0; end = from[end])
      if (from[end] + 1 < end) sections.push_back(section(from[end], end - 1));
    std::reverse(sections.begin(), sections.end());
    return sections;
  }

 private:
  // Time of each part on one thread; `index` numbers the parts by their first node.
  std::vector<double> part_times(Parts& parts, uint32_t first, uint32_t last,
                                 std::vector<std::size_t>& index) const {
    std::vector<double> part_us;
    index.assign(last - first + 1, SIZE_MAX);
    for (uint32_t node = first; node <= last; ++node) {
      if (buffers_.elided(NodeId{node})) continue;
      std::size_t& part = index[parts.part_of(node)];
      if (part == SIZE_MAX) {
        part = part_us.size();
        part_us.push_back(0);
      }
      part_us[part] += times_[node].lane_us;
    }
    return part_us;
  }

  double longest_lane(Parts& parts, uint32_t first, uint32_t last) const {
    std::vector<std::size_t> index;
    return pack(part_times(parts, first, last, index), lanes_).longest_us;
  }

  Section section(uint32_t first, uint32_t last) const {
    Parts parts(graph_, buffers_, first);
    for (uint32_t node = first; node <= last; ++node) parts.add(node);
    std::vector<std::size_t> index;
    const Packing packing = pack(part_times(parts, first, last, index), lanes_);
    Section made{first, last, {}};
    made.lanes.resize(static_cast<std::size_t>(lanes_));
    for (uint32_t node = first; node <= last; ++node) {
      if (buffers_.elided(NodeId{node})) continue;
      const std::size_t part = index[parts.part_of(node)];
      made.lanes[static_cast<std::size_t>(packing.lane_of[part])].push_back(NodeId{node});
    }
    std::erase_if(made.lanes, [](const auto& lane) { return lane.empty(); });
    return made;
  }

  const Graph& graph_;
  const BufferAssignment& buffers_;
  std::span<const NodeTime> times_;
  const int lanes_;
  const double section_us_;
};

}  // namespace

std::vector<bool> nodes_with_company(const Graph& graph, const BufferAssignment& buffers) {
  const auto count = static_cast<uint32_t>(graph.nodes().size());
  std::vector<bool> company(count, false);
  uint32_t marked = 0;  // nodes before this are decided for every interval that begins further on
  for (uint32_t first = 0; first < count; ++first) {
    if (buffers.elided(NodeId{first})) continue;
    Parts parts(graph, buffers, first);
    uint32_t reach = first;
    for (uint32_t last = first; last < std::min(count, first + kLongestSection); ++last) {
      parts.add(last);
      if (parts.with_steps() >= 2 && !buffers.elided(NodeId{last})) reach = last + 1;
    }
    for (uint32_t node = std::max(first, marked); node < reach; ++node) company[node] = true;
    marked = std::max(marked, reach);
  }
  return company;
}

std::vector<Section> choose_sections(const Graph& graph, const BufferAssignment& buffers,
                                     std::span<const NodeTime> times, int lanes, double section_us) {
  if (lanes < 2) return {};
  return Chooser(graph, buffers, times, lanes, section_us).run();
}

std::optional<std::size_t> only_lane(const Graph& graph, const BufferAssignment& buffers,
                                     const Section& section, ValueId value) {
  const ValueId root = buffers.place(value).root;
  const auto in_root = [&](ValueId other) { return other.valid() && buffers.place(other).root == root; };
  const auto touches = [&](NodeId id) {
    const Node& node = graph.node(id);
    return std::any_of(node.inputs.begin(), node.inputs.end(), in_root) ||
           std::any_of(node.outputs.begin(), node.outputs.end(), in_root);
  };
  std::optional<std::size_t> only;
  for (std::size_t lane = 0; lane < section.lanes.size(); ++lane) {
    const auto& nodes = section.lanes[lane];
    if (std::none_of(nodes.begin(), nodes.end(), touches)) continue;
    if (only) return std::nullopt;
    only = lane;
  }
  return only;
}

void widen(Lifetime& lifetime, std::span<const Section> sections,
           const std::function<std::optional<std::size_t>(const Section&)>& owner) {
  const uint32_t first = lifetime.first;
  const uint32_t last = lifetime.last;
  int lanes_before = 0;
  for (const Section& section : sections) {
    if (first <= section.last && section.first <= last) {
      const bool inside = section.first <= first && last <= section.last;
      if (const auto lane = inside ? owner(section) : std::nullopt) {
        lifetime.lane = lanes_before + static_cast<int>(*lane);
        lifetime.lane_first = first;
        lifetime.lane_last = last;
      }
      lifetime.first = std::min(lifetime.first, section.first);
      lifetime.last = std::max(lifetime.last, section.last);
    }
    lanes_before += static_cast<int>(section.lanes.size());
  }
}

}  // namespace hone::runtime

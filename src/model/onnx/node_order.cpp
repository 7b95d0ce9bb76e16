#include "model/onnx/node_order.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

namespace hone::model::onnx {
namespace {

using NameSet = std::unordered_set<std::string_view>;

void collect_free(const GraphProto& graph, NameSet& seen, std::vector<std::string_view>& found) {
  NameSet defined;
  for (const ValueInfoProto& input : graph.inputs) defined.insert(input.name);
  for (const TensorProto& tensor : graph.initializers) defined.insert(tensor.name);
  for (const SparseTensorProto& tensor : graph.sparse_initializers) defined.insert(tensor.values.name);
  for (const NodeProto& node : graph.nodes) defined.insert(node.outputs.begin(), node.outputs.end());
  const auto read = [&](std::string_view name) {
    if (!name.empty() && !defined.contains(name) && seen.insert(name).second) found.push_back(name);
  };
  for (const NodeProto& node : graph.nodes) {
    for (const std::string_view input : node.inputs) read(input);
    for (const std::string_view name : free_names(node)) read(name);
  }
  for (const ValueInfoProto& output : graph.outputs) read(output.name);
}

// Nodes by what they wait for, and who waits for them.
struct Dependencies {
  std::vector<std::vector<std::size_t>> readers;
  std::vector<std::size_t> waiting;  // how many nodes must run before
};

Result<Dependencies> find_dependencies(const std::vector<NodeProto>& nodes) {
  std::unordered_map<std::string_view, std::size_t> producer;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const std::string_view output : nodes[i].outputs) {
      if (output.empty()) continue;
      const auto [other, fresh] = producer.emplace(output, i);
      if (!fresh)
        return corrupt(
            fmt::format("value {} is produced twice, by nodes {} and {}; give each value its own name",
                        in_quotes(output), node_label(nodes[other->second]), node_label(nodes[i])));
    }
  }
  Dependencies found{std::vector<std::vector<std::size_t>>(nodes.size()),
                     std::vector<std::size_t>(nodes.size(), 0)};
  const auto depend = [&](std::size_t node, std::string_view name) {
    const auto source = producer.find(name);
    if (name.empty() || source == producer.end()) return;
    found.readers[source->second].push_back(node);
    ++found.waiting[node];
  };
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const std::string_view input : nodes[i].inputs) depend(i, input);
    for (const std::string_view name : free_names(nodes[i])) depend(i, name);
  }
  return found;
}

// `waiting` nodes remain after everything that can run has run: walk backwards among them until one repeats.
Error cycle_error(const std::vector<NodeProto>& nodes, const Dependencies& left) {
  std::vector<std::size_t> before(nodes.size(), nodes.size());  // a predecessor that waits too
  std::size_t start = nodes.size();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (left.waiting[i] == 0) continue;
    start = i;
    for (const std::size_t reader : left.readers[i]) before[reader] = i;
  }
  std::vector<bool> seen(nodes.size(), false);
  while (!seen[start]) {
    seen[start] = true;
    start = before[start];
  }
  constexpr std::size_t kMostNames = 8;
  std::vector<std::string> names;
  std::size_t at = start;
  do {
    names.push_back(node_label(nodes[at]));
    at = before[at];
  } while (at != start && names.size() < kMostNames);
  std::reverse(names.begin(), names.end());
  return corrupt(
      fmt::format("the graph has a cycle through nodes {}{}; a graph must be acyclic (use Loop to repeat)",
                  fmt::join(names, " → "), at == start ? "" : ", …"));
}

}  // namespace

std::string node_name(const NodeProto& node) {
  if (!node.name.empty()) return std::string(node.name);
  const auto output =
      std::find_if(node.outputs.begin(), node.outputs.end(), [](auto name) { return !name.empty(); });
  return std::string(node.op_type) + "_" + (output == node.outputs.end() ? "" : std::string(*output));
}

std::string node_label(const NodeProto& node) { return in_quotes(node_name(node)); }

bool is_gradient(const NodeProto& node) {
  return node.op_type == "Gradient" && node.domain == "ai.onnx.preview.training";
}

std::vector<std::string_view> free_names(const NodeProto& node) {
  std::vector<std::string_view> found;
  NameSet seen;
  for (const AttributeProto& attribute : node.attributes)
    for (const GraphProto& graph : attribute.graphs) collect_free(graph, seen, found);
  if (!is_gradient(node)) return found;
  for (const AttributeProto& attribute : node.attributes) {
    if (attribute.name == "y" && seen.insert(attribute.s).second) found.push_back(attribute.s);
    if (attribute.name != "xs" && attribute.name != "zs") continue;
    for (const std::string_view name : attribute.strings)
      if (seen.insert(name).second) found.push_back(name);
  }
  return found;
}

Result<std::vector<std::size_t>> node_order(const std::vector<NodeProto>& nodes) {
  HONE_ASSIGN(Dependencies left, find_dependencies(nodes));
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (left.waiting[i] == 0) ready.push(i);
  std::vector<std::size_t> order;
  order.reserve(nodes.size());
  while (!ready.empty()) {
    const std::size_t node = ready.top();
    ready.pop();
    order.push_back(node);
    for (const std::size_t reader : left.readers[node])
      if (--left.waiting[reader] == 0) ready.push(reader);
  }
  if (order.size() != nodes.size()) return cycle_error(nodes, left);
  return order;
}

}  // namespace hone::model::onnx

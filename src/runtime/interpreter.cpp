#include "runtime/interpreter.h"

#include <map>
#include <new>

#include <fmt/core.h>

#include "core/memory_budget.h"
#include "graph/group_kind.h"
#include "kernels/ref/ref.h"
#include "runtime/interpret_control.h"
#include "runtime/plugin_reference.h"

namespace hone::runtime {
namespace {

using graph::Graph;
using graph::Node;
using graph::ValueId;

// How many nodes still have to read each value; outputs count one more and are never freed.
std::vector<uint32_t> count_readers(const Graph& graph) {
  std::vector<uint32_t> readers(graph.values().size(), 0);
  for (const Node& node : graph.nodes()) {
    for (ValueId input : node.inputs) {
      if (input.valid()) ++readers[input.index];
    }
  }
  for (ValueId output : graph.outputs()) ++readers[output.index];
  return readers;
}

}  // namespace

Result<std::vector<Tensor>> interpret(const Graph& graph, std::span<const Tensor> inputs,
                                      const InterpretOptions& options) {
  if (inputs.size() != graph.inputs().size()) {
    return invalid(fmt::format("graph '{}' takes {} inputs, {} are given", graph.name(),
                               graph.inputs().size(), inputs.size()));
  }
  std::vector<Tensor> tensors(graph.values().size());
  for (std::size_t i = 0; i < graph.values().size(); ++i) {
    if (graph.values()[i].is_constant()) tensors[i] = *graph.values()[i].constant;
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) tensors[graph.inputs()[i].index] = inputs[i];

  std::vector<uint32_t> readers = count_readers(graph);
  std::vector<Tensor> arguments;
  for (const Node& node : graph.nodes()) {
    arguments.clear();
    for (ValueId input : node.inputs) arguments.push_back(input.valid() ? tensors[input.index] : Tensor());
    auto outputs = interpret_node(node, arguments);
    if (!outputs.ok()) return outputs.error().within(fmt::format("node '{}' ({})", node.name, node.op));
    if (options.observe) options.observe(node, *outputs);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i].valid()) tensors[node.outputs[i].index] = std::move((*outputs)[i]);
    }
    arguments.clear();
    for (ValueId input : node.inputs) {
      if (input.valid() && --readers[input.index] == 0) tensors[input.index] = Tensor();
    }
  }
  std::vector<Tensor> results;
  for (ValueId output : graph.outputs()) results.push_back(tensors[output.index]);
  return results;
}

namespace {

Result<std::vector<Tensor>> run_node(const Node& node, std::span<const Tensor> inputs) {
  if (graph::is_group(node)) return interpret(*node.bodies[0], inputs);
  if (node.op == "hone.Reorder" || node.op == "hone.CopyTo") return std::vector<Tensor>{inputs[0]};
  if (is_control(node))
    return run_control(node, inputs, [&](std::size_t body, std::span<const Tensor> given) {
      return interpret(*node.bodies[body], given);
    });
  if (node.custom != nullptr) return run_plugin_reference(node, inputs);
  const kernels::ref::RefKernel kernel = kernels::ref::ref_table().find(node.op);
  if (kernel == nullptr) return unsupported(fmt::format("unsupported: {}", node.op));
  auto outputs = kernel({node.op, node.attributes, inputs, node.outputs.size()});
  if (outputs.ok() && outputs->size() < node.outputs.size()) {
    return unsupported(fmt::format("unsupported: {} with {} outputs (the reference gives {})", node.op,
                                   node.outputs.size(), outputs->size()));
  }
  return outputs;
}

}  // namespace

Result<std::vector<Tensor>> interpret_node(const Node& node, std::span<const Tensor> inputs) {
  try {
    return run_node(node, inputs);
  } catch (const OverMemoryBudget& error) {
    return invalid(error.what());
  } catch (const std::bad_alloc&) {  // a kernel of a lane must not throw
    return invalid("not enough memory; give smaller shapes");
  }
}

Status check_inputs(const Graph& graph, std::span<const Tensor> inputs) {
  std::map<std::string, int64_t> symbols;
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
    const graph::Value& value = graph.value(graph.inputs()[i]);
    if (i >= inputs.size() || !inputs[i].defined())
      return invalid(fmt::format("input '{}' is missing", value.name));
    const Tensor& tensor = inputs[i];
    auto mismatch = [&](const std::string& what) {
      return invalid(fmt::format("input '{}': expected {}, got {}{} ({})", value.name, value.type.text(),
                                 dtype_name(tensor.dtype()), shape_text(tensor.shape()), what));
    };
    if (tensor.dtype() != value.type.dtype) return mismatch("another dtype");
    if (!value.type.has_rank()) continue;
    if (tensor.rank() != value.type.rank()) return mismatch("another rank");
    for (std::size_t axis = 0; axis < tensor.shape().size(); ++axis) {
      const graph::Dim& dim = (*value.type.dims)[axis];
      const int64_t extent = tensor.shape()[axis];
      if (dim.known() && dim.extent() != extent) return mismatch(fmt::format("axis {}", axis));
      if (!dim.symbolic()) continue;
      const auto [bound, fresh] = symbols.emplace(dim.name(), extent);
      if (!fresh && bound->second != extent) {
        return mismatch(fmt::format("'{}' is {} elsewhere", dim.name(), bound->second));
      }
    }
  }
  return {};
}

}  // namespace hone::runtime

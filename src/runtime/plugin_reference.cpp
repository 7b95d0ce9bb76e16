#include "runtime/plugin_reference.h"

#include <set>

#include <fmt/core.h>

#include "plugin/kernels.h"

namespace hone::runtime {
namespace {

// hone_cpu_call::parallel on the calling thread.
void all_at_once(const hone_cpu_call*, int64_t count, int64_t, hone_body body, void* context) {
  if (count > 0) body(context, 0, count, 0);
}

Result<std::vector<graph::TensorType>> types_with_data(const graph::Node& node,
                                                       std::span<const Tensor> inputs,
                                                       std::vector<graph::Value>& values) {
  values.resize(node.inputs.size());
  std::vector<const graph::Value*> known;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool present = node.has_input(i) && i < inputs.size() && inputs[i].defined();
    known.push_back(present ? &values[i] : nullptr);
    if (!present) continue;
    values[i].type = graph::tensor_type(inputs[i].dtype(), inputs[i].shape());
    values[i].constant = inputs[i].aligned();
  }
  HONE_ASSIGN(std::vector<graph::TensorType> types, graph::infer_types(node, std::move(known)));
  for (std::size_t i = 0; i < types.size(); ++i)
    if (!types[i].is_static())
      return invalid(
          fmt::format("plugin {}: infer() leaves output {} open ({}) although all inputs are known",
                      node.custom->plugin, i, types[i].text()));
  return types;
}

void collect_notes(const graph::Graph& graph, std::set<std::string>& seen, PluginNotes& notes) {
  for (const graph::Node& node : graph.nodes()) {
    for (const auto& body : node.bodies) collect_notes(*body, seen, notes);
    if (node.custom == nullptr || !seen.insert(node.op).second) continue;
    const graph::CustomOperator& custom = *node.custom;
    notes.origins.push_back(fmt::format("{} is of {} ({})", node.op, custom.identity, custom.file));
    if (custom.interface->reference != nullptr) continue;
    notes.without_references.push_back(fmt::format(
        "{} has no reference kernel in {} ({}): its cpu kernel, on one thread, is what its numbers "
        "are compared with",
        node.op, plugin::plugin_text(custom), custom.file));
  }
}

}  // namespace

Result<std::vector<Tensor>> run_plugin_reference(const graph::Node& node, std::span<const Tensor> inputs) {
  std::vector<graph::Value> values;
  HONE_ASSIGN(const std::vector<graph::TensorType> types, types_with_data(node, inputs, values));
  plugin::NodeView view(node);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool present = values[i].constant.has_value();
    view.add_input(present ? &values[i].type : nullptr, present ? &*values[i].constant : nullptr);
  }
  std::vector<Tensor> outputs;
  for (std::size_t i = 0; i < types.size(); ++i) {
    HONE_ASSIGN(Tensor output, Tensor::try_make(types[i].dtype, types[i].shape()));
    view.add_output(node.has_output(i) ? &types[i] : nullptr);
    view.set_output(i, output.data());
    outputs.push_back(std::move(output));
  }
  HONE_ASSIGN(const hone_cpu_kernel* const kernel, plugin::reference_of(view));
  HONE_ASSIGN(const std::size_t bytes, plugin::scratch_bytes_of(view, *kernel, 1));
  HONE_ASSIGN(Tensor scratch, Tensor::try_make(DType::kU8, {static_cast<int64_t>(bytes)}));
  const hone_cpu_call call = {
      .threads = 1, .scratch = bytes > 0 ? scratch.data() : nullptr, .parallel = all_at_once};
  HONE_CHECK(plugin::run_kernel(view, *kernel, call));
  return outputs;
}

PluginNotes plugin_notes(const graph::Graph& graph) {
  std::set<std::string> seen;
  PluginNotes notes;
  collect_notes(graph, seen, notes);
  return notes;
}

}  // namespace hone::runtime

#include "lab/experiment/describe.h"

#include <fmt/core.h>
#include <sys/resource.h>

#include "graph/op_table.h"
#include "trace/run_folder.h"

namespace hone::lab {

analyze::ModelInfo describe_model(const graph::Graph& graph, const std::string& path) {
  analyze::ModelInfo model;
  model.name = graph.name();
  model.path = path;
  model.nodes = static_cast<int>(graph.nodes().size());
  for (const graph::Value& value : graph.values()) {
    if (value.is_constant() && is_float(value.type.dtype))
      model.parameters += static_cast<double>(value.constant->size());
  }
  for (const graph::Node& node : graph.nodes()) model.flops += graph::node_cost(graph, node).flops;
  for (graph::ValueId id : graph.inputs())
    model.inputs.emplace_back(graph.value(id).name, graph.type(id).text());
  for (graph::ValueId id : graph.outputs())
    model.outputs.emplace_back(graph.value(id).name, graph.type(id).text());
  return model;
}

analyze::Environment describe_environment(const Machine& machine, const runtime::Provider& provider) {
  analyze::Environment environment;
  environment.machine = machine_title(machine);
  environment.device = provider.name();
  environment.threads = provider.threads();
  environment.os = fmt::format("{}, {}", machine.os, machine.kernel);
  environment.hone_version = machine.hone;
  environment.compiler = machine.compiler;
  environment.libraries = machine.libraries;
  environment.settings = {{"vector instructions", machine.vector_features}};
  if (environment.device !=
      "cpu") {  // what there is of the device: its name, its driver, the libraries of its kernels
    for (const runtime::Trait& trait : provider.traits())
      environment.settings.emplace_back(trait.what, trait.value);
  }
  if (!machine.governor.empty()) environment.settings.emplace_back("frequency governor", machine.governor);
  environment.when = trace::timestamp_now();
  return environment;
}

analyze::MemoryUse describe_memory(const runtime::Plan& plan, const runtime::Device& device) {
  const runtime::PlanMemory memory = plan.memory();
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  analyze::MemoryUse use{static_cast<double>(memory.arena_bytes), static_cast<double>(memory.weights_bytes),
                         static_cast<double>(usage.ru_maxrss) * 1024};
  if (!device.host_visible()) {
    use.device = device.name();
    use.device_peak_bytes = static_cast<double>(device.use().peak);
  }
  return use;
}

}  // namespace hone::lab

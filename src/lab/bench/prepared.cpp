#include "lab/bench/prepared.h"

#include <cstring>

#include <fmt/format.h>

#include "lab/data/inputs.h"
#include "lab/experiment/target.h"
#include "passes/pipeline.h"
#include "runtime/interpreter.h"

namespace hone::lab {

Result<std::vector<Tensor>> make_inputs(const graph::Graph& graph, uint64_t seed) {
  std::vector<Tensor> inputs;
  for (graph::ValueId id : graph.inputs()) {
    const graph::Value& value = graph.value(id);
    if (!value.type.is_static())
      return invalid(fmt::format("input '{}' has type {}; give its shape with --bind or --shape", value.name,
                                 value.type.text()));
    const InputSpec spec{value.name, value.type.dtype, value.type.shape(), std::nullopt};
    HONE_ASSIGN(Tensor made, synthesise_input(spec, seed));
    inputs.push_back(std::move(made));
  }
  return inputs;
}

Result<graph::Graph> optimise(graph::Graph graph, const runtime::CpuProvider& provider,
                              const std::set<std::string>& disabled_passes) {
  const passes::PassContext context{runtime::interpret_node, nullptr, pass_target(provider)};
  passes::PipelineOptions options;
  options.disabled = disabled_passes;
  HONE_ASSIGN(passes::PipelineResult result, passes::run_pipeline(std::move(graph), context, options));
  return std::move(result.graph);
}

Result<std::unique_ptr<runtime::Plan>> compile_plan(const graph::Graph& graph,
                                                    const runtime::CpuProvider& provider,
                                                    runtime::TimingCache* cache,
                                                    const std::vector<Tensor>& inputs, const Say& say) {
  runtime::PlanOptions options;
  options.cache = cache;
  bool cancelled = false;
  options.progress = [&](std::size_t done, std::size_t total, const std::string& node) {
    const std::string what = fmt::format("choosing kernels ({} of {}): {}", done, total, node);
    cancelled = cancelled || (say && !say(what));
  };
  HONE_ASSIGN(std::unique_ptr<runtime::Plan> plan, runtime::Plan::compile(graph, provider, options));
  if (cancelled) return Error{ErrorCode::kCancelled, "interrupted; nothing was written"};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].bytes() > 0) std::memcpy(plan->input(i).data, inputs[i].data(), inputs[i].bytes());
  }
  return plan;
}

std::vector<Tensor> plan_outputs(const runtime::Plan& plan) {
  std::vector<Tensor> outputs;
  for (std::size_t i = 0; i < plan.graph().outputs().size(); ++i) {
    const ConstTensorView view = plan.output(i);
    outputs.push_back(
        Tensor::borrowed(view.dtype, Shape(view.shape.begin(), view.shape.end()), view.data, nullptr)
            .clone());
  }
  return outputs;
}

}  // namespace hone::lab

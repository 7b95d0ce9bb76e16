#include "lab/prepared.h"

#include <algorithm>

#include <fmt/core.h>

#include "lab/data/index_limit.h"
#include "lab/data/inputs.h"
#include "lab/experiment/target.h"
#include "passes/pipeline.h"
#include "passes/widen_half.h"
#include "runtime/interpreter.h"

namespace hone::lab {

Result<Inputs> make_inputs(const graph::Graph& graph, uint64_t seed,
                           const std::map<std::string, Tensor>& given) {
  Inputs inputs;
  for (graph::ValueId id : graph.inputs()) {
    const graph::Value& value = graph.value(id);
    if (const auto found = given.find(value.name); found != given.end()) {
      inputs.tensors.push_back(found->second);
      inputs.notes.push_back(fmt::format("{}: given", value.name));
      continue;
    }
    if (!value.type.is_static())
      return invalid(fmt::format("input '{}' has type {}; give its shape with --bind or --shape", value.name,
                                 value.type.text()));
    InputSpec spec{value.name, value.type.dtype, value.type.shape(), std::nullopt};
    // Of larger tables the usual indices are as good; positions go as far as their axis is long.
    const int64_t usual = std::max(kSafeIndexLimit, spec.shape.empty() ? 1 : spec.shape.back());
    if (const auto limit = index_limit_of(graph, id); limit && *limit < usual) spec.index_limit = limit;
    HONE_ASSIGN(Tensor made, synthesise_input(spec, seed));
    inputs.tensors.push_back(std::move(made));
    inputs.notes.push_back(fmt::format("{}: {}, seed {}", value.name, describe_input(spec), seed));
  }
  return inputs;
}

Result<graph::Graph> optimise(graph::Graph graph, const runtime::Provider& provider,
                              const std::set<std::string>& disabled_passes) {
  const passes::PassContext context{runtime::interpret_node, nullptr, pass_target(provider)};
  passes::PipelineOptions options;
  options.disabled = disabled_passes;
  HONE_ASSIGN(passes::PipelineResult result, passes::run_pipeline(std::move(graph), context, options));
  return std::move(result.graph);
}

std::string choosing(std::size_t done, std::size_t total, const std::string& node) {
  return fmt::format("choosing kernels ({} of {}): {}", done, total, node);
}

Result<std::unique_ptr<runtime::Plan>> compile_plan(const graph::Graph& graph,
                                                    const runtime::Provider& provider,
                                                    std::span<const Tensor> inputs,
                                                    const CompileOptions& options) {
  runtime::PlanOptions plan_options;
  plan_options.cache = options.cache;
  plan_options.step_bytes = options.step_bytes;
  if (!options.overlap) plan_options.overlap = runtime::Overlap::kNever;
  plan_options.pipelined = options.pipelined;
  plan_options.progress = options.progress;
  HONE_ASSIGN(std::unique_ptr<runtime::Plan> plan, runtime::Plan::compile(graph, provider, plan_options));
  for (std::size_t i = 0; i < inputs.size(); ++i) HONE_CHECK(plan->write(i, inputs[i]));
  return plan;
}

Result<NumericReport> compare_with(std::span<const Tensor> reference, std::span<const Tensor> inputs,
                                   runtime::Plan& plan, const NumericRules& rules) {
  if (!plan.graph().states().empty()) {
    for (std::size_t i = 0; i < inputs.size(); ++i) HONE_CHECK(plan.write(i, inputs[i]));
    HONE_CHECK(plan.run());
  }
  HONE_ASSIGN(const std::vector<Tensor> outputs, plan.read_all());
  const graph::Graph& graph = plan.graph();
  std::vector<ComparedOutput> compared;
  for (std::size_t i = 0; i < outputs.size(); ++i)
    compared.push_back({graph.value(graph.outputs()[i]).name, outputs[i], reference[i]});
  return compare_outputs(compared, rules);
}

Result<graph::Graph> in_higher_precision(const graph::Graph& graph) {
  passes::PassContext context;
  context.target.takes.products = {DType::kF32};
  const passes::Pass pass{"widen_half", "widen", Numerics::kReassociating, "", passes::widen_half};
  HONE_ASSIGN(passes::PassOutcome widened, passes::run_checked(pass, graph, context));
  return std::move(widened.graph);
}

}  // namespace hone::lab

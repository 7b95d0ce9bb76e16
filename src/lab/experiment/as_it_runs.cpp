#include "lab/experiment/as_it_runs.h"

#include <algorithm>

#include "passes/pipeline.h"

namespace hone::lab {

DType narrow_type_of(const std::set<std::string>& lossy) {
  const auto& passes = passes::pipeline();
  const auto found = std::ranges::find_if(passes, [&](const passes::Pass& pass) {
    return pass.narrows_to != DType::kUndefined && lossy.contains(std::string(pass.group));
  });
  return found == passes.end() ? DType::kUndefined : found->narrows_to;
}

Result<graph::Graph> as_it_runs(const graph::Graph& step, const passes::PassContext& context) {
  if (step.states().empty()) return step;
  passes::PassContext now = context;
  now.narrows_to = DType::kUndefined;
  now.price = nullptr;
  passes::PipelineOptions spelling;
  spelling.only = {"spell_out", "fold_constants"};  // extents and masks among the parts are known
  HONE_ASSIGN(passes::PipelineResult spelled, passes::run_pipeline(step, now, spelling));
  return std::move(spelled.graph);
}

}  // namespace hone::lab

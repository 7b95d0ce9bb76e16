#include "lab/training/batch_inputs.h"

#include <algorithm>

namespace hone::lab {

std::size_t input_named(const graph::Graph& graph, const std::string& name) {
  for (std::size_t i = 0; i < graph.inputs().size(); ++i)
    if (graph.value(graph.inputs()[i]).name == name) return i;
  return kNoInput;
}

BatchInputs::BatchInputs(const graph::Graph& graph, const std::vector<graph::BatchField>& fields) {
  for (const graph::BatchField& field : fields)
    inputs_.push_back(input_named(graph, graph::kDataPrefix + field.name));
}

Status BatchInputs::write(runtime::Plan& plan, const data::Batch& batch) const {
  for (std::size_t f = 0; f < inputs_.size(); ++f)
    if (inputs_[f] != kNoInput) HONE_CHECK(plan.write(inputs_[f], batch.tensors[f]));
  return {};
}

bool BatchInputs::contains(std::size_t input) const {
  return std::find(inputs_.begin(), inputs_.end(), input) != inputs_.end();
}

}  // namespace hone::lab

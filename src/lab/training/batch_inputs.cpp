#include "lab/training/batch_inputs.h"

#include <algorithm>
#include <cstring>

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

Status BatchInputs::stage(const graph::Graph& graph, runtime::Device& device) {
  if (device.host_visible()) return {};
  staging_.assign(inputs_.size(), nullptr);
  for (std::size_t f = 0; f < inputs_.size(); ++f) {
    if (inputs_[f] == kNoInput) continue;
    HONE_ASSIGN(runtime::Memory memory,
                device.allocate_staging(graph.type(graph.inputs()[inputs_[f]]).storage_bytes()));
    staging_[f] = std::make_shared<runtime::Memory>(std::move(memory));
  }
  return {};
}

Status BatchInputs::write(runtime::Plan& plan, const data::Batch& batch) const {
  for (std::size_t f = 0; f < inputs_.size(); ++f) {
    if (inputs_[f] == kNoInput) continue;
    const Tensor& tensor = batch.tensors[f];
    const bool staged = !staging_.empty() && tensor.bytes() > 0 && tensor.bytes() == staging_[f]->bytes();
    if (!staged) {
      HONE_CHECK(plan.write(inputs_[f], tensor));
      continue;
    }
    std::memcpy(staging_[f]->address(), tensor.data(), tensor.bytes());
    HONE_CHECK(plan.write_bytes(inputs_[f], {staging_[f]->address(), tensor.bytes()}));
  }
  return {};
}

bool BatchInputs::contains(std::size_t input) const {
  return std::find(inputs_.begin(), inputs_.end(), input) != inputs_.end();
}

}  // namespace hone::lab

#include "lab/training/batch_inputs.h"

#include <algorithm>
#include <cstring>
#include <optional>

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

// One queue for all fields: a batch has landed when its last field has.
struct BatchInputs::Upload {
  struct Field {
    std::optional<runtime::Memory> staging, landing;  // none where no input reads the field
  };
  std::vector<Field> fields;
  std::unique_ptr<runtime::Queue> queue;
  std::unique_ptr<runtime::Event> landed, taken;
  bool is_used = false, is_taken = false;  // whether the events were recorded

  bool carries(std::size_t field, const Tensor& tensor) const {
    return fields[field].staging && tensor.bytes() > 0 && tensor.bytes() == fields[field].staging->bytes();
  }
  Status send(const std::vector<Tensor>& tensors);
};

// What lies in the staging memory was copied long ago, mostly; what lies in the landing is read by the plan's queue.
Status BatchInputs::Upload::send(const std::vector<Tensor>& tensors) {
  if (is_used) HONE_CHECK(queue->wait(*landed));
  if (is_taken) HONE_CHECK(queue->after(*taken));
  for (std::size_t f = 0; f < fields.size(); ++f) {
    if (!carries(f, tensors[f])) continue;
    std::memcpy(fields[f].staging->address(), tensors[f].data(), tensors[f].bytes());
    HONE_CHECK(
        queue->copy_in(fields[f].landing->address(), fields[f].staging->address(), tensors[f].bytes()));
  }
  HONE_CHECK(queue->record(*landed));
  is_used = true;
  return {};
}

Status BatchInputs::stage(const graph::Graph& graph, runtime::Device& device) {
  if (device.host_visible()) return {};
  auto upload = std::make_shared<Upload>();
  HONE_ASSIGN(upload->queue, device.make_queue());
  HONE_ASSIGN(upload->landed, upload->queue->make_event());
  HONE_ASSIGN(upload->taken, upload->queue->make_event());
  upload->fields.resize(inputs_.size());
  for (std::size_t f = 0; f < inputs_.size(); ++f) {
    if (inputs_[f] == kNoInput) continue;
    const std::size_t bytes = graph.type(graph.inputs()[inputs_[f]]).storage_bytes();
    HONE_ASSIGN(upload->fields[f].staging, device.allocate_staging(bytes));
    HONE_ASSIGN(upload->fields[f].landing, device.allocate(bytes));
  }
  upload_ = std::move(upload);
  return {};
}

Status BatchInputs::ready(const data::Batch& batch) {
  ready_ = batch.tensors;
  return upload_ ? upload_->send(ready_) : Status();
}

Status BatchInputs::take(runtime::Plan& plan) {
  for (std::size_t f = 0; f < inputs_.size(); ++f) {
    if (inputs_[f] == kNoInput) continue;
    if (!upload_ || !upload_->carries(f, ready_[f])) {
      HONE_CHECK(plan.write(inputs_[f], ready_[f]));
      continue;
    }
    const runtime::Memory& landing = *upload_->fields[f].landing;
    HONE_CHECK(
        plan.write_from(inputs_[f], {landing.address(), landing.bytes()}, *upload_->landed, *upload_->taken));
    upload_->is_taken = true;
  }
  ready_.clear();
  return {};
}

Status BatchInputs::write(runtime::Plan& plan, const data::Batch& batch) {
  HONE_CHECK(ready(batch));
  return take(plan);
}

bool BatchInputs::contains(std::size_t input) const {
  return std::find(inputs_.begin(), inputs_.end(), input) != inputs_.end();
}

}  // namespace hone::lab

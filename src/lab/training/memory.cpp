#include "lab/training/memory.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/units.h"
#include "data/cache/memory_cache.h"
#include "graph/buffer_assignment.h"
#include "runtime/memory_plan.h"

namespace hone::lab {
namespace {

std::string amount_of_memory(std::size_t bytes) { return format_bytes(static_cast<double>(bytes)); }

// Tensors that own their elements, each buffer once.
class OwnedTensors {
 public:
  void add(const Tensor& tensor) {
    if (tensor.charged_bytes() > 0 && seen_.insert(std::as_const(tensor).data()).second)
      bytes_ += tensor.charged_bytes();
  }
  void add(const graph::Graph& graph) {
    for (const graph::Value& value : graph.values())
      if (value.is_constant()) add(*value.constant);
    for (const graph::Node& node : graph.nodes())
      for (const auto& body : node.bodies) add(*body);
  }
  std::size_t bytes() const { return bytes_; }

 private:
  std::set<const void*> seen_;
  std::size_t bytes_ = 0;
};

std::size_t model_memory(const TrainingProgram& program, const SessionGraphs& graphs) {
  OwnedTensors owned;
  for (const graph::Graph* graph : {&program.model.base, &program.model.training, &program.model.inference,
                                    &program.step, &program.evaluation, &graphs.step, &graphs.evaluation})
    owned.add(*graph);
  for (const auto* list : {&program.model.parameters, &program.model.statistics})
    for (const graph::NamedTensor& tensor : *list) owned.add(tensor.value);
  for (const auto& [name, tensor] : program.initial) owned.add(tensor);
  owned.add(program.zeros);
  return owned.bytes();
}

bool is_of_model(const TrainingProgram& program, const std::string& name) {
  const auto among = [&](const std::vector<graph::NamedTensor>& list) {
    return std::any_of(list.begin(), list.end(), [&](const graph::NamedTensor& t) { return t.name == name; });
  };
  return among(program.model.parameters) || among(program.model.statistics);
}

// The step's inputs, by what they are, and the copies of them that a checkpoint is.
void count_states(const TrainingProgram& program, const graph::Graph& step, TrainingMemory& memory) {
  constexpr std::size_t kBooks = 128;  // of a tensor, beside its elements
  for (const graph::ValueId id : step.inputs()) {
    const graph::Value& value = step.value(id);
    if (value.name.starts_with(graph::kDataPrefix)) continue;
    const std::size_t bytes = value.type.storage_bytes();
    (is_of_model(program, value.name) ? memory.weights : memory.optimizer) += runtime::placed_bytes(bytes);
    memory.checkpoint += bytes + kBooks;
  }
}

// The interpreter, which stands in, makes its results as tensors, of one operator at a time.
std::size_t reference_memory(const graph::Graph& graph, std::span<const runtime::PlanStep> steps) {
  std::set<std::string_view> names;
  for (const runtime::PlanStep& step : steps)
    if (step.reference || step.on_host) names.insert(step.name);
  std::size_t most = 0;
  for (const graph::Node& node : graph.nodes()) {
    if (!names.contains(node.name)) continue;
    std::size_t bytes = 0;
    for (const graph::ValueId output : node.outputs)
      if (output.valid() && graph::has_place(graph.type(output))) bytes += graph.type(output).storage_bytes();
    most = std::max(most, bytes);
  }
  return most;
}

std::size_t packed_memory(const runtime::PlanForecast& plan) {
  std::size_t bytes = 0;
  for (const runtime::PlanStep& each : plan.steps) bytes += each.packed_bytes;
  return bytes;
}

// Of one batch of the graph's, on its way (BatchInputs::stage).
std::size_t batch_memory(const graph::Graph& graph) {
  std::size_t bytes = 0;
  for (const graph::ValueId id : graph.inputs())
    if (graph.value(id).name.starts_with(graph::kDataPrefix)) bytes += graph.type(id).storage_bytes();
  return bytes;
}

// Bytes of a sample's tensors, with what is kept about them. Where samples differ in size, one stands for all; of one that
// is damaged, which reading will say, nothing is known.
std::optional<std::size_t> sample_bytes(const data::Dataset& data) {
  constexpr std::size_t kBooks = 128;
  std::size_t bytes = 0;
  bool varies = false;
  for (const data::Field& field : data.fields()) {
    varies = varies || std::find(field.shape.begin(), field.shape.end(), data::kVaries) != field.shape.end();
    if (!varies)
      bytes += static_cast<std::size_t>(element_count(field.shape)) * dtype_size(field.dtype) + kBooks;
  }
  if (!varies) return bytes;
  const auto sample = data.read(0);
  if (!sample.ok()) return std::nullopt;
  bytes = 0;
  for (const Tensor& tensor : *sample) bytes += tensor.bytes() + kBooks;
  return bytes;
}

// Of a cache that has been asked for so many samples, at most `budget`.
std::size_t cached_bytes(const std::shared_ptr<const data::Dataset>& data, std::size_t budget,
                         int64_t asked) {
  if (std::dynamic_pointer_cast<const data::CachedDataset>(data) == nullptr || data->size() == 0) return 0;
  const auto each = sample_bytes(*data);
  return each ? std::min(static_cast<std::size_t>(std::min(data->size(), asked)) * *each, budget) : budget;
}

}  // namespace

std::vector<TrainingMemory::Part> TrainingMemory::parts() const {
  return {{"weights", weights, true},
          {"optimizer", optimizer, true},
          {"activations", activations, true},
          {"packed", packed, true},
          {"constants", constants, true},
          {"batches", batches, true},
          {"reference", reference},
          {"evaluation", evaluation, true},
          {"model", model},
          {"checkpoint", checkpoint},
          {"data", data},
          {"staging", staging}};
}

nlohmann::ordered_json memory_json(const TrainingMemory& memory) {
  nlohmann::ordered_json json = {{"total_bytes", memory.total()}};
  if (!memory.one_memory()) {
    json["device"] = memory.device;
    json["device_bytes"] = memory.on_device();
    json["host_bytes"] = memory.on_host();
  }
  for (const auto& part : memory.parts()) json[fmt::format("{}_bytes", part.name)] = part.bytes;
  json["workspace_bytes"] = memory.workspace;
  return json;
}

std::string memory_text(const TrainingMemory& memory) {
  const auto listed = [&](auto&& belongs) {
    std::string text;
    for (const TrainingMemory::Part& part : memory.parts()) {
      if (part.bytes == 0 || !belongs(part)) continue;
      text += fmt::format("{} {} {}", text.empty() ? ":" : ",", part.name, amount_of_memory(part.bytes));
      if (part.name == "activations" && memory.workspace > 0)
        text += fmt::format(" (with up to {} that a kernel works in)", amount_of_memory(memory.workspace));
    }
    return text;
  };
  if (memory.one_memory()) return amount_of_memory(memory.total()) + listed([](const auto&) { return true; });
  return fmt::format("{} of {}{}; {} of the host's{}", amount_of_memory(memory.on_device()), memory.device,
                     listed([](const auto& part) { return part.on_device; }),
                     amount_of_memory(memory.on_host()),
                     listed([](const auto& part) { return !part.on_device; }));
}

Result<TrainingMemory> forecast_memory(const TrainingProgram& program, const SessionGraphs& graphs,
                                       const runtime::Provider& provider, const SessionOptions& options,
                                       runtime::PlanForecast* step) {
  runtime::PlanOptions plan;
  plan.autotune = options.autotune;
  plan.cache = options.cache;
  plan.progress = options.progress;
  HONE_ASSIGN(runtime::PlanForecast of_step, runtime::Plan::forecast(graphs.step, provider, plan));
  HONE_ASSIGN(const runtime::PlanForecast of_evaluation,
              runtime::Plan::forecast(graphs.evaluation, provider, plan));
  TrainingMemory memory;
  count_states(program, graphs.step, memory);
  memory.activations = of_step.memory.arena_bytes - memory.weights - memory.optimizer;
  memory.reference = reference_memory(graphs.step, of_step.steps);
  for (const runtime::PlanStep& each : of_step.steps)
    memory.workspace = std::max(memory.workspace, each.scratch_bytes);
  memory.packed = packed_memory(of_step);
  memory.evaluation = of_evaluation.memory.arena_bytes + packed_memory(of_evaluation);
  const std::size_t host_values = of_step.memory.host_bytes + of_evaluation.memory.host_bytes;
  if (provider.device()->host_visible()) {
    memory.activations += host_values;
  } else {
    memory.device = provider.device()->name();
    memory.constants = of_step.memory.constants_bytes;
    memory.evaluation += of_evaluation.memory.constants_bytes;
    memory.batches = batch_memory(graphs.step) + batch_memory(graphs.evaluation);
    memory.staging = memory.batches + host_values;
  }
  memory.model = model_memory(program, graphs);
  if (step != nullptr) *step = std::move(of_step);
  return memory;
}

std::size_t data_memory(const TrainingData& data, const model::Recipe& recipe, std::size_t opened,
                        std::span<const data::Field> fields, int64_t steps, int64_t evaluation_batch) {
  const int64_t ahead = data::LoaderOptions().read_ahead + 1;  // and the one that is being used
  std::size_t each = 0;                                        // sample of a batch
  for (const data::Field& field : fields)
    each += static_cast<std::size_t>(element_count(field.shape)) * dtype_size(field.dtype);
  const int64_t together = recipe.train.batch + (data.validation ? evaluation_batch : 0);
  const auto budget = static_cast<std::size_t>(recipe.data.cache_mb * 1'000'000);
  std::size_t kept = cached_bytes(data.training, budget, (steps + ahead - 1) * recipe.train.batch);
  if (data.validation) kept += cached_bytes(data.validation, budget, data.validation->size());
  if (data.chunks) {
    const int64_t judged = data.validation ? data.validation->size() : 0;
    kept += static_cast<std::size_t>(
        data.chunks->bytes_behind((steps + ahead - 1) * recipe.train.batch + judged));
  }
  return opened + static_cast<std::size_t>(ahead * together) * each + std::min(kept, budget);
}

}  // namespace hone::lab

#include "model/onnx/state_metadata.h"

#include <algorithm>
#include <optional>

#include <fmt/core.h>

namespace hone::model::onnx {
namespace {

using graph::GraphBuilder;
using graph::StatePair;
using graph::ValueId;

constexpr std::string_view kStateKey = "hone.state:";

std::optional<uint32_t> position_of(const GraphBuilder& builder, const std::vector<ValueId>& values,
                                    std::string_view name) {
  const auto found =
      std::find_if(values.begin(), values.end(), [&](ValueId id) { return builder.value(id).name == name; });
  if (found == values.end()) return std::nullopt;
  return static_cast<uint32_t>(found - values.begin());
}

bool is_initializer(const ModelProto& model, std::string_view name) {
  return std::any_of(model.graph->initializers.begin(), model.graph->initializers.end(),
                     [&](const TensorProto& tensor) { return tensor.name == name; });
}

Result<StatePair> read_pair(const ModelProto& model, const GraphBuilder& builder, std::string_view input,
                            std::string_view output) {
  const auto state = position_of(builder, builder.inputs(), input);
  if (!state && is_initializer(model, input))
    return corrupt(
        fmt::format("{} is an initializer, which no step changes; make it an input only", in_quotes(input)));
  if (!state) return corrupt(fmt::format("the model has no input {}", in_quotes(input)));
  const auto next = position_of(builder, builder.outputs(), output);
  if (!next) return corrupt(fmt::format("the model has no output {}", in_quotes(output)));
  const graph::TensorType& before = builder.type(builder.inputs()[*state]);
  const graph::TensorType& after = builder.type(builder.outputs()[*next]);
  if (before != after)
    return corrupt(fmt::format("the input is {}, the output {}", before.text(), after.text()));
  for (const StatePair& other : builder.states()) {
    if (other.input == *state) return corrupt("the input has a next value already");
    if (other.output == *next) return corrupt("the output is the next value of another input already");
  }
  return StatePair{*state, *next};
}

}  // namespace

std::vector<std::pair<std::string, std::string>> state_metadata(const graph::Graph& graph) {
  std::vector<std::pair<std::string, std::string>> entries;
  for (const StatePair& pair : graph.states())
    entries.emplace_back(std::string(kStateKey) + graph.value(graph.state_input(pair)).name,
                         graph.value(graph.next_value(pair)).name);
  return entries;
}

Status read_states(const ModelProto& model, GraphBuilder& builder) {
  for (const auto& [key, value] : model.metadata) {
    if (!key.starts_with(kStateKey)) continue;
    const std::string_view input = key.substr(kStateKey.size());
    auto pair = read_pair(model, builder, input, value);
    if (!pair.ok())
      return pair.error().within(fmt::format(
          "its metadata say that output {} is the next value of input {} ('hone.state:', written by hone); "
          "rename it in the metadata, too, or remove the entry",
          in_quotes(value), in_quotes(input)));
    std::vector<StatePair> states = builder.states();
    states.push_back(*pair);
    builder.set_states(std::move(states));
  }
  return {};
}

}  // namespace hone::model::onnx

#include "passes/fold_batch_norm.h"

#include <cmath>

#include <fmt/core.h>

#include "passes/rewrite.h"

namespace hone::passes {
namespace {

// y = x · scale + shift for each channel.
struct Affine {
  std::vector<double> scale;
  std::vector<double> shift;
};

// Reads `value` as one number a channel (axis 1 of a tensor of `rank`): [C], [C,1,1], [1,C,1,1], or a scalar.
std::optional<std::vector<double>> per_channel(const GraphBuilder& builder, ValueId value, int64_t channels,
                                               int64_t rank) {
  const Tensor* data = constant_data(builder, value);
  if (data == nullptr || !is_float(data->dtype())) return std::nullopt;
  if (data->size() == 1 && data->rank() <= rank)
    return std::vector<double>(static_cast<std::size_t>(channels), data->at(0));
  if (data->size() != channels || data->rank() > rank) return std::nullopt;
  const int64_t channel_axis = data->rank() - (rank - 1);  // where axis 1 of the tensor falls in the constant
  if (channel_axis < 0 || data->shape()[static_cast<std::size_t>(channel_axis)] != channels)
    return std::nullopt;
  return data->to_doubles();
}

std::optional<Affine> batch_norm_affine(const GraphBuilder& builder, const Node& node) {
  if (node.op != "BatchNormalization" || node.attributes.integer("training_mode", 0) != 0 ||
      node.outputs.size() != 1)
    return std::nullopt;
  std::vector<std::vector<double>> parameters;
  for (std::size_t i = 1; i <= 4; ++i) {
    const Tensor* data = constant_data(builder, node.inputs[i]);
    if (data == nullptr) return std::nullopt;
    parameters.push_back(data->to_doubles());
  }
  const double epsilon = node.attributes.real("epsilon", 1e-5F);
  Affine affine;
  for (std::size_t c = 0; c < parameters[0].size(); ++c) {
    const double s = parameters[0][c] / std::sqrt(parameters[3][c] + epsilon);
    affine.scale.push_back(s);
    affine.shift.push_back(parameters[1][c] - parameters[2][c] * s);
  }
  return affine;
}

// Mul or Add (Sub, Div) by one constant a channel.
std::optional<Affine> pointwise_affine(const GraphBuilder& builder, const Node& node, ValueId input) {
  const bool add = node.op == "Add" || node.op == "Sub";
  const bool multiply = node.op == "Mul" || node.op == "Div";
  if ((!add && !multiply) || ((node.op == "Sub" || node.op == "Div") && node.inputs[0] != input))
    return std::nullopt;
  const auto operand = other_operand(node, input);
  const auto channels = extent(builder, input, 1);
  if (!operand || !channels || !builder.type(input).has_rank()) return std::nullopt;
  auto values = per_channel(builder, *operand, *channels, builder.type(input).rank());
  if (!values) return std::nullopt;
  Affine affine{std::vector<double>(values->size(), 1.0), std::vector<double>(values->size(), 0.0)};
  for (std::size_t c = 0; c < values->size(); ++c) {
    const double v = (*values)[c];
    if (add)
      affine.shift[c] = node.op == "Add" ? v : -v;
    else
      affine.scale[c] = node.op == "Mul" ? v : 1.0 / v;
  }
  return affine;
}

class BatchNormFolder {
 public:
  explicit BatchNormFolder(const graph::Graph& graph) : builder_(graph) {}

  Result<PassOutcome> run(const graph::Graph& graph) {
    for (uint32_t i = 0; i < graph.nodes().size(); ++i) {
      const std::string& op = graph.nodes()[i].op;
      if (op == "Conv" || op == "ConvTranspose") absorb_followers(NodeId{i});
    }
    for (uint32_t i = 0; i < graph.nodes().size(); ++i) {
      if (!builder_.erased(NodeId{i}) && graph.nodes()[i].op == "BatchNormalization")
        make_pointwise(NodeId{i});
    }
    HONE_ASSIGN(outcome_.graph, std::move(builder_).finish());
    return std::move(outcome_);
  }

 private:
  void absorb_followers(NodeId convolution) {
    for (;;) {
      const Node conv = builder_.node(convolution);
      const ValueId output = conv.outputs[0];
      const auto reader = only_reader(builder_, output);
      if (!reader) {
        note_shared(output, conv);
        return;
      }
      const Node follower = builder_.node(*reader);
      auto affine = batch_norm_affine(builder_, follower);
      if (affine && follower.inputs[0] != output) return;
      if (!affine) affine = pointwise_affine(builder_, follower, output);
      if (!affine || !fold(convolution, *affine)) return;
      outcome_.done.push_back(
          {follower.name, fmt::format("{} folded into {} '{}'", follower.op, conv.op, conv.name)});
      builder_.replacing({convolution, *reader});
      builder_.replace_all_uses(follower.outputs[0], output);
      auto& provenance = builder_.mutable_node(convolution).provenance;
      provenance.insert(provenance.end(), follower.provenance.begin(), follower.provenance.end());
      builder_.erase(*reader);
    }
  }

  void note_shared(ValueId output, const Node& conv) {
    for (NodeId user : builder_.users(output)) {
      const Node& node = builder_.node(user);
      if (node.op != "BatchNormalization") continue;
      outcome_.missed.push_back({node.name, fmt::format("not folded into {} '{}': its result has {} readers",
                                                        conv.op, conv.name, builder_.users(output).size())});
    }
  }

  bool fold(NodeId convolution, const Affine& affine) {
    const Node conv = builder_.node(convolution);
    const Tensor* weights = constant_data(builder_, conv.inputs[1]);
    const Tensor* bias = conv.has_input(2) ? constant_data(builder_, conv.inputs[2]) : nullptr;
    if (weights == nullptr || weights->dtype() != DType::kF32 || (conv.has_input(2) && bias == nullptr)) {
      outcome_.missed.push_back({conv.name, "nothing folded in: its weights are not constant f32"});
      return false;
    }
    const bool transposed = conv.op == "ConvTranspose";
    const int64_t channels = static_cast<int64_t>(affine.scale.size());
    const int64_t groups = conv.attributes.integer("group", 1);
    Tensor scaled(DType::kF32, weights->shape());
    const auto from = weights->as<float>();
    auto to = scaled.as<float>();
    // Conv: weights [M, C/g, k…], output channel M first. ConvTranspose: [C, M/g, k…], output channel second,
    // by group.
    const int64_t rows = weights->shape()[0];
    const int64_t columns = weights->shape()[1];
    const int64_t kernel = weights->size() / std::max<int64_t>(1, rows * columns);
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < columns; ++c) {
        const int64_t channel = transposed ? (r / std::max<int64_t>(1, rows / groups)) * columns + c : r;
        if (channel >= channels) return false;
        for (int64_t k = 0; k < kernel; ++k) {
          const auto i = static_cast<std::size_t>((r * columns + c) * kernel + k);
          to[i] = static_cast<float>(from[i] * affine.scale[static_cast<std::size_t>(channel)]);
        }
      }
    }
    Tensor shifted(DType::kF32, {channels});
    for (int64_t c = 0; c < channels; ++c) {
      const auto i = static_cast<std::size_t>(c);
      const double before = bias != nullptr ? bias->at(c) : 0;
      shifted.as<float>()[i] = static_cast<float>(before * affine.scale[i] + affine.shift[i]);
    }
    builder_.replace_input(
        convolution, 1,
        builder_.constant(builder_.value(conv.inputs[1]).name + ".folded", std::move(scaled)));
    const ValueId new_bias = builder_.constant(conv.name + ".bias", std::move(shifted));
    if (conv.inputs.size() > 2) {
      builder_.replace_input(convolution, 2, new_bias);
    } else {
      builder_.append_input(convolution, new_bias);
    }
    return true;
  }

  // A batch normalisation that nothing absorbs: two pointwise operators.
  void make_pointwise(NodeId id) {
    const Node node = builder_.node(id);
    const auto affine = batch_norm_affine(builder_, node);
    const graph::TensorType& type = builder_.type(node.inputs[0]);
    if (!affine || !type.has_rank() || type.dtype != DType::kF32) return;
    const auto channels = static_cast<int64_t>(affine->scale.size());
    Shape shape{channels};
    shape.insert(shape.end(), static_cast<std::size_t>(std::max<int64_t>(0, type.rank() - 2)), 1);
    auto constant = [&](const char* suffix, const std::vector<double>& values) {
      Tensor tensor(DType::kF32, shape);
      for (std::size_t i = 0; i < values.size(); ++i) tensor.as<float>()[i] = static_cast<float>(values[i]);
      return builder_.constant(node.name + suffix, std::move(tensor));
    };
    builder_.replacing({id});
    const ValueId scaled =
        builder_.add("Mul", {node.inputs[0], constant(".scale", affine->scale)}, {}, node.name + ".mul");
    const ValueId shifted =
        builder_.add("Add", {scaled, constant(".shift", affine->shift)}, {}, node.name + ".add");
    builder_.replace_all_uses(node.outputs[0], shifted);
    builder_.erase(id);
    outcome_.done.push_back({node.name, "BatchNormalization turned into Mul and Add"});
  }

  GraphBuilder builder_;
  PassOutcome outcome_;
};

}  // namespace

Result<PassOutcome> fold_batch_norm(const graph::Graph& graph, const PassContext&) {
  return BatchNormFolder(graph).run(graph);
}

}  // namespace hone::passes

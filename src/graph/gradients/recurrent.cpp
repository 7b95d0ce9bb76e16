// Gradients of RNN, GRU and LSTM: through time, by their equations written out step by step. The states are computed
// again; nothing but the layer's outputs is kept from the forward pass.
#include <algorithm>
#include <cctype>

#include <fmt/core.h>

#include "graph/gradients/context.h"

namespace hone::graph {
namespace {

// Each step adds some 60 nodes to the graph.
constexpr int64_t kMostSteps = 2048;

struct Gate {
  std::string name;  // of its activation, lower case
  double alpha = 0, beta = 0;
};

struct GateKind {
  std::string_view name;
  int parameters;  // 0: none, 1: alpha, 2: alpha and beta
  double alpha, beta;
};
constexpr GateKind kGates[] = {{"sigmoid", 0, 0, 0},      {"tanh", 0, 0, 0},
                               {"relu", 0, 0, 0},         {"affine", 2, 1, 0},
                               {"leakyrelu", 1, 0.01, 0}, {"thresholdedrelu", 1, 1, 0},
                               {"scaledtanh", 2, 1, 1},   {"hardsigmoid", 2, 0.2, 0.5},
                               {"elu", 1, 1, 0},          {"softsign", 0, 0, 0},
                               {"softplus", 0, 0, 0}};

// The activations of all directions, with ONNX's rule for which alpha and beta are whose.
Result<std::vector<Gate>> read_gates(const Attributes& attributes, const Strings& defaults,
                                     std::size_t directions) {
  Strings names = attributes.texts("activations");
  if (names.empty())
    for (std::size_t d = 0; d < directions; ++d) names.insert(names.end(), defaults.begin(), defaults.end());
  if (names.size() < defaults.size() * directions)
    return invalid(fmt::format("attribute activations has {} names where {} are needed", names.size(),
                               defaults.size() * directions));
  names.resize(defaults.size() * directions);
  const Floats alphas = attributes.reals("activation_alpha"), betas = attributes.reals("activation_beta");
  std::size_t alpha = 0, beta = 0;
  std::vector<Gate> gates;
  for (std::string name : names) {
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    const auto* kind =
        std::find_if(std::begin(kGates), std::end(kGates), [&](const GateKind& k) { return k.name == name; });
    if (kind == std::end(kGates)) return unsupported(fmt::format("activation '{}' is not known", name));
    Gate gate{name, kind->alpha, kind->beta};
    if (kind->parameters > 0 && alpha < alphas.size()) gate.alpha = alphas[alpha++];
    if (kind->parameters > 1 && beta < betas.size()) gate.beta = betas[beta++];
    gates.push_back(std::move(gate));
  }
  return gates;
}

// One direction of a layer. All values are [1, batch, …].
class Direction {
 public:
  Direction(GradientContext& context, const std::vector<ValueId>& in, int64_t direction, int64_t steps,
            bool reverse, std::vector<Gate> gates)
      : c_(context),
        in_(in),
        direction_(direction),
        steps_(steps),
        reverse_(reverse),
        gates_(std::move(gates)) {
    op_ = context.node().op;
    gate_count_ = op_ == "LSTM" ? 4 : op_ == "GRU" ? 3 : 1;
  }

  // Fills the states, and returns the hidden state of each step in order of time, [steps, batch, hidden].
  ValueId run(ValueId x, ValueId lengths, int64_t hidden) {
    hidden_ = hidden;
    lengths_ = lengths;
    read_parameters();
    if (lengths.valid()) mask_steps();
    if (reverse_ && lengths.valid()) x = reversed(x);
    h = state(5, x);
    carry = op_ == "LSTM" ? state(6, x) : kNoValue;
    const std::vector<ValueId> parts =
        split_steps(c_.plus(c_.add("MatMul", {x, across(part(1))}), input_bias_));
    std::vector<ValueId> shown(static_cast<std::size_t>(steps_));
    const bool backwards = reverse_ && !lengths.valid();
    for (int64_t i = 0; i < steps_; ++i) {
      const auto t = static_cast<std::size_t>(backwards ? steps_ - 1 - i : i);
      shown[t] = step(parts[t], t);
    }
    const ValueId all = steps_ == 1 ? shown[0] : c_.add("Concat", shown, {{"axis", int64_t{0}}});
    return reverse_ && lengths.valid() ? reversed(all) : all;
  }

  ValueId h, carry;  // [1, batch, hidden]

 private:
  // This direction's part of input `i`, [1, …].
  ValueId part(std::size_t i) {
    return c_.add("Slice", {in_[i], c_.ints({direction_}), c_.ints({direction_ + 1}), c_.ints({0})});
  }
  ValueId across(ValueId matrices) { return c_.add("Transpose", {matrices}, {{"perm", Ints{0, 2, 1}}}); }
  std::vector<ValueId> split_last(ValueId value, std::size_t count) {
    if (count == 1) return {value};
    const Ints sizes(count, hidden_);
    return c_.add_many("Split", {value, c_.ints(sizes)}, count, {{"axis", int64_t{-1}}});
  }
  std::vector<ValueId> split_steps(ValueId value) {
    if (steps_ == 1) return {value};
    const Ints sizes(static_cast<std::size_t>(steps_), 1);
    return c_.add_many("Split", {value, c_.ints(sizes)}, sizes.size(), {{"axis", int64_t{0}}});
  }
  ValueId reversed(ValueId sequence) {
    return c_.add("ReverseSequence", {sequence, lengths_},
                  {{"time_axis", int64_t{0}}, {"batch_axis", int64_t{1}}});
  }

  // Biases that are added before the gates; a GRU that multiplies by the reset gate last keeps one inside.
  void read_parameters() {
    recurrent_ = across(part(2));
    const bool linear = op_ == "GRU" && c_.attributes().integer("linear_before_reset", 0) != 0;
    input_bias_ = c_.scalar(0, in_[0]);
    if (c_.has_input(3)) {
      const auto biases = c_.add_many(
          "Split", {c_.add("Unsqueeze", {part(3), c_.ints({1})}), c_.ints(Ints(2, gate_count_ * hidden_))}, 2,
          {{"axis", int64_t{-1}}});
      if (linear) {
        input_bias_ = biases[0];
        recurrent_bias_ = biases[1];
      } else {
        input_bias_ = c_.plus(biases[0], biases[1]);
      }
    }
    if (c_.node().op == "LSTM" && c_.has_input(7))
      peepholes_ = split_last(c_.add("Unsqueeze", {part(7), c_.ints({1})}), 3);
  }

  // Which samples each step is of, [1, batch, 1].
  void mask_steps() {
    const ValueId counts = c_.add("Unsqueeze", {c_.cast(lengths_, DType::kI64), c_.ints({0, 2})});
    for (int64_t t = 0; t < steps_; ++t) lasts_.push_back(c_.add("Less", {c_.integer(t), counts}));
  }

  ValueId state(std::size_t i, ValueId x) {
    if (c_.has_input(i)) {
      const bool batch_first = c_.attributes().integer("layout", 0) != 0;
      const ValueId whole = batch_first ? c_.add("Transpose", {in_[i]}, {{"perm", Ints{1, 0, 2}}}) : in_[i];
      return c_.add("Slice", {whole, c_.ints({direction_}), c_.ints({direction_ + 1}), c_.ints({0})});
    }
    const Dim& batch = (*c_.type(x).dims)[1];
    if (batch.known()) return c_.add("Expand", {c_.scalar(0, x), c_.ints({1, batch.extent(), hidden_})});
    const ValueId count = c_.add("Shape", {x}, {{"start", int64_t{1}}, {"end", int64_t{2}}});
    const ValueId shape = c_.add("Concat", {c_.ints({1}), count, c_.ints({hidden_})}, {{"axis", int64_t{0}}});
    const ValueId zeros = c_.add("Expand", {c_.scalar(0, x), shape});
    return zeros;
  }

  ValueId activated(std::size_t gate, ValueId x) {
    if (const double clip = c_.attributes().real("clip", 0); clip > 0)
      x = c_.add("Clip", {x, c_.scalar(-clip, x), c_.scalar(clip, x)});
    const Gate& g = gates_[gate];
    const auto alpha = static_cast<float>(g.alpha);
    if (g.name == "sigmoid") return c_.add("Sigmoid", {x});
    if (g.name == "tanh") return c_.add("Tanh", {x});
    if (g.name == "relu") return c_.add("Relu", {x});
    if (g.name == "affine") return c_.plus(c_.times(x, g.alpha), c_.scalar(g.beta, x));
    if (g.name == "leakyrelu") return c_.add("LeakyRelu", {x}, {{"alpha", alpha}});
    if (g.name == "thresholdedrelu") return c_.add("ThresholdedRelu", {x}, {{"alpha", alpha}});
    if (g.name == "scaledtanh") return c_.times(c_.add("Tanh", {c_.times(x, g.beta)}), g.alpha);
    if (g.name == "hardsigmoid")
      return c_.add("HardSigmoid", {x}, {{"alpha", alpha}, {"beta", static_cast<float>(g.beta)}});
    if (g.name == "elu") return c_.add("Elu", {x}, {{"alpha", alpha}});
    return c_.add(g.name == "softsign" ? "Softsign" : "Softplus", {x});
  }
  // The activation of a state, which is not clipped.
  ValueId activated_state(std::size_t gate, ValueId x) {
    const Gate& g = gates_[gate];
    if (g.name == "tanh") return c_.add("Tanh", {x});
    const double clip = c_.attributes().real("clip", 0);
    if (clip > 0)
      c_.fail(
          unsupported("unsupported: the gradient of an LSTM that clips, with another activation "
                      "of its state than Tanh"));
    return activated(gate, x);
  }

  // One step from what its input gives the gates; what it shows.
  ValueId step(ValueId input, std::size_t t) {
    const ValueId old_h = h, old_carry = carry;
    if (op_ == "LSTM") {
      lstm_step(input);
    } else if (op_ == "GRU") {
      gru_step(input);
    } else {
      h = activated(0, c_.plus(input, c_.add("MatMul", {h, recurrent_})));
    }
    if (lasts_.empty()) return h;
    const ValueId shown = c_.choose(lasts_[t], h, c_.scalar(0, h));
    h = c_.choose(lasts_[t], h, old_h);
    if (carry.valid()) carry = c_.choose(lasts_[t], carry, old_carry);
    return shown;
  }

  // Gates z, r, h.
  void gru_step(ValueId input) {
    const auto in = split_last(input, 3);
    const bool linear = c_.attributes().integer("linear_before_reset", 0) != 0;
    ValueId z = kNoValue, candidate = kNoValue;
    if (linear) {
      ValueId all = c_.add("MatMul", {h, recurrent_});
      if (recurrent_bias_.valid()) all = c_.plus(all, recurrent_bias_);
      const auto own = split_last(all, 3);
      z = activated(0, c_.plus(in[0], own[0]));
      const ValueId r = activated(0, c_.plus(in[1], own[1]));
      candidate = activated(1, c_.plus(in[2], c_.times(r, own[2])));
    } else {
      const auto weights = split_last(recurrent_, 3);
      const auto through = [&](ValueId value, std::size_t gate) {
        return c_.plus(in[gate], c_.add("MatMul", {value, weights[gate]}));
      };
      z = activated(0, through(h, 0));
      const ValueId r = activated(0, through(h, 1));
      candidate = activated(1, through(c_.times(r, h), 2));
    }
    h = c_.plus(candidate, c_.times(z, c_.minus(h, candidate)));
  }

  // Gates i, o, f, c; peepholes i, o, f.
  void lstm_step(ValueId input) {
    const auto in = split_last(c_.plus(input, c_.add("MatMul", {h, recurrent_})), 4);
    const auto peeped = [&](std::size_t gate, ValueId state) {
      return peepholes_.empty() ? in[gate] : c_.plus(in[gate], c_.times(peepholes_[gate], state));
    };
    const ValueId i = activated(0, peeped(0, carry));
    const ValueId f = c_.attributes().integer("input_forget", 0) != 0 ? c_.minus(c_.scalar(1, i), i)
                                                                      : activated(0, peeped(2, carry));
    carry = c_.plus(c_.times(f, carry), c_.times(i, activated(1, in[3])));
    h = c_.times(activated(0, peeped(1, carry)), activated_state(2, carry));
  }

  GradientContext& c_;
  const std::vector<ValueId>& in_;
  int64_t direction_, steps_;
  bool reverse_;
  std::vector<Gate> gates_;
  std::string op_;
  int64_t gate_count_ = 1, hidden_ = 0;
  ValueId lengths_ = kNoValue;
  ValueId recurrent_ = kNoValue;  // [1, hidden, gates · hidden]
  ValueId input_bias_ = kNoValue, recurrent_bias_ = kNoValue;
  std::vector<ValueId> peepholes_, lasts_;
};

Result<std::vector<ValueId>> layer_by_steps(GradientContext& c, const std::vector<ValueId>& in) {
  const Attributes& attributes = c.attributes();
  const bool batch_first = attributes.integer("layout", 0) != 0;
  const auto swapped = [&](ValueId value, const Ints& perm) {
    return batch_first ? c.add("Transpose", {value}, {{"perm", perm}}) : value;
  };
  const ValueId x = swapped(in[0], {1, 0, 2});
  HONE_CHECK(c.status());
  const TensorType& type = c.type(x);
  const TensorType& weight = c.type(in[2]);
  if (!type.has_rank() || !(*type.dims)[0].known() || !weight.has_rank() || !(*weight.dims)[2].known())
    return unsupported(
        fmt::format("unsupported: the gradient of {} over {} steps; read the model with numbers for "
                    "its symbols",
                    c.node().op, type.text()));
  const int64_t steps = (*type.dims)[0].extent(), hidden = (*weight.dims)[2].extent();
  if (steps < 1 || steps > kMostSteps)
    return unsupported(fmt::format("unsupported: the gradient of {} over {} steps; from 1 to {} are possible",
                                   c.node().op, steps, kMostSteps));
  const std::string direction = attributes.text("direction", "forward");
  std::vector<bool> reverse{direction == "reverse"};
  if (direction == "bidirectional") reverse.push_back(true);
  const Strings defaults = c.node().op == "LSTM"  ? Strings{"Sigmoid", "Tanh", "Tanh"}
                           : c.node().op == "GRU" ? Strings{"Sigmoid", "Tanh"}
                                                  : Strings{"Tanh"};
  HONE_ASSIGN(const std::vector<Gate> gates, read_gates(attributes, defaults, reverse.size()));
  std::vector<ValueId> y, h, state;
  for (std::size_t d = 0; d < reverse.size(); ++d) {
    const auto first = gates.begin() + static_cast<std::ptrdiff_t>(d * defaults.size());
    Direction one(c, in, static_cast<int64_t>(d), steps, reverse[d],
                  {first, first + static_cast<std::ptrdiff_t>(defaults.size())});
    const ValueId all = one.run(x, c.has_input(4) ? in[4] : kNoValue, hidden);
    y.push_back(c.add("Unsqueeze", {all, c.ints({1})}));
    h.push_back(one.h);
    state.push_back(one.carry);
  }
  const auto joined = [&](const std::vector<ValueId>& parts, int64_t axis) {
    return parts.size() == 1 ? parts[0] : c.add("Concat", parts, {{"axis", axis}});
  };
  std::vector<ValueId> outputs{swapped(joined(y, 1), {2, 0, 1, 3}), swapped(joined(h, 0), {1, 0, 2})};
  if (c.node().op == "LSTM") outputs.push_back(swapped(joined(state, 0), {1, 0, 2}));
  outputs.resize(c.node().outputs.size());
  return outputs;
}

Status recurrent_rule(GradientContext& c) { return c.set_through(layer_by_steps); }

}  // namespace

void add_recurrent_gradients(OpTable& table) {
  for (const char* op : {"RNN", "GRU", "LSTM"}) table.set_gradient(op, recurrent_rule);
}

}  // namespace hone::graph

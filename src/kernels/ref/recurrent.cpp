// RNN, LSTM and GRU: one cell step at a time, as ONNX's equations have it.
#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "core/recurrent_functions.h"
#include "kernels/ref/matmul.h"
#include "kernels/ref/ref.h"
#include "kernels/ref/wide.h"

namespace hone::kernels::ref {
namespace {

double apply(const RecurrentFunction& f, double x) {
  using Kind = RecurrentFunction::Kind;
  switch (f.kind) {
    case Kind::kSigmoid:
      return 1 / (1 + std::exp(-x));
    case Kind::kTanh:
      return std::tanh(x);
    case Kind::kRelu:
      return x > 0 ? x : 0;
    case Kind::kAffine:
      return f.alpha * x + f.beta;
    case Kind::kLeakyRelu:
      return x >= 0 ? x : f.alpha * x;
    case Kind::kThresholdedRelu:
      return x >= f.alpha ? x : 0;
    case Kind::kScaledTanh:
      return f.alpha * std::tanh(f.beta * x);
    case Kind::kHardSigmoid:
      return std::clamp(f.alpha * x + f.beta, 0.0, 1.0);
    case Kind::kElu:
      return x >= 0 ? x : f.alpha * (std::exp(x) - 1);
    case Kind::kSoftsign:
      return x / (1 + std::abs(x));
    case Kind::kSoftplus:
      return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
  }
  return 0;
}

// What the three layers have in common; all sequences as [time, batch, …].
struct Layer {
  int64_t time = 0, batch = 0, input = 0, hidden = 0, directions = 0, gates = 0;
  bool batch_first = false;
  double clip = 0;  // 0: none
  bool linear_before_reset = false, input_forget = false;
  std::vector<RecurrentFunction> activations;
  std::vector<bool> reverse;     // by direction
  std::vector<int64_t> lengths;  // by batch
  Wide x, w, r, bias, peephole;  // bias [directions, 2 * gates * hidden], zeros where absent
  Wide h, c;                     // states [directions, batch, hidden]
};

// [a, b, inner] → [b, a, inner].
Wide swap_leading(const Wide& in, int64_t a, int64_t b, int64_t inner) {
  Wide out(in.size());
  for (int64_t i = 0; i < a; ++i) {
    for (int64_t j = 0; j < b; ++j) {
      std::copy_n(in.begin() + (i * b + j) * inner, inner, out.begin() + (j * a + i) * inner);
    }
  }
  return out;
}

Result<Wide> read_state(const RefCall& call, std::size_t input, const Layer& layer, std::string_view name) {
  const int64_t d = layer.directions, b = layer.batch, h = layer.hidden;
  if (!call.has(input)) return Wide(static_cast<std::size_t>(d * b * h), 0);
  HONE_CHECK(expect_shape(call.inputs[input], layer.batch_first ? Shape{b, d, h} : Shape{d, b, h}, name));
  const Wide state = widen(call.inputs[input]);
  return layer.batch_first ? swap_leading(state, b, d, h) : state;
}

Status read_directions(const RefCall& call, Layer& layer) {
  const std::string direction = call.attributes.text("direction", "forward");
  if (direction == "forward") {
    layer.reverse = {false};
  } else if (direction == "reverse") {
    layer.reverse = {true};
  } else if (direction == "bidirectional") {
    layer.reverse = {false, true};
  } else {
    return invalid(fmt::format("direction '{}' is none of forward, reverse, bidirectional", direction));
  }
  layer.directions = static_cast<int64_t>(layer.reverse.size());
  return {};
}

Result<Layer> read_layer(const RefCall& call, int64_t gates, const Strings& defaults) {
  Layer layer;
  const Tensor& x = call.inputs[0];
  const Tensor& r = call.inputs[2];
  HONE_CHECK(expect_rank(x, 3, "X"));
  HONE_CHECK(expect_rank(r, 3, "R"));
  HONE_CHECK(read_directions(call, layer));
  layer.gates = gates;
  layer.hidden = r.shape()[2];
  layer.batch_first = call.attributes.integer("layout", 0) != 0;
  layer.time = x.shape()[layer.batch_first ? 1 : 0];
  layer.batch = x.shape()[layer.batch_first ? 0 : 1];
  layer.input = x.shape()[2];
  const int64_t d = layer.directions, h = layer.hidden;
  if (call.attributes.integer("hidden_size", h) != h) {
    return invalid(fmt::format("hidden_size is {}, but R has shape {}",
                               call.attributes.integer("hidden_size", h), shape_text(r.shape())));
  }
  HONE_CHECK(expect_shape(call.inputs[1], {d, gates * h, layer.input}, "W"));
  HONE_CHECK(expect_shape(r, {d, gates * h, h}, "R"));
  if (call.has(3)) HONE_CHECK(expect_shape(call.inputs[3], {d, 2 * gates * h}, "B"));
  layer.x = widen(x);
  if (layer.batch_first) layer.x = swap_leading(layer.x, layer.batch, layer.time, layer.input);
  layer.w = widen(call.inputs[1]);
  layer.r = widen(r);
  layer.bias = call.has(3) ? widen(call.inputs[3]) : Wide(static_cast<std::size_t>(d * 2 * gates * h), 0);
  layer.lengths.assign(static_cast<std::size_t>(layer.batch), layer.time);
  if (call.has(4)) {
    HONE_CHECK(expect_shape(call.inputs[4], {layer.batch}, "sequence_lens"));
    layer.lengths = call.inputs[4].to_ints();
    for (int64_t length : layer.lengths) {
      if (length < 0 || length > layer.time) {
        return invalid(fmt::format("a sequence of length {} in an input of {} steps", length, layer.time));
      }
    }
  }
  HONE_ASSIGN(layer.h, read_state(call, 5, layer, "initial_h"));
  layer.clip = call.attributes.real("clip", 0);
  HONE_ASSIGN(layer.activations, read_recurrent_functions(call.attributes, defaults, d));
  return layer;
}

// The parameters of one direction, and the work of one step of one batch row.
struct Cell {
  const Layer& layer;
  int64_t direction;
  const RecurrentFunction* functions;  // this direction's

  Cell(const Layer& l, int64_t d, std::size_t activations)
      : layer(l), direction(d), functions(l.activations.data() + static_cast<std::size_t>(d) * activations) {}
  double act(int which, double x) const { return apply(functions[which], x); }

  const double* w(int64_t gate) const {
    return layer.w.data() + (direction * layer.gates + gate) * layer.hidden * layer.input;
  }
  const double* r(int64_t gate) const {
    return layer.r.data() + (direction * layer.gates + gate) * layer.hidden * layer.hidden;
  }
  double wb(int64_t gate, int64_t i) const {
    return layer.bias[static_cast<std::size_t>((direction * 2 * layer.gates + gate) * layer.hidden + i)];
  }
  double rb(int64_t gate, int64_t i) const { return wb(layer.gates + gate, i); }
  double clipped(double v) const {
    return layer.clip > 0 ? std::clamp(v, -double{layer.clip}, double{layer.clip}) : v;
  }

  // W x of a gate, both biases left out.
  Wide input_part(int64_t gate, const double* x) const {
    Wide out(static_cast<std::size_t>(layer.hidden), 0);
    multiply_add_transposed<double>(1, layer.input, layer.hidden, x, w(gate), out.data());
    return out;
  }
  Wide recurrent_part(int64_t gate, const double* h) const {
    Wide out(static_cast<std::size_t>(layer.hidden), 0);
    multiply_add_transposed<double>(1, layer.hidden, layer.hidden, h, r(gate), out.data());
    return out;
  }
  // W x + R h + both biases.
  Wide gate(int64_t g, const double* x, const double* h) const {
    Wide out = input_part(g, x);
    multiply_add_transposed<double>(1, layer.hidden, layer.hidden, h, r(g), out.data());
    for (std::size_t i = 0; i < out.size(); ++i) {
      const auto at = static_cast<int64_t>(i);
      out[i] += wb(g, at) + rb(g, at);
    }
    return out;
  }
};

void rnn_step(const Cell& cell, const double* x, double* h, double*) {
  const Wide sum = cell.gate(0, x, h);
  for (std::size_t i = 0; i < sum.size(); ++i) h[i] = cell.act(0, cell.clipped(sum[i]));
}

// Gates z, r, h.
void gru_step(const Cell& cell, const double* x, double* h, double*) {
  Wide z = cell.gate(0, x, h), r = cell.gate(1, x, h);
  for (std::size_t i = 0; i < z.size(); ++i) {
    z[i] = cell.act(0, cell.clipped(z[i]));
    r[i] = cell.act(0, cell.clipped(r[i]));
  }
  Wide candidate = cell.input_part(2, x);
  Wide reset(h, h + z.size());
  if (!cell.layer.linear_before_reset) {
    for (std::size_t i = 0; i < reset.size(); ++i) reset[i] *= r[i];
  }
  const Wide recurrent = cell.recurrent_part(2, reset.data());
  for (std::size_t i = 0; i < candidate.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    const double part = recurrent[i] + cell.rb(2, at);
    candidate[i] += cell.wb(2, at) + (cell.layer.linear_before_reset ? r[i] * part : part);
    candidate[i] = cell.act(1, cell.clipped(candidate[i]));
    h[i] = (1 - z[i]) * candidate[i] + z[i] * h[i];
  }
}

// Gates i, o, f, c; peepholes i, o, f.
void lstm_step(const Cell& cell, const double* x, double* h, double* c) {
  const Layer& layer = cell.layer;
  const Wide input = cell.gate(0, x, h), output = cell.gate(1, x, h), forget = cell.gate(2, x, h),
             candidate = cell.gate(3, x, h);
  const auto peephole = [&](int64_t which, std::size_t i) {
    if (layer.peephole.empty()) return 0.0;
    return layer.peephole[static_cast<std::size_t>((cell.direction * 3 + which) * layer.hidden) + i];
  };
  for (std::size_t k = 0; k < input.size(); ++k) {
    const double i = cell.act(0, cell.clipped(input[k] + peephole(0, k) * c[k]));
    const double f =
        layer.input_forget ? 1 - i : cell.act(0, cell.clipped(forget[k] + peephole(2, k) * c[k]));
    c[k] = f * c[k] + i * cell.act(1, cell.clipped(candidate[k]));
    const double o = cell.act(0, cell.clipped(output[k] + peephole(1, k) * c[k]));
    h[k] = o * cell.act(2, c[k]);
  }
}

// Runs all directions; returns Y as [time, directions, batch, hidden] and leaves the last states in the
// layer. Steps beyond a sequence's length give zeros and leave its state alone.
template <typename Step>
Wide run_layer(Layer& layer, std::size_t activations, Step step) {
  const int64_t b = layer.batch, h = layer.hidden, d = layer.directions;
  Wide y(static_cast<std::size_t>(layer.time * d * b * h), 0);
  for (int64_t direction = 0; direction < d; ++direction) {
    const Cell cell(layer, direction, activations);
    for (int64_t n = 0; n < b; ++n) {
      const int64_t length = layer.lengths[static_cast<std::size_t>(n)];
      double* hidden = layer.h.data() + (direction * b + n) * h;
      double* carry = layer.c.empty() ? nullptr : layer.c.data() + (direction * b + n) * h;
      for (int64_t k = 0; k < length; ++k) {
        const int64_t t = layer.reverse[static_cast<std::size_t>(direction)] ? length - 1 - k : k;
        step(cell, layer.x.data() + (t * b + n) * layer.input, hidden, carry);
        std::copy_n(hidden, h, y.data() + ((t * d + direction) * b + n) * h);
      }
    }
  }
  return y;
}

std::vector<Tensor> layer_outputs(const RefCall& call, const Layer& layer, const Wide& y) {
  const int64_t t = layer.time, b = layer.batch, h = layer.hidden, d = layer.directions;
  const DType dtype = call.inputs[0].dtype();
  std::vector<Tensor> outputs;
  // Batch first: [time * directions, batch, …] with the batch in front is [batch, time, directions, …].
  if (layer.batch_first) {
    outputs.push_back(rounded(dtype, {b, t, d, h}, swap_leading(y, t * d, b, h)));
  } else {
    outputs.push_back(rounded(dtype, {t, d, b, h}, y));
  }
  for (const Wide* state : {&layer.h, &layer.c}) {
    if (outputs.size() >= call.output_count) break;
    outputs.push_back(layer.batch_first ? rounded(dtype, {b, d, h}, swap_leading(*state, d, b, h))
                                        : rounded(dtype, {d, b, h}, *state));
  }
  return outputs;
}

Result<std::vector<Tensor>> rnn(const RefCall& call) {
  HONE_ASSIGN(Layer layer, read_layer(call, 1, {"Tanh"}));
  return layer_outputs(call, layer, run_layer(layer, 1, rnn_step));
}

Result<std::vector<Tensor>> gru(const RefCall& call) {
  HONE_ASSIGN(Layer layer, read_layer(call, 3, {"Sigmoid", "Tanh"}));
  layer.linear_before_reset = call.attributes.integer("linear_before_reset", 0) != 0;
  return layer_outputs(call, layer, run_layer(layer, 2, gru_step));
}

Result<std::vector<Tensor>> lstm(const RefCall& call) {
  HONE_ASSIGN(Layer layer, read_layer(call, 4, {"Sigmoid", "Tanh", "Tanh"}));
  layer.input_forget = call.attributes.integer("input_forget", 0) != 0;
  HONE_ASSIGN(layer.c, read_state(call, 6, layer, "initial_c"));
  if (call.has(7)) {
    HONE_CHECK(expect_shape(call.inputs[7], {layer.directions, 3 * layer.hidden}, "P"));
    layer.peephole = widen(call.inputs[7]);
  }
  return layer_outputs(call, layer, run_layer(layer, 3, lstm_step));
}

}  // namespace

void add_recurrent_kernels(RefTable& table) {
  table.add("RNN", rnn);
  table.add("GRU", gru);
  table.add("LSTM", lstm);
}

}  // namespace hone::kernels::ref

// Recurrent layers. A layer over T steps and a batch of B does the products of its weights T·B times:
// FLOPs 2·T·B·(elements of the weight matrices), whatever the gates do beside them.
#include <fmt/format.h>

#include "trace/aten/table.h"

namespace hone::trace::aten {
namespace {

using enum OperatorClass;

// _cudnn_rnn(input[T,B,I], weights, stride, buffer, hx, cx, mode, hidden, proj, layers, …, bidirectional at
// 13); its backward, whose products are twice as many (for the input and for the weights), begins alike.
std::optional<OperatorCost> rnn(const Args& args, const Entry& entry) {
  const CallInput* input = args.tensor(0);
  if (input == nullptr || input->dims.size() != 3 || input->dims[2] == 0) return std::nullopt;
  double matrices = 0, directions = 1, hidden = 0, weight_bytes = 0;
  for (const CallInput& weight : args.list(1)) {
    weight_bytes += weight.bytes();
    if (weight.dims.size() == 2) matrices += elements(weight.dims);
  }
  if (matrices == 0) return std::nullopt;
  const CallInput* state = args.tensor(4);
  if (state != nullptr && state->dims.size() == 3) hidden = static_cast<double>(state->dims[2]);
  if (args.flag(13).value_or(false)) directions = 2;
  const double positions = elements(input->dims) / static_cast<double>(input->dims[2]);
  const double result = positions * hidden * directions * static_cast<double>(dtype_size(input->dtype));
  const bool backward = entry.flops > 2;
  return OperatorCost{
      entry.flops * positions * matrices, input->stored_bytes() + weight_bytes + (backward ? 2 * result : 0),
      backward ? input->bytes() + weight_bytes : result, input->dtype,
      fmt::format("{}, {:g} positions of {:g} weights", dims_text(input->dims), positions, matrices)};
}

// _thnn_fused_lstm_cell(gates[B,4H], gates[B,4H], cx[B,H], biases): writes h, c and the gates for the
// backward pass. `operands`: results of H each; `flops`: of an element of the state.
std::optional<OperatorCost> cell(const Args& args, const Entry& entry) {
  const CallInput* state = args.tensor(2);
  if (state == nullptr || state->dims.empty()) return std::nullopt;
  double read = 0;
  for (std::size_t i = 0; i < args.count(); ++i) read += args.stored_bytes(i);
  return OperatorCost{entry.flops * elements(state->dims), read, entry.operands * state->bytes(),
                      state->dtype, dims_text(state->dims)};
}

constexpr Entry kRecurrentTable[] = {
    {"_cudnn_rnn", kMatrix, rnn, 2},
    {"_cudnn_rnn_backward", kMatrix, rnn, 4},
    // four gates: 3 additions and an activation each; c = f·c + i·g, h = o·tanh(c)
    {"_thnn_fused_lstm_cell", kPointwise, cell, 21, 6},
    // three gates; n = tanh(x + r·h), h = (1 - z)·n + z·h
    {"_thnn_fused_gru_cell", kPointwise, cell, 17, 6},
};

}  // namespace

std::span<const Entry> recurrent_operators() { return kRecurrentTable; }

}  // namespace hone::trace::aten

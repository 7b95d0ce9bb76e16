// The pointwise part of recurrent cells, f32: from the gates' matrix products to the new state in one pass.
// The products, time steps, directions and sequence lengths are the caller's.
#pragma once

#include <cstdint>

#include "core/result.h"

namespace hone::kernels {

enum class CellActivation : uint8_t { kSigmoid, kTanh, kRelu };

// ONNX LSTM: gates [batch, 4·hidden] in the order i, o, f, c hold X·Wᵀ + H·Rᵀ + biases.
struct LstmCellDesc {
  int64_t batch = 1;
  int64_t hidden = 1;
  int64_t gate_stride = 0;    // floats from one batch row of the gates to the next; 0: 4·hidden
  float clip = 0;             // gates are limited to [-clip, clip]; 0: not
  bool input_forget = false;  // the forget gate is 1 - the input gate
  CellActivation gate = CellActivation::kSigmoid;  // f
  CellActivation cell = CellActivation::kTanh;     // g
  CellActivation output = CellActivation::kTanh;   // h
};

class LstmCell {
 public:
  static Result<LstmCell> create(const LstmCellDesc& desc);
  // c_previous, c, h: [batch, hidden]; c may be c_previous. peephole: [3·hidden] in the order i, o, f, or
  // null.
  void execute(const float* gates, const float* peephole, const float* c_previous, float* c,
               float* h) const noexcept;

 private:
  LstmCellDesc desc_;
};

// ONNX GRU: gates in the order z, r, h. x_gates [batch, 3·hidden] hold X·Wᵀ + Wb, h_gates the products with
// H.
struct GruCellDesc {
  int64_t batch = 1;
  int64_t hidden = 1;
  int64_t gate_stride = 0;  // of x_gates and h_gates; 0: 3·hidden
  float clip = 0;
  CellActivation gate = CellActivation::kSigmoid;  // f
  CellActivation cell = CellActivation::kTanh;     // g
};

class GruCell {
 public:
  static Result<GruCell> create(const GruCellDesc& desc);
  // linear_before_reset = 1: h_gates hold H·Rᵀ + Rb for all three gates; one pass. h may be h_previous.
  void execute(const float* x_gates, const float* h_gates, const float* h_previous, float* h) const noexcept;
  // linear_before_reset = 0, in two: first the gates z and r and r·h_previous, which the caller multiplies
  // with Rh…
  void reset(const float* x_gates, const float* h_gates, const float* h_previous, float* update,
             float* reset_h) const noexcept;
  // …then the state from z and that product (candidate: [batch, hidden], with the biases, beside x_gates' h
  // part).
  void finish(const float* x_gates, const float* candidate, const float* update, const float* h_previous,
              float* h) const noexcept;

 private:
  GruCellDesc desc_;
};

}  // namespace hone::kernels

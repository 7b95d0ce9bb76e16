// The steps of LSTM, GRU and RNN layers as CUDA kernels, behind the product of all inputs with W, which a library computes at
// once: one launch a step, two where a GRU resets before its product. A warp has a hidden unit for some sequences: it
// multiplies the unit's rows of R with their states, and its lanes then compute the cell. States are of f32 throughout. What is
// added to what depends on shapes alone, so results are the same every time.
#pragma once

#include <cstdint>
#include <vector>

#include "cuda/kernel_cache.h"

#include "core/dtype.h"
#include "core/recurrent_functions.h"
#include "core/result.h"

namespace hone::kernels::gpu {

// As ONNX defines them.
struct RecurrentProgram {
  enum class Kind : uint8_t { kLstm, kGru, kRnn };
  Kind kind = Kind::kLstm;
  DType dtype = DType::kF32;  // f32, f16, bf16
  int64_t time = 1, batch = 1, hidden = 1;
  std::vector<bool> reverse = {false};  // one a direction
  // Those of each direction: an LSTM has three, a GRU two, an RNN one.
  std::vector<RecurrentFunction> functions = {{RecurrentFunction::Kind::kSigmoid}, {}, {}};
  bool batch_first = false;  // of X, Y and states
  float clip = 0;            // 0: none
  bool linear_before_reset = false, input_forget = false;

  int64_t functions_of_direction() const { return kind == Kind::kLstm ? 3 : kind == Kind::kGru ? 2 : 1; }
  int64_t gates() const { return kind == Kind::kLstm ? 4 : kind == Kind::kGru ? 3 : 1; }
  // Whether the candidate's product needs the reset state of all units.
  bool in_two() const { return kind == Kind::kGru && !linear_before_reset; }
};

// Parameters are addresses; those of inputs and outputs that there are not are null.
//   begin: lengths (int32_t a sequence), initial h, initial c, states, the fault word's address, what to write there
//   step: gates, R, B, lengths, P, states, Y, Y_h, Y_c, the number of the step
//   reset: gates, R, B, lengths, states, the number of the step; comes before a step where in_two()
// `gates` are X·W of [direction, row of X, gate, unit], in the layer's type; `states` are state_floats of f32.
inline constexpr const char* kRecurrentBeginEntry = "hone_recurrent_begin";
inline constexpr const char* kRecurrentResetEntry = "hone_recurrent_reset";
inline constexpr const char* kRecurrentStepEntry = "hone_recurrent_step";

struct RecurrentKernels {
  cuda::KernelSource source;
  int64_t begin_blocks = 0;   // of kRecurrentThreads
  int64_t step_grid[3] = {};  // of `reset`, too
  int64_t state_floats = 0;
};
inline constexpr int kRecurrentThreads = 128;

// Extents are constants of the source. Other types and layers without elements are unsupported.
Result<RecurrentKernels> generate_recurrent(const RecurrentProgram& program);

}  // namespace hone::kernels::gpu

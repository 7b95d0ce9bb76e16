// A module of XLA as profiles carry it: HloProto of openxla/xla (xla/service/hlo.proto, xla/xla_data.proto),
// the parts that tell what an instruction computes, on what, and where the program says so. What that costs
// is hlo_cost.h.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/dtype.h"

namespace hone::trace::xplane {

// An array, or the parts of a tuple.
struct HloShape {
  DType dtype = DType::kUndefined;
  std::vector<int64_t> dims;
  std::vector<HloShape> parts;

  double elements() const;  // of all parts
  double bytes() const;     // of all parts
  // The array itself, or the first part of the tuple.
  const HloShape& first() const { return parts.empty() ? *this : parts.front(); }
};

// One dimension of the window of a convolution or of a reduction over windows.
struct HloWindowDim {
  int64_t size = 1, stride = 1, padding_low = 0, padding_high = 0, dilation = 1, base_dilation = 1;
};

struct HloConvolutionDims {
  int64_t input_feature = 0;
  int64_t kernel_output_feature = 0;
  std::vector<int64_t> input_spatial, kernel_spatial, output_spatial;
};

// Views into the module's bytes.
struct HloInstruction {
  std::string_view name;    // "multiply_tanh_fusion.1"; unique in its module
  std::string_view opcode;  // "fusion"
  HloShape shape;
  std::string_view op_name;  // what the framework calls it: "jit(step)/jvp(mlp)/dot_general"
  std::string_view file;     // of the program's source; empty: not said
  int32_t line = 0;
  int32_t frame = 0;  // in HloModule::frames, from 1
  int64_t id = 0;
  std::vector<int64_t> operands;    // ids of instructions of the same computation
  std::vector<int64_t> called;      // ids of computations
  std::vector<int64_t> contracted;  // of a dot: dimensions of its first operand
  std::vector<HloWindowDim> window;
  HloConvolutionDims convolution;
  int64_t parameter = 0;    // which parameter of its computation it is
  int64_t tuple_index = 0;  // which part it takes of its operand
  // Of a product: it asks for more than the default precision, which on GPUs is tf32 for f32.
  bool asks_for_precision = false;
  std::string_view custom_call_target;
  std::string_view backend_config;
};

struct HloComputation {
  int64_t id = 0;
  int64_t root = 0;                          // id of an instruction
  std::vector<HloInstruction> instructions;  // operands before their users
};

struct HloFrame {
  std::string_view file, function;
  int32_t line = 0;
};

struct HloModule {
  std::string_view name;
  std::vector<HloComputation> computations;  // those called before their callers
  std::vector<HloFrame> frames;

  // The place in the program's source that `instruction` came from; empty file: not said.
  HloFrame place_of(const HloInstruction& instruction) const;
};

// Of the bytes of an HloProto, which must outlive it. Throws protozero's exceptions where they are none.
HloModule read_hlo(std::string_view bytes);

}  // namespace hone::trace::xplane

// A fused group of elementwise operators as a straight-line program over one iteration space, with optional
// reductions over its last axes. Pure data: a caller builds it, Pointwise (pointwise.h) compiles and runs it.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/dtype.h"
#include "core/result.h"
#include "core/shape.h"

namespace hone::kernels {

// What an instruction computes from its operands a, b, c. ONNX semantics. alpha and beta as noted.
enum class PointwiseOp : uint8_t {
  kInput,     // a: index of the program's input
  kConstant,  // the literal of the instruction
  kCast,      // to the instruction's dtype; rounds to it (f16, bf16), wraps (integers), saturates (float →
              // integer)
  // Arithmetic, on numbers of one type.
  kAdd,
  kSub,
  kMul,
  kDiv,     // integers: towards zero; x/0 = 0
  kMod,     // the sign of the divisor (integers); x mod 0 = 0
  kFmod,    // the sign of the dividend
  kPow,     // the exponent may have another type
  kMin,     // NaN if either is
  kMax,     // NaN if either is
  kMulAdd,  // a·b + c with one rounding; f32 and f64
  kNeg,
  kAbs,
  kSign,
  kSquare,
  kBitAnd,
  kBitOr,
  kBitXor,
  kBitNot,
  kShiftLeft,  // of unsigned values
  kShiftRight,
  // Functions of a float.
  kSqrt,
  kRsqrt,
  kReciprocal,
  kExp,
  kExpm1,
  kLog,
  kLog1p,
  kSin,
  kCos,
  kTan,
  kAsin,
  kAcos,
  kAtan,
  kSinh,
  kCosh,
  kTanh,
  kAsinh,
  kAcosh,
  kAtanh,
  kErf,
  kFloor,
  kCeil,
  kRound,  // halves to even
  // Activations.
  kRelu,       // also of integers
  kLeakyRelu,  // alpha
  kPRelu,      // b: slope
  kClip,       // to [alpha, beta]; also of integers
  kSigmoid,
  kHardSigmoid,  // max(0, min(1, alpha·x + beta))
  kSwish,        // x·sigmoid(alpha·x)
  kHardSwish,
  kMish,
  kElu,   // alpha
  kCelu,  // alpha
  kSelu,  // alpha, beta = gamma
  kSoftplus,
  kSoftsign,
  kThresholdedRelu,  // alpha
  kShrink,           // alpha = lambd, beta = bias
  kGeluErf,
  kGeluTanh,
  kGeluErfSlope,  // of those two, by x
  kGeluTanhSlope,
  // To bool.
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kIsNaN,
  kIsInf,  // alpha: 1 if negative counts, beta: 1 if positive counts
  kAnd,
  kOr,
  kXor,
  kNot,
  kWhere,  // a (bool) ? b : c
};

std::string_view pointwise_op_name(PointwiseOp op);
int pointwise_arity(PointwiseOp op);  // operands that are values: 0 for kInput and kConstant

enum class ReduceOp : uint8_t { kNone, kSum, kMean, kMax, kMin, kProd, kSumSquare, kL1 };

struct PointwiseInstruction {
  PointwiseOp op = PointwiseOp::kInput;
  int a = -1, b = -1, c = -1;  // indices of earlier instructions: the values they made
  float alpha = 0, beta = 0;
  DType dtype = DType::kUndefined;  // of the result, filled in by PointwiseProgram's functions
  double literal = 0;               // kConstant of floats
  int64_t integer = 0;              // kConstant of integers and bool
};

// Memory that a program reads: dtype and the stride, in elements, along each axis of the iteration space (0
// where it is broadcast). Any order of strides is right; a last stride of 1 or 0 is fast.
struct PointwiseInput {
  DType dtype = DType::kF32;
  std::vector<int64_t> strides;
};

// Memory that a program writes, dense and row-major: of the iteration space's shape, or, with a reduction, of
// the shape without its last `reduced_axes` axes. dtype may differ from the value's: it is converted like
// kCast.
struct PointwiseOutput {
  int value = -1;
  DType dtype = DType::kF32;
  ReduceOp reduce = ReduceOp::kNone;  // f32, f64, i32 and i64 values
};

struct PointwiseProgram {
  Shape shape;           // the iteration space
  int reduced_axes = 0;  // how many of the last axes reducing outputs reduce
  std::vector<PointwiseInput> inputs;
  std::vector<PointwiseInstruction> instructions;
  std::vector<PointwiseOutput> outputs;

  // Each appends an instruction and returns its index, the name of its value. Types are checked by verify().
  int input(DType dtype, std::vector<int64_t> strides);
  // An input of `input_shape`, dense and row-major, broadcast to `shape` by NumPy's rules.
  int broadcast_input(DType dtype, std::span<const int64_t> input_shape);
  int constant(DType dtype, double value);
  int constant_integer(DType dtype, int64_t value);
  int cast(int value, DType dtype);
  int apply(PointwiseOp op, int a, int b = -1, int c = -1, float alpha = 0, float beta = 0);
  void output(int value, DType dtype, ReduceOp reduce = ReduceOp::kNone);

  // The rules that Pointwise::create relies on; names the instruction that breaks one.
  Status verify() const;
};

// How values are held while computing: f16, bf16 and f32 as f32; i8, u8, i16, u16, i32 as i32; u32 and i64 as
// i64; f64; bool as 0 or 1 in a byte. kUndefined: pointwise programs do not take this type.
DType compute_type(DType dtype);

}  // namespace hone::kernels

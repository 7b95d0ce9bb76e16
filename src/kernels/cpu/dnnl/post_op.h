// What a kernel does to its result before storing it: activations, and arithmetic with a second tensor.
// The vocabulary of fused epilogues; which kernel can fuse which list is the kernel's business.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.h"
#include "core/layout.h"
#include "core/shape.h"

namespace hone::kernels {

// One step of an epilogue, x being the value so far.
struct PostOp {
  enum class Kind {
    kRelu,         // max(x, 0)
    kLeakyRelu,    // x if x > 0, else alpha * x
    kClip,         // x clamped to [alpha, beta]
    kSigmoid,      // 1 / (1 + exp(-x))
    kTanh,         //
    kGeluErf,      // x * Phi(x), exact
    kGeluTanh,     // its tanh approximation
    kSwish,        // x * sigmoid(alpha * x)
    kHardSigmoid,  // clamp(alpha * x + beta, 0, 1)
    kHardSwish,    // x * clamp(x / 6 + 1 / 2, 0, 1)
    kElu,          // x if x > 0, else alpha * (exp(x) - 1)
    kSqrt,         //
    kAbs,          //
    kExp,          //
    kLog,          //
    kSquare,       // x * x
    kMish,         // x * tanh(log(1 + exp(x)))
    kSoftplus,     // log(1 + exp(x))
    kLinear,       // alpha * x + beta
    kQuantize,     // alpha * round(x / alpha) clamped to [low, high]: quantised and back
    kChannelMul,   // x * the number of its channel
    kChannelAdd,
    kBinaryAdd,  // x + operand
    kBinaryMul,
    kBinarySub,  // x - operand
    kBinaryDiv,  // x / operand
    kBinaryMax,
    kBinaryMin,
    kSum,  // x + alpha * what dst held before: the cheapest residual add, in place
  };

  Kind kind = Kind::kRelu;
  float alpha = 0;
  float beta = 0;
  float low = 0, high = 0;  // of kQuantize, in steps of alpha; zero lies between them
  // The second tensor of a binary step, of f32, or bf16 where the library computes it: its shape broadcasts to the output's as in ONNX. Its data comes
  // with every execute(), in the order of the list. A layout other than kPlain only with the output's own
  // shape.
  Shape operand_shape = {};
  Layout operand_layout = Layout::kPlain;
  DType operand_type = DType::kF32;
  // Of a channel step: the numbers, zeros in the channels that fill up the last block. hone's own kernels on
  // blocked16 compute these; the library has binary steps for them.
  std::shared_ptr<const std::vector<float>> channels = {};

  bool is_of_channel() const { return kind == Kind::kChannelMul || kind == Kind::kChannelAdd; }
  bool is_binary() const { return kind >= Kind::kBinaryAdd && kind <= Kind::kBinaryMin; }

  static PostOp relu() { return {.kind = Kind::kRelu}; }
  static PostOp clip(float low, float high) { return {.kind = Kind::kClip, .alpha = low, .beta = high}; }
  static PostOp quantize(float step, float low, float high) {
    return {.kind = Kind::kQuantize, .alpha = step, .low = low, .high = high};
  }
  static PostOp sum(float scale = 1) { return {.kind = Kind::kSum, .alpha = scale}; }
  static PostOp of(Kind kind, float alpha = 0, float beta = 0) {
    return {.kind = kind, .alpha = alpha, .beta = beta};
  }
  static PostOp binary(Kind kind, Shape shape, Layout layout = Layout::kPlain, DType type = DType::kF32) {
    return {.kind = kind, .operand_shape = std::move(shape), .operand_layout = layout, .operand_type = type};
  }
};

// Number of operands that execute() expects for the list.
std::size_t operand_count(std::span<const PostOp> post_ops);

// "relu", "binary_add", …
std::string_view post_op_name(PostOp::Kind kind);
// "binary_add([1,64,1,1]) + relu": for messages and names.
std::string post_ops_text(std::span<const PostOp> post_ops);

}  // namespace hone::kernels

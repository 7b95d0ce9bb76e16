// What each pass does to numbers on its own, for the CPU's table of kernels: every pass of the pipeline has
// graphs here on which it does something.
#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "tests/passes/numbers.h"
#include <gtest/gtest.h>

#include "graph/text.h"
#include "lab/experiment/target.h"
#include "passes/pipeline.h"
#include "runtime/interpreter.h"
#include "runtime/testing/half_provider.h"
#include "runtime/testing/providers.h"

namespace hone::passes {
namespace {

struct PassCase {
  std::string_view pass;
  const char* name;
  const char* text;
};

// Numbers that are repeated to a length, for weights.
std::string with_numbers(std::string text) {
  static constexpr std::string_view kMark = "numbers(";
  for (std::size_t at = text.find(kMark); at != std::string::npos; at = text.find(kMark)) {
    const std::size_t end = text.find(')', at);
    const int count = std::stoi(text.substr(at + kMark.size(), end - at - kMark.size()));
    std::string list = "hex\"";
    for (int i = 0; i < count; ++i) {
      static constexpr const char* kBits[] = {"0000803f", "00000040", "000000bf", "0000803e", "0000c0bf"};
      list += kBits[i * 7 % 5];  // 1, 2, -0.5, 0.25, -1.5, little-endian
    }
    text.replace(at, end + 1 - at, list + "\"");
  }
  return text;
}

const PassCase kPassCases[] = {
    {"fold_constants", "shapes_and_chains", R"((%x: f32[2,3], %z: f32[6]) {
      %a: f32[3] = constant dense(1.0, 2.0, 3.0)
      %s: i64[*] = Shape(%x)
      %r: f32[*] = Reshape(%z, %s)
      %b: f32[*] = Mul(%a, %a)
      %c: f32[*] = Sqrt(%b)
      %y: f32[*] = Add(%r, %c)
      return %y
    })"},
    {"merge_common", "equal_expressions", R"((%x: f32[4,3]) {
      %a: f32[*] = Softmax(%x) {axis = 1}
      %b: f32[*] = Softmax(%x) {axis = 1}
      %c: f32[*] = Exp(%b)
      %y: f32[*] = Add(%a, %c)
      return %y
    })"},
    {"simplify_views", "transposes_and_reshapes", R"((%x: f32[2,3,4]) {
      %s: i64[2] = constant dense(4, -1)
      %t: i64[3] = constant dense(2, 2, 6)
      %a: f32[*] = Transpose(%x) {perm = [1,2,0]}
      %b: f32[*] = Transpose(%a) {perm = [1,0,2]}
      %c: f32[*] = Reshape(%b, %s)
      %d: f32[*] = Reshape(%c, %t)
      %y: f32[*] = Relu(%d)
      return %y
    })"},
    {"simplify_arithmetic", "known_numbers", R"((%x: f32[2,3]) {
      %two: f32[] = constant dense(2.0)
      %three: f32[] = constant dense(3.0)
      %a: f32[*] = Div(%x, %three)
      %b: f32[*] = Mul(%a, %two)
      %y: f32[*] = Pow(%b, %two)
      return %y
    })"},
    {"unpack_weights", "a_scale_and_zero_point_a_channel", R"((%x: f32[3,2]) {
      %q: i8[2,3] = constant dense(1, -2, 3, 4, 5, -128)
      %s: f32[3] = constant dense(0.5, 0.25, 2.0)
      %z: i8[3] = constant dense(0, 3, -1)
      %w: f32[*] = DequantizeLinear(%q, %s, %z) {axis = 1}
      %y: f32[*] = MatMul(%x, %w)
      return %y
    })"},
    {"widen_half", "f16", R"((%x: f16[2,4], %m: f16[2,1]) {
      %w: f16[4,1] = constant hex"003c00400042003c"
      %p: f16[*] = MatMul(%x, %w)
      %a: f16[*] = Add(%p, %m)
      %f: f32[*] = Cast(%a) {to = 1}
      %y: f32[*] = Neg(%f)
      return %a, %y
    })"},
    {"widen_half", "bf16_states", R"((%x: bf16[2,2], %s: bf16[2,2]) {
      %y: bf16[*] = Relu(%x)
      %n: bf16[2,2] = Add(%s, %y)
      return %y, %n -> %s
    })"},
    {"widen_half", "parameters_in_half_precision", R"((%x: f16[4], %g: f16[4], %m: f32[4], %n: i64[]) {
      %rate: f32[] = constant dense(0.5)
      %v: f32[4] = constant dense(0.25, 1.0, 2.0, 0.0)
      %x_next: f16[4], %m_next: f32[4], %v_next: f32[4] = hone.AdamW(%rate, %n, none, %x, %g, %m, %v)
      return %x_next -> %x, %m_next -> %m, %v_next
    })"},
    {"recognise_activations", "gelu", R"((%x: f32[3,5]) {
      %root: f32[] = constant dense(1.4142135)
      %one: f32[] = constant dense(1.0)
      %half: f32[] = constant dense(0.5)
      %d: f32[*] = Div(%x, %root)
      %e: f32[*] = Erf(%d)
      %a: f32[*] = Add(%e, %one)
      %m: f32[*] = Mul(%x, %a)
      %y: f32[*] = Mul(%m, %half)
      return %y
    })"},
    {"recognise_normalization", "layer_norm", R"((%x: f32[3,4]) {
      %axis: i64[1] = constant dense(-1)
      %two: f32[] = constant dense(2.0)
      %eps: f32[] = constant dense(1e-05)
      %s: f32[4] = constant dense(1.0, 2.0, -3.0, 4.0)
      %b: f32[4] = constant dense(0.5, 1.0, 2.0, 3.0)
      %mean: f32[*] = ReduceMean(%x, %axis)
      %d: f32[*] = Sub(%x, %mean)
      %sq: f32[*] = Pow(%d, %two)
      %var: f32[*] = ReduceMean(%sq, %axis)
      %ve: f32[*] = Add(%var, %eps)
      %root: f32[*] = Sqrt(%ve)
      %n: f32[*] = Div(%d, %root)
      %sc: f32[*] = Mul(%n, %s)
      %y: f32[*] = Add(%sc, %b)
      return %y
    })"},
    {"recognise_attention", "heads_apart", R"((%q: f32[2,2,5,4], %k: f32[2,2,7,4], %v: f32[2,2,7,4]) {
      %scale: f32[] = constant dense(0.5)
      %kt: f32[*] = Transpose(%k) {perm = [0,1,3,2]}
      %s: f32[*] = MatMul(%q, %kt)
      %m: f32[*] = Mul(%s, %scale)
      %p: f32[*] = Softmax(%m) {axis = -1}
      %y: f32[*] = MatMul(%p, %v)
      return %y
    })"},
    {"recognise_narrow_attention", "heads_apart", R"((%q: f32[2,2,5,4], %k: f32[2,2,7,4], %v: f32[2,2,7,4]) {
      %scale: f32[] = constant dense(0.5)
      %kt: f32[*] = Transpose(%k) {perm = [0,1,3,2]}
      %s: f32[*] = MatMul(%q, %kt)
      %m: f32[*] = Mul(%s, %scale)
      %p: f32[*] = Softmax(%m) {axis = -1}
      %y: f32[*] = MatMul(%p, %v)
      return %y
    })"},
    {"fold_batch_norm", "a_convolution", R"((%x: f32[2,2,5,5]) {
      %w: f32[3,2,3,3] = constant numbers(54)
      %s: f32[3] = constant dense(4.0, 6.0, -1.0)
      %b: f32[3] = constant dense(1.0, -1.0, 0.5)
      %m: f32[3] = constant dense(0.5, 0.0, 2.0)
      %v: f32[3] = constant dense(4.0, 9.0, 0.25)
      %c: f32[*] = Conv(%x, %w)
      %y: f32[*] = BatchNormalization(%c, %s, %b, %m, %v)
      return %y
    })"},
    {"fold_batch_norm", "a_transposed_convolution_in_groups", R"((%x: f32[2,4,3,3]) {
      %w: f32[4,2,2,2] = constant numbers(32)
      %s: f32[4] = constant dense(4.0, 6.0, -1.0, 2.0)
      %b: f32[4] = constant dense(1.0, -1.0, 0.5, 0.0)
      %m: f32[4] = constant dense(0.5, 0.0, 2.0, 1.0)
      %v: f32[4] = constant dense(4.0, 9.0, 0.25, 1.0)
      %c: f32[*] = ConvTranspose(%x, %w) {group = 2, strides = [2,2]}
      %y: f32[*] = BatchNormalization(%c, %s, %b, %m, %v)
      return %y
    })"},
    {"fp16", "products_and_what_lies_between", R"((%x: f32[2,4], %r: f32[2,3], %s: f32[2,3]) {
      %w: f32[4,3] = constant dense(1.0, 2.0, 3.0, 4.0, -1.0, 0.5, 2.0, 0.25, 1.0, 1.0, -2.0, 0.1)
      %v: f32[3,2] = constant dense(0.5, -0.25, 0.125, 0.3, 1.0, -1.0)
      %m: f32[*] = MatMul(%x, %w)
      %a: f32[*] = Add(%m, %r)
      %p: f32[*] = Softmax(%a) {axis = -1}
      %e: f32[*] = Exp(%p)
      %y: f32[*] = MatMul(%e, %v)
      %n: f32[2,3] = Add(%s, %p)
      return %y, %n -> %s
    })"},
    {"fp16", "a_convolution_and_its_neighbours", R"((%x: f32[1,2,6,6]) {
      %w: f32[4,2,3,3] = constant numbers(72)
      %b: f32[4] = constant dense(1.0, -1.0, 0.5, 0.0)
      %c: f32[*] = Conv(%x, %w, %b) {pads = [1,1,1,1]}
      %r: f32[*] = Relu(%c)
      %y: f32[*] = MaxPool(%r) {kernel_shape = [2,2], strides = [2,2]}
      return %y
    })"},
    {"bf16", "a_product_with_a_bias", R"((%x: f32[2,4], %c: f32[3]) {
      %w: f32[4,3] = constant numbers(12)
      %g: f32[*] = Gemm(%x, %w, %c) {alpha = 0.5}
      %y: f32[*] = Tanh(%g)
      return %y
    })"},
    {"tf32", "products_and_convolutions", R"((%x: f32[1,2,6,6], %v: f32[2,6]) {
      %w: f32[4,2,3,3] = constant numbers(72)
      %m: f32[6,3] = constant numbers(18)
      %c: f32[*] = Conv(%x, %w) {pads = [1,1,1,1]}
      %r: f32[*] = Relu(%c)
      %p: f32[*] = MatMul(%v, %m)
      %s: f32[*] = Softmax(%p) {axis = -1}
      return %r, %s
    })"},
    {"merge_parallel", "products_of_one_input", R"((%x: f32[1,2,5,4]) {
      %wa: f32[16,2,1,1] = constant numbers(32)
      %wb: f32[32,2,1,1] = constant numbers(64)
      %a: f32[*] = Conv(%x, %wa)
      %b: f32[*] = Conv(%x, %wb)
      %ra: f32[*] = Relu(%a)
      %rb: f32[*] = Relu(%b)
      return %ra, %rb
    })"},
    {"spell_out", "of_batches_in_a_type_without_kernels",
     R"((%g: f64[2,3,4], %x: f64[2,3,4], %s: f64[3]) {
      %dx: f64[*], %ds: f64[*], %db: f64[*] = hone.BatchNormalizationGradient(%g, %x, %s)
      return %dx, %ds, %db
    })"},
    {"spell_out", "attention_in_a_type_without_kernels",
     R"((%q: f64[2,5,12], %k: f64[2,7,6], %v: f64[2,7,4], %m: bool[5,7]) {
      %y: f64[*] = Attention(%q, %k, %v, %m) {q_num_heads = 4, kv_num_heads = 2, scale = 0.3}
      return %y
    })"},
    {"spell_out", "of_attention_in_a_type_without_kernels",
     R"((%q: f64[2,5,12], %k: f64[2,7,6], %v: f64[2,7,4], %d: f64[2,5,8]) {
      %dq: f64[*], %dk: f64[*], %dv: f64[*] = hone.AttentionGradient(%q, %k, %v, none, %d) {q_num_heads = 4, kv_num_heads = 2, scale = 0.3}
      return %dq, %dk, %dv
    })"},
    {"spell_out", "of_causal_attention_in_a_type_without_kernels",
     R"((%q: f64[2,3,5,4], %d: f64[2,3,5,4]) {
      %dq: f64[*], %dk: f64[*], %dv: f64[*] = hone.AttentionGradient(%q, %q, %q, none, %d) {is_causal = 1}
      return %dq, %dk, %dv
    })"},
    {"spell_out", "rotary_embedding_by_positions_and_neighbouring_channels",
     R"((%x: f32[2,5,18], %z: f32[2,7,3], %p: i64[2,5]) {
      %c: f32[7,3] = constant numbers(21)
      %s: f32[7,3] = constant numbers(21)
      %y: f32[*] = RotaryEmbedding(%x, %c, %s, %p) {num_heads = 3}
      %n: f32[*] = LRN(%z) {size = 3, alpha = 0.5}
      return %y, %n
    })"},
    {"spell_out", "directly_behind_one_another",
     R"((%z: f32[2,7,3], %k: f32[1,3,6], %v: f32[1,3,4]) {
      %a: f32[*] = LRN(%z) {size = 3, alpha = 0.5}
      %b: f32[*] = LRN(%a) {size = 3, alpha = 0.5}
      %c: f32[*] = LpNormalization(%b) {p = 2, axis = 1}
      %n: f32[*] = LpNormalization(%k) {p = 2}
      %y: f32[*], %s: f32[*] = LinearAttention(%n, %n, %v) {q_num_heads = 2, kv_num_heads = 2, update_rule = "linear"}
      return %c, %y, %s
    })"},
    {"spell_out", "a_recurrence_and_a_convolution_with_states",
     R"((%q: f32[1,3,6], %k: f32[1,3,6], %v: f32[1,3,4], %x: f32[2,5,7], %w: f32[5,1,4]) {
      %y: f32[*], %s: f32[*] = LinearAttention(%q, %k, %v) {q_num_heads = 2, kv_num_heads = 2, update_rule = "linear"}
      %c: f32[*], %n: f32[*] = CausalConvWithState(%x, %w) {activation = "silu"}
      return %y, %s, %c, %n
    })"},
    {"fuse_relu_gradient", "behind_a_normalization",
     R"((%g: f32[2,3,4], %x: f32[2,3,4], %s: f32[3], %r: f32[2,3,4]) {
      %zero: f32[] = constant dense(0.0)
      %above: bool[*] = Greater(%r, %zero)
      %h: f32[*] = Where(%above, %g, %zero)
      %dx: f32[*], %ds: f32[*], %db: f32[*] = hone.BatchNormalizationGradient(%h, %x, %s)
      return %dx, %ds, %db
    })"},
    {"fuse_batch_norm_relu", "in_a_type_with_a_kernel",
     R"((%x: f16[2,3,4,2], %s: f32[3], %b: f32[3], %m: f32[3], %v: f32[3]) {
      %n: f16[*], %nm: f32[*], %nv: f32[*] = BatchNormalization(%x, %s, %b, %m, %v) {training_mode = 1, momentum = 0.8}
      %y: f16[*] = Relu(%n)
      return %y, %nm, %nv
    })"},
    {"align_classes", "of_a_head_and_its_gradients",
     R"((%x: f16[1,3,4], %w: f16[257,4], %t: i64[3], %f: f32[3,1]) {
      %none: i64[] = constant dense(0)
      %rows: i64[2] = constant dense(3, 257)
      %one: i64[2] = constant dense(3, 1)
      %two: i64[2] = constant dense(3, 4)
      %c: i64[*] = Mul(%t, %none)
      %s: i64[*] = Reshape(%c, %one)
      %u: f16[*] = Transpose(%w) {perm = [1,0]}
      %logits: f16[*] = MatMul(%x, %u)
      %scores: f16[*] = Reshape(%logits, %rows)
      %l: f32[*] = hone.SoftmaxCrossEntropyLoss(%scores, %c) {reduction = "sum"}
      %g: f16[*] = hone.CrossEntropyGradient(%scores, %s, %f)
      %dx: f16[*] = MatMul(%g, %w)
      %x2: f16[*] = Reshape(%x, %two)
      %xt: f16[*] = Transpose(%x2) {perm = [1,0]}
      %dw: f16[*] = MatMul(%xt, %g)
      return %l, %dx, %dw
    })"},
    {"absorb_transposes", "of_both_operands", R"((%x: f32[5,3], %y: f32[4,5], %z: f32[2,3,5]) {
      %a: f32[*] = Transpose(%x) {perm = [1,0]}
      %b: f32[*] = Transpose(%y) {perm = [1,0]}
      %m: f32[*] = MatMul(%a, %b)
      %n: f32[*] = MatMul(%z, %b)
      return %m, %n
    })"},
    {"fuse_cross_entropy", "its_gradient_in_a_type_with_a_kernel",
     R"((%x: f16[4,5], %t: i64[4,1], %f: f16[4,1]) {
      %none: i64[] = constant dense(0)
      %c: i64[*] = Mul(%t, %none)
      %p: f16[*] = Softmax(%x) {axis = 1}
      %m: f16[*] = Mul(%p, %f)
      %n: f16[*] = Neg(%f)
      %y: f16[*] = ScatterElements(%m, %c, %n) {axis = 1, reduction = "add"}
      return %y
    })"},
    {"spell_out_rest", "attention_in_a_type_without_kernels",
     R"((%q: f64[2,5,12], %k: f64[2,7,6], %v: f64[2,7,4]) {
      %y: f64[*] = Attention(%q, %k, %v) {q_num_heads = 4, kv_num_heads = 2, scale = 0.3}
      return %y
    })"},
    {"spell_out_rest", "what_depends_on_a_shape_that_was_computed",
     R"((%x: f32[5,8]) {
      %n: i64[2] = constant dense(10, 5)
      %y: f32[*] = CenterCropPad(%x, %n)
      return %y
    })"},
    {"keep_attention_sums", "of_the_same_operands",
     R"((%q: f16[2,5,12], %k: f16[2,7,6], %v: f16[2,7,4], %d: f16[2,5,8]) {
      %y: f16[*] = Attention(%q, %k, %v) {q_num_heads = 4, kv_num_heads = 2, scale = 0.3}
      %dq: f16[*], %dk: f16[*], %dv: f16[*] = hone.AttentionGradient(%q, %k, %v, none, %d) {q_num_heads = 4, kv_num_heads = 2, scale = 0.3}
      return %y, %dq, %dk, %dv
    })"},
    {"fuse_attention", "operands_out_of_one_matrix", R"((%x: f32[2,4,24]) {
      %widths: i64[3] = constant dense(8, 8, 8)
      %q: f32[*], %k: f32[*], %v: f32[*] = Split(%x, %widths) {axis = -1}
      %y: f32[*] = Attention(%q, %k, %v) {q_num_heads = 2, kv_num_heads = 2}
      return %y
    })"},
    {"assign_layouts", "convolutions_and_what_lies_between", R"((%x: f32[1,16,6,6], %m: f32[1,16,6,6]) {
      %w: f32[16,16,3,3] = constant numbers(2304)
      %a: f32[*] = Conv(%x, %w) {pads = [1,1,1,1]}
      %r: f32[*] = Relu(%a)
      %p: f32[*] = MaxPool(%r) {kernel_shape = [2,2], strides = [2,2]}
      %b: f32[*] = Conv(%p, %w) {pads = [1,1,1,1]}
      %k: f32[*] = Conv(%m, %w) {pads = [1,1,1,1], strides = [2,2]}
      %c: f32[*] = Concat(%b, %k) {axis = 1}
      %g: f32[*] = GlobalAveragePool(%c)
      return %g, %p
    })"},
    {"fuse_epilogues", "a_product", R"((%x: f32[4,2], %r: f32[4,3]) {
      %w: f32[2,3] = constant dense(1.0, 2.0, 3.0, 4.0, -1.0, 0.5)
      %b: f32[3] = constant dense(1.0, 2.0, -3.0)
      %m: f32[*] = MatMul(%x, %w)
      %a: f32[*] = Add(%m, %b)
      %s: f32[*] = Add(%r, %a)
      %y: f32[*] = Relu(%s)
      return %y
    })"},
    {"fuse_epilogues", "a_product_quantised_and_back", R"((%x: f32[4,2]) {
      %w: f32[2,3] = constant dense(1.0, 2.0, 3.0, 4.0, -1.0, 0.5)
      %s: f32[] = constant dense(0.125)
      %z: u8[] = constant dense(128)
      %m: f32[*] = MatMul(%x, %w)
      %q: u8[*] = QuantizeLinear(%m, %s, %z)
      %y: f32[*] = DequantizeLinear(%q, %s, %z)
      return %y
    })"},
    {"fuse_epilogues", "two_convolutions_that_meet", R"((%x: f32[1,2,3,3]) {
      %w: f32[2,2,1,1] = constant dense(1.0, 2.0, 3.0, 4.0)
      %a: f32[*] = Conv(%x, %w)
      %b: f32[*] = Conv(%a, %w)
      %c: f32[*] = Add(%b, %a)
      %y: f32[*] = HardSwish(%c)
      return %y
    })"},
    {"fuse_bias_gradients", "of_a_batch_of_sequences", R"((%x: f16[2,5,4], %g: f16[2,5,3]) {
      %axes: i64[2] = constant dense(0, 1)
      %xs: f16[*] = Flatten(%x) {axis = -1}
      %gs: f16[*] = Flatten(%g) {axis = -1}
      %dw: f16[*] = Gemm(%xs, %gs) {transA = 1}
      %db: f32[*] = hone.ReduceSum(%g, %axes)
      return %dw, %db
    })"},
    {"fuse_bias_gradients", "behind_a_transposed_operand", R"((%x: f16[5,4], %g: f16[5,3]) {
      %axes: i64[1] = constant dense(0)
      %dw: f16[*] = Gemm(%g, %x) {transA = 1}
      %db: f16[*] = ReduceSum(%g, %axes) {keepdims = 0}
      return %db, %dw
    })"},
    {"fuse_normalization", "of_a_residual_stream", R"((%x: f32[4,8], %g: bf16[4,8], %r: f32[4,8]) {
      %s: f32[8] = constant numbers(8)
      %b: f32[8] = constant numbers(8)
      %n: f32[*] = LayerNormalization(%x, %s, %b)
      %h: bf16[*] = Cast(%n) {to = 16}
      %d: f32[*], %ds: f32[*], %db: f32[*] = hone.LayerNormalizationGradient(%g, %x, %s)
      %a: f32[*] = Add(%r, %d)
      %c: bf16[*] = Cast(%a) {to = 16}
      return %h, %n, %c, %a, %ds, %db
    })"},
    {"fuse_pointwise", "rows_columns_and_absent_operands",
     R"((%x: f32[4,3], %row: f32[3], %column: f32[4,1]) {
      %most: f32[] = constant dense(1.0)
      %a: f32[*] = Add(%x, %row)
      %b: f32[*] = Mul(%a, %column)
      %c: f32[*] = Clip(%b, none, %most)
      %y: f32[*] = Sub(%c, %a)
      return %y
    })"},
    {"fuse_pointwise", "in_half_precision",
     R"((%x: f16[4,3], %row: f16[3], %column: f16[4,1]) {
      %most: f16[] = constant hex"003c"
      %a: f16[*] = Add(%x, %row)
      %b: f16[*] = Mul(%a, %column)
      %c: f16[*] = Clip(%b, none, %most)
      %d: f16[*] = Sigmoid(%c)
      %y: f16[*] = Sub(%d, %a)
      return %y
    })"},
    {"order_for_memory", "branches_one_after_the_other", R"((%x: f32[64,64]) {
      %axes: i64[2] = constant dense(0, 1)
      %a: f32[*] = Softmax(%x) {axis = 0}
      %b: f32[*] = Softmax(%x) {axis = 1}
      %s: f32[*] = ReduceSumSquare(%a, %axes)
      %t: f32[*] = ReduceSumSquare(%b, %axes)
      %y: f32[*] = Sub(%s, %t)
      return %y
    })"},
};

// The CPU has no kernel for what the pass makes; its pieces round to f16 each.
bool is_for_half_types(const Pass& pass) {
  return pass.name == "fuse_cross_entropy" || pass.name == "fuse_batch_norm_relu" ||
         pass.name == "fuse_bias_gradients" || pass.name == "fuse_normalization" ||
         pass.name == "align_classes" || pass.name == "absorb_transposes" ||
         pass.name == "keep_attention_sums";
}

// Where no table of kernels of the CPU's lets a pass do anything: one that takes half types.
std::shared_ptr<const runtime::Provider> provider_for(const Pass& pass) {
  if (pass.numerics == Numerics::kLossy || is_for_half_types(pass))
    return std::make_shared<runtime::testing::HalfProvider>();
  return runtime::testing::cpu_provider(1);
}

// How near numbers must be: `exact` passes are, interpreted; what kernels round to is another matter.
testing_support::Agreement agreement_of(const Pass& pass) {
  if (pass.numerics == Numerics::kLossy)
    return {.interpreted = pass.lossy_limit, .planned = pass.lossy_limit};
  if (is_for_half_types(pass)) return {.interpreted = 2e-3, .planned = 2e-3};
  return {.interpreted = pass.numerics == Numerics::kExact ? 0 : 2e-5, .planned = 2e-5};
}

void PrintTo(const PassCase& test, std::ostream* out) { *out << test.pass << ", " << test.name; }

class EachPass : public testing::TestWithParam<PassCase> {};

TEST_P(EachPass, KeepsTheNumbers) {
  const auto& passes = pipeline();
  const auto pass = std::find_if(passes.begin(), passes.end(),
                                 [](const Pass& each) { return each.name == GetParam().pass; });
  ASSERT_NE(pass, passes.end());
  const auto provider = provider_for(*pass);
  const PassContext context{runtime::interpret_node, nullptr, lab::pass_target(*provider)};
  const graph::Graph before = testing_support::graph_from(with_numbers(GetParam().text));
  const auto outcome = run_checked(*pass, before, context);
  ASSERT_TRUE(outcome.ok()) << outcome.error().message;
  std::string missed;
  for (const Note& note : outcome->missed) missed += note.node + ": " + note.text + "\n";
  ASSERT_FALSE(outcome->done.empty()) << "the pass did nothing\n" << missed;
  EXPECT_FALSE(graph::equivalent(before, outcome->graph));
  testing_support::expect_same_numbers(before, outcome->graph, *provider, agreement_of(*pass));
  if (testing::Test::HasFailure()) ADD_FAILURE() << graph::print(outcome->graph);
}

// `text` with the first extent, or every one, of all types but constants' open: a symbol for each number.
std::string with_open_extents(const std::string& text, bool every) {
  static const std::regex kExtents(R"((\w\[)(\d[\d,]*)\])");
  static const std::regex kFirst(R"(\[(\d))"), kOthers(R"(,(\d))");
  std::istringstream lines(text);
  std::string opened;
  for (std::string line; std::getline(lines, line); opened += line + "\n") {
    if (line.find("= constant") != std::string::npos) continue;
    std::string rest = line;
    line.clear();
    for (std::smatch found; std::regex_search(rest, found, kExtents); rest = found.suffix()) {
      std::string type = std::regex_replace(found.str(), kFirst, "[n$1");
      if (every) type = std::regex_replace(type, kOthers, ",n$1");
      line += found.prefix().str() + type;
    }
    line += rest;
  }
  return opened;
}

// What a pass may not rely on: it does less then, or nothing.
TEST_P(EachPass, TakesOpenExtents) {
  const auto& passes = pipeline();
  const auto pass = std::find_if(passes.begin(), passes.end(),
                                 [](const Pass& each) { return each.name == GetParam().pass; });
  const auto provider = provider_for(*pass);
  const PassContext context{runtime::interpret_node, nullptr, lab::pass_target(*provider)};
  const std::string text = with_numbers(GetParam().text);
  for (const bool every : {false, true}) {
    const graph::Graph before = testing_support::graph_from(with_open_extents(text, every));
    const auto outcome = run_checked(*pass, before, context);
    EXPECT_TRUE(outcome.ok()) << outcome.error().message;
  }
}

INSTANTIATE_TEST_SUITE_P(Pipeline, EachPass, testing::ValuesIn(kPassCases), [](const auto& test) {
  return std::string(test.param.pass) + "_" + test.param.name;
});

TEST(PassCases, ThereIsOneForEveryPass) {
  for (const Pass& pass : pipeline()) {
    EXPECT_TRUE(std::any_of(std::begin(kPassCases), std::end(kPassCases),
                            [&](const PassCase& test) { return test.pass == pass.name; }))
        << pass.name << ": give it a graph on which it does something";
  }
}

}  // namespace
}  // namespace hone::passes

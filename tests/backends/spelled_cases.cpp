#include "tests/backends/spelled_cases.h"

#include "tests/backends/compare.h"
#include "tests/passes/numbers.h"
#include <fmt/format.h>

namespace hone::backends {
namespace {

void add_sequences(std::vector<SpelledCase>& c) {
  c.insert(
      c.end(),
      {{"rotary_of_heads", "%x: f32[2,3,5,8], %c: f32[2,5,4], %s: f32[2,5,4]", "RotaryEmbedding(%x, %c, %s)"},
       {"rotary_interleaved", "%x: f32[2,3,5,6], %c: f32[2,5,3], %s: f32[2,5,3]",
        "RotaryEmbedding(%x, %c, %s) {interleaved = 1}"},
       {"rotary_by_positions", "%x: f16[2,3,5,8], %c: f16[7,4], %s: f16[7,4], %p: i64[2,5]",
        "RotaryEmbedding(%x, %c, %s, %p)"},
       {"rotary_of_known_caches", "%x: f32[2,5,18], %p: i64[2,5]",
        "RotaryEmbedding(%x, %c, %s, %p) {num_heads = 3, interleaved = 1}",
        "%c: f32[7,3] = constant dense(1.0, 0.5, 0.25, 0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9, -1.0, -0.1, "
        "-0.2, "
        "-0.3, -0.4, -0.5, -0.6, 0.15, 0.35, 0.45)\n"
        "%s: f32[7,3] = constant dense(0.1, 0.2, 0.3, -0.4, 0.6, 0.7, 0.8, 0.9, -1.0, -0.1, -0.2, 1.0, 0.5, "
        "0.25, "
        "-0.3, -0.4, -0.5, -0.6, 0.15, 0.35, 0.45)\n"},
       {"rotary_of_a_part", "%x: bf16[1,5,30], %c: bf16[1,5,3], %s: bf16[1,5,3]",
        "RotaryEmbedding(%x, %c, %s) {num_heads = 3, rotary_embedding_dim = 6}"},
       {"rotary_of_a_part_interleaved", "%x: f64[1,2,1,10], %c: f64[4,2], %s: f64[4,2], %p: i64[1,1]",
        "RotaryEmbedding(%x, %c, %s, %p) {rotary_embedding_dim = 4, interleaved = 1}"},
       {"causal_conv", "%x: f32[2,5,7], %w: f32[5,1,4]", "CausalConvWithState(%x, %w)", "", 2},
       {"causal_conv_of_one_token", "%x: f16[2,5,1], %w: f16[5,1,4], %b: f16[5], %p: f16[2,5,3]",
        "CausalConvWithState(%x, %w, %b, %p) {activation = \"silu\"}", "", 2},
       {"causal_conv_of_less_than_a_state", "%x: f32[1,3,2], %w: f32[3,1,5], %p: f32[1,3,4]",
        "CausalConvWithState(%x, %w, none, %p) {activation = \"swish\"}", "", 2},
       {"causal_conv_of_one_tap", "%x: f32[2,3,4], %w: f32[3,1,1], %b: f32[3]",
        "CausalConvWithState(%x, %w, %b)"},
       {"linear_attention", "%q: f32[2,5,12], %k: f32[2,5,6], %v: f32[2,5,10]",
        "LinearAttention(%q, %k, %v) {q_num_heads = 4, kv_num_heads = 2, update_rule = \"linear\"}", "", 2},
       {"linear_attention_gated_of_one_token",
        "%q: f16[2,1,12], %k: f16[2,1,6], %v: f16[2,1,10], %s: f16[2,2,3,5], %d: f16[2,1,2]",
        "LinearAttention(%q, %k, %v, %s, %d) {q_num_heads = 4, kv_num_heads = 2, update_rule = \"gated\", "
        "scale = 0.3}",
        "", 2},
       {"linear_attention_gated_a_key",
        "%q: f32[1,3,6], %k: f32[1,3,6], %v: f32[1,3,4], %s: f32[1,2,3,2], %d: f32[1,3,6]",
        "LinearAttention(%q, %k, %v, %s, %d) {q_num_heads = 2, kv_num_heads = 2, update_rule = \"gated\"}",
        "", 2},
       {"linear_attention_of_parts", "%q: f32[1,150,8], %k: f32[1,150,4], %v: f32[1,150,6]",
        "LinearAttention(%q, %k, %v) {q_num_heads = 4, kv_num_heads = 2, update_rule = \"linear\"}", "", 2},
       {"linear_attention_gated_of_parts_and_a_token",
        "%q: f32[2,65,12], %k: f32[2,65,6], %v: f32[2,65,4], %s: f32[2,2,3,2], %d: f32[2,65,2]",
        "LinearAttention(%q, %k, %v, %s, %d) {q_num_heads = 4, kv_num_heads = 2, update_rule = \"gated\"}",
        "", 2},
       {.name = "linear_attention_gated_strongly",
        .inputs = "%q: f32[1,70,6], %k: f32[1,70,6], %v: f32[1,70,4], %s: f32[1,2,3,2], %d: f32[1,70,2]",
        .call = "LinearAttention(%q, %k, %v, %s, %d) {q_num_heads = 2, kv_num_heads = 2, update_rule = "
                "\"gated\"}",
        .outputs = 2,
        .low = -20,
        .high = -1},
       {"linear_attention_delta", "%q: f32[1,4,6], %k: f32[1,4,6], %v: f32[1,4,4], %b: f32[1,4,2]",
        "LinearAttention(%q, %k, %v, none, none, %b) {q_num_heads = 2, kv_num_heads = 2, update_rule = "
        "\"delta\"}",
        "", 2},
       {"linear_attention_gated_delta",
        "%q: f32[2,3,9], %k: f32[2,3,3], %v: f32[2,3,2], %s: f32[2,1,3,2], %d: f32[2,3,1], %b: f32[2,3,1]",
        "LinearAttention(%q, %k, %v, %s, %d, %b) {q_num_heads = 3, kv_num_heads = 1}"}});
}

void add_norms(std::vector<SpelledCase>& c) {
  c.insert(c.end(),
           {{"lrn", "%x: f32[2,7,3,5]", "LRN(%x) {size = 5, alpha = 0.9, beta = 0.5, bias = 2.0}"},
            {"lrn_of_even_size", "%x: f32[3,7,4]", "LRN(%x) {size = 4, alpha = 0.3}"},
            {"lrn_of_more_than_its_channels", "%x: f32[5,3]", "LRN(%x) {size = 9, alpha = 1.5}"},
            {.name = "lrn_whose_squares_no_f16_holds",
             .inputs = "%x: f16[2,7,3,5]",
             .call = "LRN(%x) {size = 3, alpha = 0.01}",
             .low = -900,
             .high = 900},
            {"lp_normalization", "%x: f32[3,5,7]", "LpNormalization(%x) {axis = 1}"},
            {"lp_normalization_by_magnitudes", "%x: bf16[3,5]", "LpNormalization(%x) {p = 1}"},
            {.name = "lp_normalization_of_zeros",
             .inputs = "%x: f32[3,5]",
             .call = "LpNormalization(%x) {axis = 0}",
             .low = 0,
             .high = 0},
            {.name = "lp_normalization_whose_squares_no_f16_holds",
             .inputs = "%x: f16[3,50]",
             .call = "LpNormalization(%x) {axis = -1}",
             .low = -900,
             .high = 900},
            {"mean_variance", "%x: f32[3,5,4,7]", "MeanVarianceNormalization(%x)"},
            {"mean_variance_of_rows", "%x: f16[3,50]", "MeanVarianceNormalization(%x) {axes = [-1]}"},
            {.name = "mean_variance_of_equal_numbers",
             .inputs = "%x: f32[3,8]",
             .call = "MeanVarianceNormalization(%x) {axes = [1]}",
             .low = 2,
             .high = 2},
            {"global_lp_pool", "%x: f32[2,3,5,7]", "GlobalLpPool(%x)"},
            {"global_lp_pool_of_magnitudes", "%x: f16[2,3,5]", "GlobalLpPool(%x) {p = 1}"},
            {"global_lp_pool_of_cubes", "%x: f32[2,3,5,3,2]", "GlobalLpPool(%x) {p = 3}"},
            {"lp_pool", "%x: f32[2,3,7,6]",
             "LpPool(%x) {kernel_shape = [3,2], strides = [2,1], pads = [1,0,1,1]}"},
            {"lp_pool_same_upper", "%x: f16[1,2,7,6]",
             "LpPool(%x) {kernel_shape = [3,3], strides = [2,2], auto_pad = \"SAME_UPPER\"}"},
            {"lp_pool_beyond_the_border", "%x: f32[1,2,8]",
             "LpPool(%x) {kernel_shape = [3], strides = [2], pads = [1,0], ceil_mode = 1, p = 3}"},
            {"lp_pool_of_a_volume", "%x: f32[1,2,5,4,6]",
             "LpPool(%x) {kernel_shape = [2,2,2], dilations = [2,1,3], p = 1}"},
            {"hardmax", "%x: f32[3,5,4]", "Hardmax(%x) {axis = 1}"},
            {.name = "hardmax_of_equal_numbers",
             .inputs = "%x: f16[3,5]",
             .call = "Hardmax(%x)",
             .low = 2,
             .high = 2},
            {"determinants_of_one", "%x: f32[5,1,1]", "Det(%x)"},
            {"determinant_of_two", "%x: f32[2,2]", "Det(%x)"},
            {"determinants_of_three", "%x: f32[2,3,3,3]", "Det(%x)"}});
}

void add_images(std::vector<SpelledCase>& c) {
  c.insert(
      c.end(),
      {{"affine_grid", "%x: f32[2,2,3]", "AffineGrid(%x, %n)", "%n: i64[4] = constant dense(2, 3, 5, 7)\n"},
       {"affine_grid_of_corners", "%x: f32[2,2,3]", "AffineGrid(%x, %n) {align_corners = 1}",
        "%n: i64[4] = constant dense(2, 3, 1, 7)\n"},
       {"affine_grid_of_a_volume", "%x: f16[1,3,4]", "AffineGrid(%x, %n)",
        "%n: i64[5] = constant dense(1, 2, 3, 4, 5)\n"},
       {"center_crop_pad", "%x: f32[5,8,3]", "CenterCropPad(%x, %n)",
        "%n: i64[3] = constant dense(10, 5, 3)\n"},
       {"center_crop_pad_of_axes", "%x: f16[4,9,7]", "CenterCropPad(%x, %n) {axes = [-1, 1]}",
        "%n: i64[2] = constant dense(10, 4)\n"},
       {"center_crop_pad_of_nothing", "%x: f32[4,3]", "CenterCropPad(%x, %n)",
        "%n: i64[2] = constant dense(4, 3)\n"},
       {"col2im", "%x: f32[2,18,12]", "Col2Im(%x, %i, %b)",
        "%i: i64[2] = constant dense(5, 6)\n%b: i64[2] = constant dense(3, 3)\n"},
       {"col2im_padded_and_dilated", "%x: f32[1,8,15]",
        "Col2Im(%x, %i, %b) {pads = [0,1,0,1], strides = [1,2], dilations = [2,1]}",
        "%i: i64[2] = constant dense(5, 9)\n%b: i64[2] = constant dense(2, 2)\n"},
       {"col2im_side_by_side", "%x: f16[2,6,4]", "Col2Im(%x, %i, %b) {strides = [1,3]}",
        "%i: i64[2] = constant dense(2, 6)\n%b: i64[2] = constant dense(1, 3)\n"},
       {"col2im_of_a_volume", "%x: f32[1,16,12]", "Col2Im(%x, %i, %b)",
        "%i: i64[3] = constant dense(3, 4, 3)\n%b: i64[3] = constant dense(2, 2, 2)\n"},
       {.name = "max_unpool",
        .inputs = "%x: f32[2,3,4,3], %i: i64[2,3,4,3]",
        .call = "MaxUnpool(%x, %i) {kernel_shape = [2,2], strides = [2,2]}",
        .step = 4,
        .limit = 288},
       {.name = "max_unpool_of_another_shape",
        .inputs = "%x: f16[1,2,4], %i: i64[1,2,4]",
        .call = "MaxUnpool(%x, %i, %n) {kernel_shape = [2], strides = [2]}",
        .constants = "%n: i64[3] = constant dense(1, 2, 11)\n",
        .step = 2,
        .limit = 16},
       {.name = "max_unpool_of_a_smaller_shape",
        .inputs = "%x: f32[1,2,4], %i: i64[1,2,4]",
        .call = "MaxUnpool(%x, %i, %n) {kernel_shape = [2], strides = [2]}",
        .constants = "%n: i64[3] = constant dense(1, 2, 5)\n",
        .step = 2,
        .limit = 16},
       {.name = "deform_conv",
        .inputs = "%x: f32[2,4,6,5], %w: f32[6,2,3,2], %o: f32[2,24,4,4], %b: f32[6], %m: f32[2,12,4,4]",
        .call = "DeformConv(%x, %w, %o, %b, %m) {group = 2, offset_group = 2}",
        .low = -2,
        .high = 2},
       {.name = "deform_conv_strided",
        .inputs = "%x: f32[1,3,7,1], %w: f32[2,3,2,1], %o: f32[1,4,4,1]",
        .call = "DeformConv(%x, %w, %o) {strides = [2,1], dilations = [2,1], pads = [1,0,1,0]}"},
       {"deform_conv_of_halves", "%x: f16[1,4,6,5], %w: f16[3,4,3,3], %o: f16[1,18,4,3]",
        "DeformConv(%x, %w, %o)"}});
}

void add_transforms(std::vector<SpelledCase>& c) {
  c.insert(c.end(), {{"dft", "%x: f32[2,10,3,1]", "DFT(%x, none, %a)", "%a: i64[] = constant dense(1)\n"},
                     {"dft_of_complex_numbers", "%x: f32[3,7,2]", "DFT(%x)"},
                     {"dft_onesided_longer", "%x: f32[3,7,1]", "DFT(%x, %n) {onesided = 1}",
                      "%n: i64[] = constant dense(12)\n"},
                     {"dft_shorter", "%x: f32[3,7,2]", "DFT(%x, %n)", "%n: i64[] = constant dense(5)\n"},
                     {"dft_inverse", "%x: f32[9,4,2]", "DFT(%x, none, %a) {inverse = 1}",
                      "%a: i64[] = constant dense(0)\n"},
                     {"dft_of_half_a_spectrum", "%x: f32[3,6,2]", "DFT(%x) {inverse = 1, onesided = 1}"},
                     {"dft_of_half_an_odd_spectrum", "%x: f32[3,6,2]",
                      "DFT(%x, %n) {inverse = 1, onesided = 1}", "%n: i64[] = constant dense(9)\n"},
                     {"dft_of_less_than_half_a_spectrum", "%x: f16[3,3,2]",
                      "DFT(%x, %n) {inverse = 1, onesided = 1}", "%n: i64[] = constant dense(10)\n"},
                     {"stft", "%x: f32[2,37,1]", "STFT(%x, %s, none, %l)",
                      "%s: i64[] = constant dense(5)\n%l: i64[] = constant dense(12)\n"},
                     {"stft_by_a_window", "%x: f32[2,37], %w: f32[9]", "STFT(%x, %s, %w)",
                      "%s: i64[] = constant dense(4)\n"},
                     {"stft_of_complex_numbers", "%x: f16[1,20,2]", "STFT(%x, %s, %w, %l) {onesided = 0}",
                      "%s: i64[] = constant dense(3)\n%w: f16[4] = constant hex\"003c0038003a003c\"\n%l: "
                      "i64[] = constant dense(4)\n"}});
}

}  // namespace

std::vector<SpelledCase> spelled_cases() {
  std::vector<SpelledCase> cases;
  add_sequences(cases);
  add_norms(cases);
  add_images(cases);
  add_transforms(cases);
  return cases;
}

graph::Graph graph_of(const SpelledCase& test) {
  const std::string inputs = test.inputs;
  const std::size_t type = inputs.find(": ") + 2;
  const std::string dtype = inputs.substr(type, inputs.find('[') - type);
  const bool two = test.outputs == 2;
  return testing_support::graph_from(
      fmt::format("({}) {{\n{}%y: {}[*]{} = {}\nreturn %y{}\n}}", inputs, test.constants, dtype,
                  two ? ", %z: " + dtype + "[*]" : std::string(), test.call, two ? ", %z" : ""));
}

std::vector<Tensor> inputs_of(const SpelledCase& test, const graph::Graph& graph) {
  std::vector<Tensor> inputs;
  for (const graph::ValueId input : graph.inputs()) {
    const graph::TensorType& type = graph.type(input);
    if (type.dtype != DType::kI64) {
      const auto seed = static_cast<uint32_t>(inputs.size()) + 11;
      inputs.push_back(random_floats_of(type.dtype, type.shape(), seed, test.low, test.high));
      continue;
    }
    Tensor tensor(type.dtype, type.shape());
    for (int64_t i = 0; i < tensor.size(); ++i)
      tensor.as<int64_t>()[static_cast<std::size_t>(i)] = (i * test.step + 1) % test.limit;
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

}  // namespace hone::backends

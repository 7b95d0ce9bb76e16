#include "trace/aten/cost.h"

#include <map>

#include <gtest/gtest.h>

#include "trace/aten/table.h"

namespace hone::trace::aten {
namespace {

using enum OperatorClass;

std::optional<CallCost> cost(std::string_view kind, std::string_view inputs) {
  const auto parsed = parse_call_inputs(inputs);
  EXPECT_TRUE(parsed.ok()) << inputs;
  return parsed.ok() ? call_cost(kind, *parsed) : std::nullopt;
}

// By hand: FLOPs, bytes read and written of one call.
struct ByHand {
  std::string_view kind, inputs;
  OperatorClass op_class;
  double flops, read, written;
};

constexpr ByHand kByHand[] = {
    // 2·3·5·4
    {"aten::mm", "f32[3,4] f32[4,5]", kMatrix, 120, 4 * (12 + 20), 4 * 15},
    {"aten::mm", "bf16[3,4] bf16[4,5] f32[3,5]", kMatrix, 120, 2 * (12 + 20), 4 * 15},
    {"aten::addmm", "bf16[5] bf16[3,4] bf16[4,5] =1 =1", kMatrix, 120, 2 * (5 + 12 + 20), 2 * 15},
    {"aten::_transform_bias_rescale_qkv", "f32[2,3,12] f32[12] =2", trace::OperatorClass::kPointwise, 96,
     4 * (72 + 12), 4 * 72},
    {"aten::bmm", "f16[7,3,4] f16[7,4,5]", kMatrix, 7 * 120, 2 * 7 * 32, 2 * 7 * 15},
    {"aten::baddbmm", "f32[7,3,5] f32[7,3,4] f32[7,4,5] =1 =1", kMatrix, 7 * 120, 4 * 7 * (15 + 32),
     4 * 7 * 15},
    {"aten::addmv", "f32[3] f32[3,4] f32[4]", kMatrix, 24, 4 * (3 + 12 + 4), 4 * 3},
    {"aten::_scaled_mm", "f8e4m3fn[16,32] f8e4m3fn[32,48] f32[] f32[] - - =15", kMatrix, 2 * 16 * 32 * 48,
     16 * 32 + 32 * 48 + 8, 2 * 16 * 48},
    // groups of rows: 2·6·4·5 however the 6 rows are shared; 3 ends of groups
    {"aten::_grouped_mm", "bf16[6,4] bf16[3,4,5] i32[3] - -", kMatrix, 240, 2 * (24 + 60) + 12, 2 * 30},
    // of columns: 2·2·4·6
    {"aten::_grouped_mm", "bf16[3,2,4] bf16[4,6] i32[3] - -", kMatrix, 96, 2 * (24 + 24) + 12, 2 * 12},
    // of terms: 2·2·9·5, and a result for each of the 3 groups, in f32
    {"aten::_grouped_mm", "bf16[2,9] bf16[9,5] i32[3] - =6", kMatrix, 180, 2 * (18 + 45) + 12, 4 * 3 * 10},
    {"aten::_grouped_mm", "bf16[3,2,4] bf16[3,4,5] - - -", kMatrix, 240, 2 * (24 + 60), 2 * 30},
    {"aten::_scaled_grouped_mm", "f8e4m3fn[6,16] f8e4m3fn[3,16,5] f32[6] f32[3,5] i32[3] - - =15 =True",
     kMatrix, 960, 96 + 240 + 4 * (6 + 15) + 12, 2 * 30},
    // 5 steps of 2 sequences: 2·10·(8·3 + 8·2); two of 4 gates, hidden size 2
    {"aten::_cudnn_rnn",
     "f32[5,2,3] (f32[8,3] f32[8,2] f32[8] f32[8]) =4 f32[56] f32[1,2,2] f32[1,2,2] =2 =2 =0 =1 =False =0. "
     "=True =False =[] -",
     kMatrix, 2 * 10 * 40, 4 * (30.0 + 56), 4 * 20.0},
    {"aten::_thnn_fused_lstm_cell", "f32[2,12] f32[2,12] f32[2,3] f32[12] f32[12]", kPointwise, 21 * 6,
     4 * (24.0 + 24 + 6 + 12 + 12), 4 * 36.0},
    // 2 · 64 · 112² · 3 · 7²: the first layer of ResNet-50
    {"aten::cudnn_convolution", "f32[1,3,224,224] f32[64,3,7,7] =[3,3] =[2,2] =[1,1] =1 =True =False =True",
     kConvolution, 2.0 * 64 * 112 * 112 * 3 * 49, 4 * (3.0 * 224 * 224 + 64 * 3 * 49), 4 * 64.0 * 112 * 112},
    // depthwise: each output element takes 9 products of its own channel
    {"aten::convolution", "f16[2,8,10,10] f16[8,1,3,3] - =[1,1] =[1,1] =[1,1] =False =[0,0] =8", kConvolution,
     2.0 * 2 * 8 * 100 * 9, 2 * (1600.0 + 72), 2 * 1600},
    // transposed, stride 2, kernel 2: each input element takes every output channel and kernel position
    {"aten::cudnn_convolution_transpose", "bf16[1,16,4,4] bf16[16,8,2,2] =[0,0] =[0,0] =[2,2] =[1,1] =1",
     kConvolution, 2.0 * 16 * 16 * 8 * 4, 2 * (256.0 + 512), 2 * 8 * 64},
    // both gradients, each as many as forward (2·2·5·5·16·9·4 = 57600), and 2·16·25 additions for the bias
    {"aten::convolution_backward",
     "f32[2,16,5,5] f32[2,4,5,5] f32[16,4,3,3] =[16] =[1,1] =[1,1] =[1,1] =False =[0,0] =1 =[True,True,True]",
     kConvolution, 2 * 57600 + 800, 4 * (800.0 + 576 + 200), 4 * (200.0 + 576 + 16)},
    {"aten::convolution_backward",
     "f32[2,16,5,5] f32[2,4,5,5] f32[16,4,3,3] =[0] =[1,1] =[1,1] =[1,1] =False =[0,0] =1 "
     "=[False,True,False]",
     kConvolution, 57600, 4 * (800.0 + 200), 4 * 576.0},
    // shapes alone, as NVTX ranges have them: the gradient tells what the strides made of the input
    {"aten::convolution_backward", "f32[2,16,5,5] f32[2,4,5,5] f32[16,4,3,3] - - - - - - - -", kConvolution,
     2 * 57600, 4 * (800.0 + 576 + 200), 4 * (200.0 + 576)},
    // 2·B·H·S²·(D+D) and half of it, with the diagonal, where it is causal
    {"aten::_flash_attention_forward",
     "bf16[2,10,3,8] bf16[2,10,3,8] bf16[2,10,3,8] - - =10 =10 =0. =False =False", kMatrix,
     2.0 * 6 * 100 * 16, 2 * 3 * 480.0, 2 * 480.0 + 4 * 60},
    {"aten::_scaled_dot_product_flash_attention",
     "bf16[2,3,10,8] bf16[2,3,10,8] bf16[2,3,10,8] =0. =True =False", kMatrix, 2.0 * 6 * 55 * 16,
     2 * 3 * 480.0, 2 * 480.0 + 4 * 60},
    {"aten::_efficient_attention_forward",
     "f32[2,10,3,8] f32[2,10,3,8] f32[2,10,3,8] - - - - - =0. =1 =True - - -", kMatrix, 2.0 * 6 * 55 * 16,
     4 * 3 * 480.0, 4 * 480.0 + 4 * 60},
    {"aten::_cudnn_attention_backward",
     "bf16[2,3,10,8] bf16[2,3,10,8] bf16[2,3,10,8] bf16[2,3,10,8] bf16[2,3,10,8] f32[2,3,10,1] i64[] i64[] - "
     "- - =10 =10 =0. =True -",
     kMatrix, 2.0 * 6 * 55 * 5 * 8, 2 * 5 * 480.0 + 4 * 60, 2 * 3 * 480.0},
    {"flash_attn::_flash_attn_forward", "bf16[2,10,3,8] bf16[2,10,3,8] bf16[2,10,3,8] =0. =0.3 =True",
     kMatrix, 2.0 * 6 * 55 * 16, 2 * 3 * 480.0, 2 * 480.0 + 4 * 60},
    {"triton_tem_fused_addmm_relu_3", "bf16[5] bf16[3,4] bf16[4,5] bf16[3,5]", kMatrix, 120,
     2 * (5 + 12 + 20), 2 * 15},
    // broadcasting: each operand is read once
    {"aten::add", "f32[8,16] f32[16] =1", kPointwise, 128, 4 * (128 + 16), 4 * 128},
    {"aten::mul", "bf16[4,4] f32[4,4]", kPointwise, 16, 2 * 16 + 4 * 16, 4 * 16},
    {"aten::mul_", "bf16[4,4] f32[4,4]", kPointwise, 16, 2 * 16 + 4 * 16, 2 * 16},
    {"aten::mul", "bf16[4,4] f64[]", kPointwise, 16, 2 * 16 + 8, 2 * 16},
    {"aten::div", "i64[4] i64[4]", kPointwise, 4, 64, 16},
    {"aten::gt", "f32[100] =0.5", kPointwise, 100, 400, 100},
    {"aten::where", "bool[100] f32[100] =0.", kPointwise, 100, 500, 400},
    {"aten::addcmul_", "f32[9] f32[9] f32[9] =0.5", kPointwise, 27, 108, 36},
    {"aten::relu", "f16[10]", kPointwise, 10, 20, 20},
    {"aten::gelu_backward", "f32[10] f32[10] -", kPointwise, 110, 80, 40},
    // the 30 elements of one half: exp, add, divide, multiply
    {"aten::glu", "bf16[2,6,5] =1", kPointwise, 120, 2 * 60, 2 * 30},
    {"aten::glu_backward", "f32[4,3] f32[4,6] =-1", kPointwise, 7 * 12, 4 * (12 + 24), 4 * 24},
    {"aten::_prelu_kernel", "bf16[2,3,5] bf16[1,3,1]", kPointwise, 60, 2 * 33, 2 * 30},
    {"aten::_prelu_kernel_backward", "f32[2,3,5] f32[2,3,5] f32[1,3,1]", kPointwise, 90, 4 * 63, 4 * 60},
    {"aten::copy_", "bf16[10] f32[10] =False", kPointwise, 10, 40, 20},
    {"aten::copy_", "f32[4,4] f32[4,4]{1,4} =False", kLayout, 0, 64, 64},
    {"aten::copy_", "f32[4,4] f32[4,4]{0,1} =False", kMovement, 0, 16, 64},
    {"aten::copy_", "f32[4,4] f32[4] =False", kMovement, 0, 16, 64},
    {"aten::copy_", "f32[4,4] f32[4,4] =False", kMovement, 0, 64, 64},
    {"prims::mul", "f32[10] f32[10]", kPointwise, 10, 80, 40},
    // mean and 1/deviation of each of 6 rows are kept in f32
    {"aten::native_layer_norm", "f32[2,3,8] =[8] f32[8] f32[8] =1e-05", kNormalization, 8 * 48, 4 * (48 + 16),
     4 * 48 + 4 * 12},
    {"aten::native_batch_norm", "bf16[2,3,4,4] f32[3] f32[3] f32[3] f32[3] =True =0.1 =1e-05", kNormalization,
     8 * 96, 2 * 96 + 4 * 12, 2 * 96 + 4 * 12},
    {"aten::native_layer_norm_backward",
     "f32[6,8] f32[6,8] =[8] f32[6,1] f32[6,1] f32[8] f32[8] =[True,True,True]", kNormalization, 13 * 48,
     4 * (48 + 48 + 12 + 16), 4 * (48 + 16)},
    {"aten::sum", "f32[8,16] =[0] =False -", kReduction, 128, 512, 64},
    {"aten::mean", "f16[2,3,4,4] =[2,3] =False -", kReduction, 96, 192, 12},
    {"aten::_softmax", "f32[6,10] =-1 =False", kReduction, 300, 240, 240},
    {"aten::_softmax", "f16[6,10] =-1 =True", kReduction, 300, 120, 240},
    {"aten::_log_softmax_backward_data", "f32[6,10] f32[6,10] =1 =15", kReduction, 240, 480, 120},
    {"aten::nll_loss_forward", "f32[6,10] i64[6] - =1 =-100", kReduction, 6, 24 + 48, 8},
    // the zeros that it writes into are an operator of their own; so are those of the embeddings' below
    {"aten::nll_loss_backward", "f32[] f32[6,10] i64[6] - =1 =-100 f32[]", kReduction, 6, 4 + 48, 24},
    // 30 distances of 4 terms: difference, absolute value or square, sum; the root; |d|³ with p = 3
    {"aten::_cdist_forward", "f32[2,3,4] f32[2,5,4] =1. -", kReduction, 360, 4 * (24 + 40), 4 * 30},
    {"aten::_cdist_forward", "f32[3,4] f32[2,5,4] =2. =2", kReduction, 360 + 30, 4 * (12 + 40), 4 * 30},
    {"aten::_cdist_forward", "f32[2,3,4] f32[2,5,4] =inf -", kReduction, 360, 4 * (24 + 40), 4 * 30},
    {"aten::_cdist_forward", "f32[2,3,4] f32[2,5,4] =3. -", kReduction, 480 + 30, 4 * (24 + 40), 4 * 30},
    {"aten::max_pool2d_with_indices", "f32[1,2,8,8] =[2,2] =[2,2] =[0,0] =[1,1] =False", kPooling, 128, 512,
     32 * (4 + 8)},
    {"aten::embedding", "f32[100,8] i64[2,3] =-1 =False =False", kMovement, 0, 6 * 32 + 48, 6 * 32},
    {"aten::embedding_dense_backward", "f32[2,3,8] i64[2,3] =100 =-1 =False", kMovement, 48, 192 + 48, 192},
    {"aten::embedding_dense_backward", "f32[2,3,8] i64[2,3] =5 =-1 =False", kMovement, 48, 192 + 48, 160},
    {"aten::_embedding_bag", "f32[100,8] i64[6] i64[2] =False =1 =False - =False =-1", kMovement, 48,
     6 * 32 + 48 + 16, 2 * 32},
    {"aten::_embedding_bag_dense_backward", "f32[2,8] i64[6] i64[6] i64[2] i64[0] =100 =False =1 - =-1",
     kMovement, 48, 64 + 48 + 48, 192},
    {"aten::index_copy_", "bf16[1,4,16,8] =2 i64[1] bf16[1,4,1,8]", kMovement, 0, 64 + 8, 64},
    {"aten::index_add_", "f32[100,8] =0 i64[6] f32[6,8] =1", kMovement, 48, 2 * 192 + 48, 192},
    {"aten::index_add", "f32[100,8] =0 i64[6] f32[6,8] =1", kMovement, 48, 2 * 192 + 48, 192},  // calls copy_
    // 30 places of 3 channels: an image of 48 elements is read no more than whole, one of 3000 in part
    {"aten::cudnn_grid_sampler", "f32[1,3,4,4] f32[1,5,6,2]", kMovement, 990, 4 * 48 + 240, 360},
    {"aten::grid_sampler_2d", "f32[1,3,25,40] f32[1,5,6,2] =0 =0 =False", kMovement, 990, 4 * 360 + 240, 360},
    // 6 rows of 8 read, and added to as many that are read and written
    {"aten::_index_put_impl_", "f32[100,8] - f32[2,3,8] =True =True", kMovement, 48, 2 * 192, 192},
    {"aten::cat", "(f32[2,3] f32[2,5]) =1", kMovement, 0, 64, 64},
    // two chunks of 3·3 and 2·2 elements, one row padded
    {"aten::_chunk_cat", "(bf16[5,3] bf16[4,2]) =0 =2 bf16[2,13]", kMovement, 0, 2 * 23, 2 * 26},
    {"aten::split_with_sizes_copy", "bf16[2,6] =[2,4] =1 (bf16[2,2] bf16[2,4])", kMovement, 0, 24, 24},
    {"aten::gather", "f32[6,10] =1 i64[6,1]", kMovement, 0, 24 + 48, 24},
    // an index expanded along the rows that it picks is 6 numbers in memory; so with what is added to rows
    {"aten::gather", "f32[9,10] =0 i64[6,10]{1,0}", kMovement, 0, 240 + 48, 240},
    {"aten::add", "f32[6,10] f32[6,10]{1,0} =1", kPointwise, 60, 240 + 24, 240},
    {"aten::copy_", "f32[6,10] f32[6,10]{0,0} =False", kMovement, 0, 4, 240},
    {"aten::constant_pad_nd", "f16[3,4] =[1,1] =0.", kMovement, 0, 24, 36},
    {"aten::fill_", "f32[12] =0", kMovement, 0, 0, 48},
    {"aten::slice_backward", "f32[3,2] =[3,4] =1 =0 =2 =1", kMovement, 0, 24, 48},
    // p, g, m, v are read, all but g written
    {"aten::_fused_adamw_", "(f32[10] f32[5]) (f32[10] f32[5]) (f32[10] f32[5]) (f32[10] f32[5]) () () =0.1",
     kPointwise, 15 * 15, 4 * 60, 4 * 45},
    {"aten::_foreach_addcdiv_", "(f32[10]) (f32[10]) (f32[10])", kPointwise, 30, 120, 40},
    // expanded: each index, and each row of the source, lies in memory once
    {"aten::scatter_add_", "f32[10,8] =0 i64[20,8]{1,0} f32[20,8]", kMovement, 160, 8 * 20 + 2 * 640, 640},
    {"aten::scatter_add_", "f32[10,8] =0 i64[20,8]{1,0} f32[20,8]{0,1}", kMovement, 160, 8 * 20 + 32 + 640,
     640},
    {"aten::index_add_", "f32[10,8] =0 i64[20] f32[20,8]{0,1}", kMovement, 160, 640 + 32 + 160, 640},
    {"aten::bmm", "f32[7,3,4] f32[7,4,5]{0,5,1}", kMatrix, 7 * 120, 4 * (7 * 12 + 20), 4 * 7 * 15},
    {"aten::_foreach_norm", "(f32[10] f32[6]) =2. -", kReduction, 32, 64, 8},
    // every tensor once
    {"triton_poi_fused_gelu_0", "f32[100] f32[100] =100", kPointwise, 500, 400, 400},
    {"triton_poi_fused__to_copy_3", "f32[100] bf16[100] =100", kPointwise, 0, 400, 200},
    // a part of one: two elements for each result at most
    {"triton_poi_fused_mul_split_3", "bf16[10,100] bf16[20] bf16[10,20] =200", kPointwise, 200, 800 + 40,
     400},
    {"triton_poi_fused_mul_silu_split_3", "bf16[10,40] bf16[10,20] =200", kPointwise, 1000, 800, 400},
};

TEST(AtenCost, TellsTheGroupsOfConvolutions) {
  const auto groups = [](std::string_view kind, std::string_view inputs) {
    const auto parsed = parse_call_inputs(inputs);
    EXPECT_TRUE(parsed.ok());
    return convolution_groups(kind, *parsed);
  };
  const auto forward = groups("aten::cudnn_convolution",
                              "f32[4,768,149] f32[768,48,128] =[64] =[1] =[1] =16 =True =False =True");
  ASSERT_TRUE(forward.has_value());
  EXPECT_EQ(forward->groups, 16);
  EXPECT_EQ(forward->channels, 48);
  const auto backward = groups("aten::convolution_backward",
                               "f32[4,768,150] f32[4,768,149] f32[768,48,128] =[768] =[1] =[64] =[1] =False "
                               "=[0] =16 =[True,True,True]");
  ASSERT_TRUE(backward.has_value());
  EXPECT_EQ(backward->groups, 16);
  EXPECT_EQ(groups("aten::mm", "f32[3,4] f32[4,5]"), std::nullopt);
}

TEST(CallCost, IsWhatTheDefinitionSays) {
  for (const ByHand& expected : kByHand) {
    const auto found = cost(expected.kind, expected.inputs);
    ASSERT_TRUE(found.has_value()) << expected.kind << " " << expected.inputs;
    EXPECT_EQ(operator_class_name(found->op_class), operator_class_name(expected.op_class)) << expected.kind;
    EXPECT_EQ(found->flops, expected.flops) << expected.kind << " " << expected.inputs;
    EXPECT_EQ(found->bytes_read, expected.read) << expected.kind << " " << expected.inputs;
    EXPECT_EQ(found->bytes_written, expected.written) << expected.kind << " " << expected.inputs;
  }
}

TEST(CallCost, IsOfTheTypeThatIsComputedIn) {
  EXPECT_EQ(cost("aten::mm", "bf16[3,4] bf16[4,5] f32[3,5]")->dtype, DType::kBF16);
  EXPECT_EQ(cost("aten::mul", "bf16[4] f32[4]")->dtype, DType::kF32);
  EXPECT_EQ(cost("aten::add", "f16[4] bf16[4]")->dtype, DType::kF32);
  EXPECT_EQ(cost("aten::add", "i64[4] =0.5")->dtype, DType::kF32);
  EXPECT_EQ(cost("aten::add", "f16[4] =2")->dtype, DType::kF16);
}

TEST(CallCost, OfUnknownOperatorsAndWrongInputsIsNone) {
  EXPECT_FALSE(cost("aten::mm", ""));
  EXPECT_FALSE(cost("aten::mm", "f32[3,4] f32[5,4]"));
  EXPECT_FALSE(cost("aten::mm", "f32[3] =1"));
  EXPECT_FALSE(cost("aten::linear", "f32[3,4] f32[5,4]")) << "calls addmm";
  EXPECT_FALSE(cost("aten::index", "f32[100] -"));
  EXPECT_FALSE(cost("aten::index_put_", "f32[100] - f32[6] =False"));  // may stand for more
  EXPECT_FALSE(cost("aten::index_put_", "f32[100] - f32[] =True"));
  EXPECT_FALSE(cost("mine::op", "f32[3,4]"));
  EXPECT_FALSE(cost("aten::cat", "(undefined[2,3]) =0"));
  EXPECT_FALSE(cost("aten::_fused_adamw_", "() () () () () () =0.1"));
  EXPECT_FALSE(cost("aten::glu", "f32[4,3] =1")) << "three have no halves";
  EXPECT_FALSE(cost("aten::glu", "f32[4,4] =2"));
  EXPECT_FALSE(cost("aten::glu_backward", "f32[4,4] f32[4,4] =1"));
  EXPECT_FALSE(cost("aten::_grouped_mm", "bf16[6,4] bf16[3,4,5] - - -")) << "nothing divides the rows";
  EXPECT_FALSE(cost("aten::_grouped_mm", "bf16[6,4] bf16[3,5,4] i32[3] - -"));
  EXPECT_FALSE(cost("aten::_cdist_forward", "f32[2,3,4] f32[3,5,4] =1. -"));
  EXPECT_FALSE(cost("aten::convolution", "f32[1,3,4,4] f32[8,3,9,9] - =[1,1] =[0,0] =[1,1] =False =[0,0] =1"))
      << "the kernel is larger than the image";
  EXPECT_FALSE(
      cost("aten::convolution", "f32[1,3,4,4] f32[8,3,3,3] - =[0,0] =[0,0] =[1,1] =False =[0,0] =1"));
}

TEST(CallCost, TakesAnyInputsOfAnyOperator) {
  const std::string_view inputs[] = {
      "",
      "-",
      "f32[]",
      "f32[0] f32[0] f32[0] f32[0]",
      "() () ()",
      "=x =[1,x] =[]",
      "f32[3] =[9,9,9] =[-5] =True",
      "f32[2,3,4,5] =[0,0] =[0,0] =[0,0]",
      "(f32[2]) (f32[2]) (f32[2]) (f32[2])",
      "i64[2,2] i64[2,2] i64[2,2] =7 =8 =9",
      "f32[1,1,1,1] f32[1,1,1,1] f32[1,1,1,1] =[0] =[0] =[0] =[0] =[0] =[0] =[0]"};
  for (const auto part :
       {matrix_operators(), attention_operators(), convolution_operators(), pointwise_operators(),
        normalization_operators(), reduction_operators(), movement_operators(), optimizer_operators()})
    for (const Entry& entry : part)
      for (std::string_view text : inputs) {
        const auto found = cost("aten::" + std::string(entry.kind), text);
        EXPECT_TRUE(!found || found->flops + found->bytes() >= 0) << entry.kind << " " << text;
      }
}

TEST(Table, NamesEachOperatorOnce) {
  std::map<std::string_view, int> times;
  for (const auto part :
       {matrix_operators(), attention_operators(), convolution_operators(), pointwise_operators(),
        normalization_operators(), reduction_operators(), movement_operators(), optimizer_operators()})
    for (const Entry& entry : part) EXPECT_EQ(++times[entry.kind], 1) << entry.kind;
}

TEST(Triton, SourcesAreReadFromTheName) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(triton_sources("triton_poi_fused_add_gelu_3"), (Names{"add", "gelu"}));
  EXPECT_EQ(
      triton_sources("triton_per_fused__to_copy_add_native_layer_norm_native_layer_norm_backward_view_10"),
      (Names{"_to_copy", "add", "native_layer_norm", "native_layer_norm_backward", "view"}));
  EXPECT_EQ(triton_sources("triton_red_fused__log_softmax__to_copy_nll_loss_forward_sub_view_18"),
            (Names{"_log_softmax", "_to_copy", "nll_loss_forward", "sub", "view"}));
  EXPECT_EQ(triton_sources("triton_poi_fused_embedding_dense_backward_0"),
            (Names{"embedding_dense_backward"}));
  EXPECT_TRUE(triton_sources("nvjet_sm90").empty());
  EXPECT_TRUE(triton_sources("triton_").empty());
}

}  // namespace
}  // namespace hone::trace::aten

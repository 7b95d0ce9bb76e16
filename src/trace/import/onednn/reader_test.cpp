#include "trace/import/onednn/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/import/onednn/line.h"
#include "trace/import/sniff.h"

namespace hone::trace::onednn {
namespace {

// As oneDNN 3.13 in OpenVINO 2026.4 and 3.10 in PyTorch 2.11 print them.
constexpr const char* kConvolution =
    "onednn_verbose,v1,1795437573765.960938,primitive,exec,cpu,convolution,brg_conv_fwd:avx512_core_bf16,"
    "forward_inference,src:bf16::blocked:acdb::f0 wei:bf16:a:blocked:AcdB32a2b::f0 bia:undef::undef::: "
    "dst:f32::blocked:acdb::f0,attr-scratchpad:user attr-post-ops:eltwise_relu,alg:convolution_direct,"
    "mb1_ic16oc32_ih32oh32kh3sh1dh0ph1_iw32ow32kw3sw1dw0pw1,0.108154";
constexpr const char* kReorder =
    "onednn_verbose,v1,1795437573765.5,primitive,exec,cpu,reorder,jit:uni,undef,src:f32::blocked:abcd::f0 "
    "dst:bf16::blocked:acdb::f0,,,1x16x32x32,0.0241699";
// As oneDNN 2 did.
constexpr const char* kMatmul2 =
    "onednn_verbose,exec,cpu,matmul,brg:avx512_core,undef,src_f32::blocked:ab:f0 wei_f32::blocked:ba:f0 "
    "dst_f32::blocked:ab:f0,attr-scratchpad:user ,,8x128:128x256:8x256,0.25";

TEST(OneDnnLine, OfAConvolutionHasItsShapesAndCosts) {
  const auto line = parse_line(kConvolution);
  ASSERT_TRUE(line);
  EXPECT_DOUBLE_EQ(line->ms, 0.108154);
  ASSERT_TRUE(line->start_ms);
  const Operator& op = line->op;
  EXPECT_EQ(op.kind, "convolution");
  EXPECT_EQ(op.op_class, OperatorClass::kConvolution);
  EXPECT_EQ(op.dtype, DType::kBF16);
  EXPECT_EQ(op.implementation, "onednn:brg_conv_fwd:avx512_core_bf16");
  EXPECT_EQ(op.flops, 2.0 * 32 * 32 * 32 * 16 * 9);
  EXPECT_EQ(op.bytes_read, 2.0 * (16 * 32 * 32 + 32 * 16 * 9));
  EXPECT_EQ(op.bytes_written, 4.0 * 32 * 32 * 32);
}

TEST(OneDnnLine, OfGroupsCountsEachGroupsChannels) {
  const auto line = parse_line(
      "onednn_verbose,exec,cpu,convolution,jit_dw:avx2,forward_training,src_f32::blocked:abcd:f0 "
      "wei_f32::blocked:abcde:f0 dst_f32::blocked:abcd:f0,,alg:convolution_direct,"
      "g32mb2_ic32oc32_ih8oh8kh3sh1dh0ph1_iw8ow8kw3sw1dw0pw1,0.1");
  ASSERT_TRUE(line);
  EXPECT_EQ(line->op.flops, 2.0 * 2 * 32 * 8 * 8 * 9);
  EXPECT_EQ(line->op.constant_bytes, 4.0 * 32 * 9);
}

TEST(OneDnnLine, OfVersion2IsRead) {
  const auto line = parse_line(kMatmul2);
  ASSERT_TRUE(line);
  EXPECT_FALSE(line->start_ms);
  EXPECT_EQ(line->op.flops, 2.0 * 8 * 128 * 256);
  EXPECT_EQ(line->op.bytes_read, 4.0 * (8 * 128 + 128 * 256));
  EXPECT_EQ(line->op.bytes_written, 4.0 * 8 * 256);
}

TEST(OneDnnLine, OfAReorderMovesBytesAndComputesNothing) {
  const auto line = parse_line(kReorder);
  ASSERT_TRUE(line);
  EXPECT_EQ(line->op.op_class, OperatorClass::kLayout);
  EXPECT_EQ(line->op.flops, 0);
  EXPECT_EQ(line->op.bytes(), 16.0 * 32 * 32 * (4 + 2));
}

TEST(OneDnnLine, OfAnythingElseIsNone) {
  for (const char* line :
       {"", "epoch 3", "onednn_verbose,v1,info,oneDNN v3.13.0", "onednn_verbose,",
        "onednn_verbose,v1,primitive",
        "onednn_verbose,v1,primitive,create:cache_hit,cpu,reorder,jit:uni,undef,,,,1x16,0.1",
        "onednn_verbose,v1,primitive,exec,cpu,reorder,jit:uni,undef,,,,1x16,-1",
        "onednn_verbose,v1,primitive,exec,cpu,reorder,jit:uni,undef,,,,1x16,nan"})
    EXPECT_FALSE(parse_line(line)) << line;
}

TEST(OneDnnReader, MakesSpansOfPrimitivesAndLeavesTheProgramsOwnLines) {
  const std::string text = "epoch 1\n" + std::string(kReorder) + "\nloss 0.5\n" + kConvolution + "\n";
  EXPECT_EQ(sniff(text).format, TraceFormat::kOneDnn);
  const auto source = bytes_in_memory(text);
  auto file = read_onednn(*source);
  ASSERT_TRUE(file.ok());
  const Trace& trace = file->trace;
  ASSERT_TRUE(trace.validate().ok());
  ASSERT_EQ(trace.spans.size(), 2u);
  EXPECT_EQ(trace.name(trace.spans.row(1)), "convolution");
  EXPECT_NEAR(static_cast<double>(trace.spans.start_ns[1]), 460'938, 1000);
  EXPECT_EQ(trace.spans.duration_ns[1], 108'154);
  EXPECT_THAT(trace.meta.warnings, ::testing::IsEmpty());
}

TEST(OneDnnReader, SaysThatWithoutTimesNothingIsKnownBetweenPrimitives) {
  const std::string text = std::string(kMatmul2) + "\n" + kMatmul2;
  const auto source = bytes_in_memory(text);
  auto file = read_onednn(*source);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->trace.operators.size(), 1u);
  EXPECT_EQ(file->trace.spans.start_ns[1], 250'000);
  EXPECT_THAT(file->trace.meta.warnings,
              ::testing::ElementsAre(::testing::HasSubstr("ONEDNN_VERBOSE_TIMESTAMP=1")));
  const auto empty = bytes_in_memory("onednn_verbose,v1,info,oneDNN v3.13.0\n");
  EXPECT_FALSE(read_onednn(*empty).ok());
}

}  // namespace
}  // namespace hone::trace::onednn

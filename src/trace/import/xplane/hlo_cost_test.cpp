#include "trace/import/xplane/hlo_cost.h"

#include <gtest/gtest.h>

#include "trace/testing/hlo_writer.h"

namespace hone::trace::xplane {
namespace {

// The cost of the last instruction of the last computation.
HloCost cost_of(const std::vector<HloRows>& computations) {
  const std::string proto = hlo_proto(computations);
  const HloModule module = read_hlo(proto);
  const HloCosts costs(module);
  const HloComputation& last = module.computations.back();
  return costs.of(last, last.instructions.back());
}

HloRow parameter(std::vector<int64_t> dims, int type = kHloF32) {
  return {.name = "p", .opcode = "parameter", .type = type, .dims = std::move(dims)};
}

std::string window_message(const std::vector<std::vector<int64_t>>& dims) {
  std::string bytes;
  for (const std::vector<int64_t>& dim : dims) {
    protozero::pbf_writer window(bytes);
    protozero::pbf_writer row(window, 1);
    for (uint32_t field = 0; field < dim.size(); ++field) row.add_int64(field + 1, dim[field]);
  }
  return bytes;
}

// NCHW images and OIHW filters, as ConvolutionDimensionNumbers.
std::string channels_first() {
  std::string bytes;
  protozero::pbf_writer dims(bytes);
  const std::vector<int64_t> spatial = {2, 3};
  dims.add_int64(4, 0);
  dims.add_packed_int64(6, spatial.begin(), spatial.end());
  dims.add_int64(8, 1);
  dims.add_packed_int64(11, spatial.begin(), spatial.end());
  dims.add_packed_int64(12, spatial.begin(), spatial.end());
  return bytes;
}

TEST(HloCost, OfAProductIsTwoFlopsForEachPairThatMeets) {
  const HloCost cost = cost_of(
      {{1,
        {parameter({128, 256}, kHloBf16),
         parameter({256, 512}, kHloBf16),
         {.name = "dot.1", .opcode = "dot", .dims = {128, 512}, .operands = {1, 2}, .contracted = {1}}}}});
  EXPECT_EQ(cost.op_class, OperatorClass::kMatrix);
  EXPECT_EQ(cost.dtype, DType::kBF16);
  EXPECT_EQ(cost.flops, 2.0 * 128 * 256 * 512);
  EXPECT_EQ(cost.bytes_read, 2.0 * (128 * 256 + 256 * 512));
  EXPECT_EQ(cost.bytes_written, 4.0 * 128 * 512);
  EXPECT_EQ(cost.geometry, "128×256 · 256×512");
}

TEST(HloCost, OfAFusionIsItsArithmeticAndTheBytesAcrossItsBorder) {
  const HloCost cost = cost_of({{7,
                                 {parameter({64, 32}),
                                  {.name = "t", .opcode = "tanh", .dims = {64, 32}, .operands = {1}},
                                  {.name = "m", .opcode = "multiply", .dims = {64, 32}, .operands = {1, 2}}}},
                                {1,
                                 {parameter({64, 32}),
                                  {.name = "tanh_multiply_fusion",
                                   .opcode = "fusion",
                                   .dims = {64, 32},
                                   .operands = {1},
                                   .called = {7}}}}});
  EXPECT_EQ(cost.op_class, OperatorClass::kPointwise);
  EXPECT_EQ(cost.flops, 2.0 * 64 * 32);
  EXPECT_EQ(cost.bytes_read, 4.0 * 64 * 32);
  EXPECT_EQ(cost.bytes_written, 4.0 * 64 * 32);
}

TEST(HloCost, OfAFusionThatSlicesCountsWhatItTakes) {
  const HloCost cost =
      cost_of({{7,
                {parameter({1000, 32}),
                 parameter({}, kHloS32),
                 {.name = "s", .opcode = "dynamic-slice", .dims = {1, 32}, .operands = {1, 2}},
                 {.name = "n", .opcode = "negate", .dims = {1, 32}, .operands = {3}}}},
               {1,
                {parameter({1000, 32}),
                 parameter({}, kHloS32),
                 {.name = "f", .opcode = "fusion", .dims = {1, 32}, .operands = {1, 2}, .called = {7}}}}});
  EXPECT_EQ(cost.bytes_read, 4.0 * 32 + 4);
  EXPECT_EQ(cost.bytes_written, 4.0 * 32);
}

TEST(HloCost, OfAFusionThatOverwritesAPartCountsThePart) {
  const HloCost cost = cost_of(
      {{7,
        {parameter({1000, 32}),
         parameter({1, 32}),
         parameter({}, kHloS32),
         {.name = "u", .opcode = "dynamic-update-slice", .dims = {1000, 32}, .operands = {1, 2, 3}}}},
       {1,
        {parameter({1000, 32}),
         parameter({1, 32}),
         parameter({}, kHloS32),
         {.name = "f", .opcode = "fusion", .dims = {1000, 32}, .operands = {1, 2, 3}, .called = {7}}}}});
  EXPECT_EQ(cost.op_class, OperatorClass::kMovement);
  EXPECT_EQ(cost.bytes_read, 4.0 * 32 + 4);
  EXPECT_EQ(cost.bytes_written, 4.0 * 32);
}

// Of five positions of a filter of three over an image of five with a padding of one, the two at the ends have one
// tap in the padding each.
TEST(HloCost, OfAConvolutionLeavesOutThePadding) {
  const HloRow convolution = {.name = "c",
                              .opcode = "convolution",
                              .dims = {8, 16, 5, 5},
                              .operands = {1, 2},
                              .window = window_message({{3, 1, 1, 1, 1, 1}, {3, 1, 1, 1, 1, 1}}),
                              .convolution = channels_first()};
  const HloCost cost = cost_of({{1, {parameter({8, 4, 5, 5}), parameter({16, 4, 3, 3}), convolution}}});
  EXPECT_EQ(cost.op_class, OperatorClass::kConvolution);
  EXPECT_DOUBLE_EQ(cost.flops, 2.0 * 8 * 16 * 4 * 13 * 13);
}

TEST(HloCost, OfACallOfCudnnForAGradientHasItsRolesExchanged) {
  HloRow gradient = {.name = "c",
                     .opcode = "custom-call",
                     .dims = {16, 4, 3, 3},
                     .operands = {1, 2},
                     .target = "__cudnn$convBackwardFilter",
                     .window = window_message({{3, 1, 1, 1, 1, 1}, {3, 1, 1, 1, 1, 1}}),
                     .convolution = channels_first()};
  EXPECT_DOUBLE_EQ(cost_of({{1, {parameter({8, 4, 5, 5}), parameter({8, 16, 5, 5}), gradient}}}).flops,
                   2.0 * 8 * 16 * 4 * 13 * 13);
  gradient.target = "__cudnn$convBackwardInput";
  gradient.dims = {8, 4, 5, 5};
  EXPECT_DOUBLE_EQ(cost_of({{1, {parameter({8, 16, 5, 5}), parameter({16, 4, 3, 3}), gradient}}}).flops,
                   2.0 * 8 * 16 * 4 * 13 * 13);
}

TEST(HloCost, OfACallOfCublasIsThatOfItsProduct) {
  HloRow gemm = {
      .name = "g",
      .opcode = "custom-call",
      .dims = {12, 128, 128},
      .operands = {1, 2},
      .target = "__cublas$gemm",
      .config = R"({"gemm_backend_config":{"dot_dimension_numbers":{"lhs_contracting_dimensions":["2"]}}})"};
  const std::vector<HloRow> operands = {parameter({12, 128, 64}), parameter({12, 64, 128})};
  EXPECT_EQ(cost_of({{1, {operands[0], operands[1], gemm}}}).flops, 2.0 * 12 * 128 * 128 * 64);
  EXPECT_EQ(cost_of({{1, {operands[0], operands[1], gemm}}}).op_class, OperatorClass::kMatrix);
}

TEST(HloCost, OfACallThatHoneDoesNotKnowIsNotTold) {
  const HloCost cost =
      cost_of({{1,
                {parameter({64}),
                 {.name = "c", .opcode = "custom-call", .dims = {64}, .operands = {1}, .target = "my_op"}}}});
  EXPECT_EQ(cost.flops, 0);
  EXPECT_EQ(cost.bytes_read + cost.bytes_written, 0);
}

TEST(HloCost, OfAReductionIsAnAdditionForEachElementThatGoes) {
  const HloRows sum = {
      9, {parameter({}), parameter({}), {.name = "a", .opcode = "add", .dims = {}, .operands = {1, 2}}}};
  const HloCost cost =
      cost_of({sum,
               {1,
                {parameter({64, 32}),
                 parameter({}),
                 {.name = "r", .opcode = "reduce", .dims = {64}, .operands = {1, 2}, .called = {9}}}}});
  EXPECT_EQ(cost.op_class, OperatorClass::kReduction);
  EXPECT_EQ(cost.flops, 64.0 * 31);
}

TEST(HloCost, OfWhatOnlyNamesValuesOrRunsOthersIsNone) {
  for (const char* opcode : {"tuple", "bitcast", "get-tuple-element", "parameter", "all-reduce-done"})
    EXPECT_EQ(
        cost_of({{1, {parameter({64}), {.name = "x", .opcode = opcode, .dims = {64}, .operands = {1}}}}})
            .bytes_read,
        0)
        << opcode;
  const HloCost loop = cost_of(
      {{1,
        {parameter({64}), {.name = "w", .opcode = "while", .dims = {64}, .operands = {1}, .called = {5}}}}});
  EXPECT_TRUE(loop.runs_others);
  EXPECT_EQ(loop.flops + loop.bytes_read, 0);
  EXPECT_TRUE(
      cost_of({{1, {parameter({64}), {.name = "r", .opcode = "all-reduce", .dims = {64}, .operands = {1}}}}})
          .is_collective);
}

// A module that calls itself, or names what is not there, costs nothing more than it shows.
TEST(HloCost, OfAMalformedModuleIsFinite) {
  const HloCost self =
      cost_of({{1, {{.name = "f", .opcode = "fusion", .dims = {8}, .operands = {77}, .called = {1}}}}});
  EXPECT_EQ(self.flops, 0);
  const HloCost negative = cost_of(
      {{1, {parameter({-5, 8}), {.name = "n", .opcode = "negate", .dims = {-5, 8}, .operands = {1}}}}});
  EXPECT_EQ(negative.flops, 0);
}

TEST(HloCost, OfAProductKnowsWhetherItAsksForMoreThanTheDefaultPrecision) {
  for (const int64_t precision : {0, 1, 2}) {
    const std::string bytes = hlo_proto({{1,
                                          {{.name = "a", .opcode = "parameter", .dims = {8, 4}},
                                           {.name = "b", .opcode = "parameter", .dims = {4, 2}},
                                           {.name = "dot.1",
                                            .opcode = "dot",
                                            .dims = {8, 2},
                                            .operands = {1, 2},
                                            .contracted = {1},
                                            .precisions = {0, precision}}}}});
    const HloModule module = read_hlo(bytes);
    const HloComputation& computation = module.computations.at(0);
    EXPECT_EQ(HloCosts(module).of(computation, computation.instructions.at(2)).default_precision,
              precision < 2);
  }
}

}  // namespace
}  // namespace hone::trace::xplane

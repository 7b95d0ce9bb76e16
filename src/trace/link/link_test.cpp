#include "trace/link/link.h"

#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "trace/link/fabricate.h"
#include "trace/source_line.h"

namespace hone::trace {
namespace {

using link::fabricate::Program;
using namespace std::string_literals;

TEST(Link, GivesDeviceWorkTheStepThatLaunchedItHoweverLateItRuns) {
  Program program;
  program.span(program.main, Category::kRegion, "ProfilerStep#7", 0, 100);
  program.span(program.main, Category::kRegion, "ProfilerStep#8", 100, 100);
  program.op(program.main, "aten::mm", 10, 20, "f32[4,8] f32[8,2]");
  const uint32_t late = program.kernel(program.main, "gemm", 15, 150, 30);
  ASSERT_TRUE(link_trace(program.trace).ok());
  EXPECT_EQ(program.trace.spans.step[late], 7);
  EXPECT_EQ(program.trace.spans.category[0], Category::kStep);
  EXPECT_EQ(steps_found(program.trace.meta).how, "ProfilerStep ranges");
  EXPECT_EQ(steps_found(program.trace.meta).confidence, 1);
}

TEST(Link, JoinsAKernelToTheInnermostOperatorAroundItsLaunchWithItsCosts) {
  Program program;
  program.span(program.main, Category::kRegion, "ProfilerStep#0", 0, 100);
  program.op(program.main, "aten::linear", 5, 50, "f32[4,8] f32[2,8]");
  program.op(program.main, "aten::addmm", 10, 20, "f32[2] f32[4,8] f32[8,2] =1 =1");
  const uint32_t kernel = program.kernel(program.main, "gemm", 15, 20, 5);
  ASSERT_TRUE(link_trace(program.trace).ok());
  const Operator& op = program.op_of(kernel);
  EXPECT_EQ(op.kind, "aten::addmm");
  EXPECT_EQ(op.name, "addmm 4×8 · 8×2");
  EXPECT_EQ(op.op_class, OperatorClass::kMatrix);
  EXPECT_EQ(op.flops, 2.0 * 4 * 8 * 2);
  EXPECT_EQ(op.bytes_read, 4.0 * (2 + 32 + 16));
  EXPECT_EQ(op.bytes_written, 4.0 * 8);
  EXPECT_EQ(op.phase, Phase::kForward);
}

TEST(Link, GivesOperatorsTheLinesThatTheyAreCalledFrom) {
  Program program;
  program.span(program.main, Category::kRegion, "ProfilerStep#0", 0, 300);
  program.span(program.main, Category::kFunction, "train.py(8): step", 1, 90);
  program.span(program.main, Category::kFunction, "torch/nn/functional.py(2901): linear", 5, 40);
  program.span(program.main, Category::kFunction, "<built-in function linear>", 6, 38);
  program.op(program.main, "aten::addmm", 10, 20, "f32[2] f32[4,8] f32[8,2]", 42);
  const uint32_t own = program.kernel(program.main, "gemm", 15, 20, 5);
  program.span(program.main, Category::kFunction, "torchvision/ops/boxes.py(11): nms", 50, 30);
  program.op(program.main, "aten::sort", 55, 20, "f32[64]");
  const uint32_t package = program.kernel(program.main, "sort", 60, 62, 5);
  program.op(program.backward, "autograd::engine::evaluate_function: AddmmBackward0", 100, 50, "", 42);
  program.op(program.backward, "aten::mm", 110, 20, "f32[8,4] f32[4,2]");
  const uint32_t gradient = program.kernel(program.backward, "gemm", 115, 140, 5);
  program.op(program.main, "aten::zeros", 200, 20, "f32[64]");
  const uint32_t unknown = program.kernel(program.main, "fill", 205, 210, 5);
  ASSERT_TRUE(link_trace(program.trace).ok());
  const auto lines = [&](uint32_t kernel) {
    const std::vector<std::string>& provenance = program.op_of(kernel).provenance;
    return std::pair<std::string, std::string>(source_line(provenance), package_line(provenance));
  };
  EXPECT_EQ(lines(own), std::pair("train.py:8"s, ""s));
  EXPECT_EQ(lines(package), std::pair("train.py:8"s, "torchvision/ops/boxes.py:11"s));
  EXPECT_EQ(lines(gradient), std::pair("train.py:8"s, ""s)) << "that of the forward operator";
  EXPECT_EQ(lines(unknown), std::pair(""s, ""s));
}

TEST(Link, GivesABackwardOperatorTheModuleOfItsForwardPartner) {
  Program program;
  program.span(program.main, Category::kRegion, "ProfilerStep#0", 0, 300);
  program.span(program.main, Category::kFunction, "nn.Module: Block_1", 1, 60);
  program.span(program.main, Category::kFunction, "nn.Module: Linear_0", 5, 40);
  program.op(program.main, "aten::addmm", 10, 20, "f32[2] f32[4,8] f32[8,2]", 42);
  program.op(program.backward, "autograd::engine::evaluate_function: AddmmBackward0", 100, 50, "", 42);
  program.op(program.backward, "aten::mm", 110, 20, "f32[8,4] f32[4,2]");
  const uint32_t gradient = program.kernel(program.backward, "gemm", 115, 140, 5);
  program.span(program.main, Category::kRegion, "Optimizer.step#AdamW.step", 200, 50);
  const uint32_t update = program.op(program.main, "aten::_foreach_mul_", 205, 10);
  // between them: clipping
  const uint32_t clip = program.op(program.main, "aten::_foreach_norm", 160, 10);
  const uint32_t log = program.op(program.main, "aten::item", 260, 10);
  ASSERT_TRUE(link_trace(program.trace).ok());
  EXPECT_EQ(program.op_of(gradient).phase, Phase::kBackward);
  EXPECT_EQ(program.op_of(gradient).module, "Block_1/Linear_0");
  EXPECT_EQ(program.op_of(update).phase, Phase::kOptimizer);
  EXPECT_EQ(program.op_of(clip).phase, Phase::kOptimizer);
  EXPECT_EQ(program.op_of(log).phase, Phase::kUnknown);
}

TEST(Link, SaysWhatFusingNeighboursWouldSave) {
  Program program;
  program.span(program.main, Category::kRegion, "ProfilerStep#0", 0, 900);
  int64_t time = 10;
  const auto run = [&](std::string_view op, std::string_view inputs) {
    program.op(program.main, op, time, 8, inputs);
    const uint32_t kernel = program.kernel(program.main, "k", time + 1, time + 3, 2);
    time += 10;
    return kernel;
  };
  run("aten::mm", "f32[64,32] f32[32,64]");
  const uint32_t scaled = run("aten::mul", "f32[64,64] =2.");
  const uint32_t relu = run("aten::relu_", "f32[64,64]");
  const uint32_t softmax = run("aten::_softmax", "f32[64,64] =-1 =False");
  const uint32_t narrow = run("aten::copy_", "bf16[64,64] f32[64,64] =False");
  const uint32_t small = run("aten::neg", "bf16[8]");
  ASSERT_TRUE(link_trace(program.trace).ok());
  EXPECT_EQ(program.op_of(scaled).avoidable_bytes, 0) << "a product is no neighbour to fuse with";
  EXPECT_EQ(program.op_of(relu).fuses_with, program.op_of(scaled).name);
  EXPECT_EQ(program.op_of(relu).avoidable_bytes, 2 * 4 * 64 * 64) << "in place: neither written nor read";
  EXPECT_EQ(program.op_of(softmax).fuses_with, program.op_of(relu).name);
  EXPECT_EQ(program.op_of(softmax).avoidable_bytes, 4 * 64 * 64);
  EXPECT_EQ(program.op_of(narrow).avoidable_bytes, 4 * 64 * 64) << "reads f32, though it writes bf16";
  EXPECT_TRUE(program.op_of(small).fuses_with.empty());
}

TEST(Link, TakesWhatRunsWhileTheFrameworkCompilesForNoPartOfTheStep) {
  Program program;
  program.span(program.main, Category::kRegion, "ProfilerStep#0", 0, 300);
  const uint32_t compiler = program.op(program.main, "backend_compile (dynamo_timed)", 10, 100);
  program.op(program.main, "autograd::engine::evaluate_function: MmBackward0", 20, 30, "", 3);
  program.op(program.main, "aten::fill_", 60, 10, "f32[64]");
  const uint32_t trial = program.kernel(program.main, "fill", 62, 64, 5);
  const uint32_t forward = program.op(program.main, "aten::mm", 120, 20, "f32[4,8] f32[8,2]");
  ASSERT_TRUE(link_trace(program.trace).ok());
  EXPECT_EQ(program.trace.spans.category[compiler], Category::kCompile);
  EXPECT_EQ(program.op_of(trial).phase, Phase::kUnknown);
  EXPECT_EQ(program.op_of(forward).phase, Phase::kForward) << "no backward pass has run";
}

TEST(Link, FindsTheOperatorByItsExternalIdWhereTheLaunchIsMissing) {
  Program program;
  program.span(program.main, Category::kRegion, "ProfilerStep#3", 0, 100);
  program.op(program.main, "aten::relu", 10, 20, "f32[64]", kNoSequence, 77);
  const uint32_t kernel = program.span(program.stream, Category::kKernel, "relu", 50, 5, 4711);
  program.trace.launches.push_back({kernel, 77, {}, {}, 0, 0, 0});
  const uint32_t orphan = program.span(program.stream, Category::kKernel, "relu", 60, 5, 4712);
  ASSERT_TRUE(link_trace(program.trace).ok());
  EXPECT_EQ(program.op_of(kernel).kind, "aten::relu");
  EXPECT_EQ(program.trace.spans.step[kernel], 3);
  EXPECT_FALSE(program.trace.spans.op[orphan].valid());
  EXPECT_EQ(program.trace.spans.step[orphan], 3) << "it follows work of step 3 on its stream";
}

TEST(Link, TakesRangesOfTheProgramThatHoldMostWorkForStepsWhereTheProfilerMarkedNone) {
  Program program;
  for (int step = 0; step < 4; ++step) {
    const int64_t t = step * 100;
    program.span(program.main, Category::kRegion, "train_batch " + std::to_string(step), t, 90);
    for (int layer = 0; layer < 3; ++layer) {
      program.span(program.main, Category::kRegion, "layer", t + 5 + layer * 25, 20);
      program.op(program.main, "aten::relu", t + 6 + layer * 25, 10, "f32[64]");
    }
    program.op(program.main, "aten::sum", t + 82, 5, "f32[64]");
  }
  ASSERT_TRUE(link_trace(program.trace).ok());
  EXPECT_EQ(steps_found(program.trace.meta).how, "ranges of the program named 'train_batch #'");
  EXPECT_EQ(program.trace.spans.step.back(), 3);
}

// A server that waits 20 ms for the next request, and answers it in 1 ms.
Program server(const std::string& range) {
  Program program;
  for (int turn = 0; turn < 5; ++turn) {
    program.span(program.main, Category::kRegion, range, turn * 21'000, 1'000);
    program.op(program.main, "aten::relu", turn * 21'000 + 100, 800, "f32[64]");
  }
  return program;
}

TEST(Link, TakesTheTimeFromOneCallOfAModuleToTheNextForAStep) {
  Program program = server("nn.Module: Sequential_0");
  ASSERT_TRUE(link_trace(program.trace).ok());
  EXPECT_EQ(steps_found(program.trace.meta).how, "calls of the module 'Sequential_#', from one to the next");
  int steps = 0;
  for (std::size_t row = 0; row < program.trace.spans.size(); ++row) {
    if (program.trace.spans.category[row] != Category::kStep) continue;
    EXPECT_EQ(program.trace.spans.duration_ns[row], 21'000'000);
    ++steps;
  }
  EXPECT_EQ(steps, 4);
}

TEST(Link, SaysWhereRangesThatSomebodyMarkedLeaveMuchOfTheTimeOut) {
  Program program = server("answer");
  ASSERT_TRUE(link_trace(program.trace).ok());
  const StepsFound found = steps_found(program.trace.meta);
  EXPECT_EQ(found.how, "ranges of the program named 'answer'");
  ASSERT_EQ(found.notes.size(), 1u);
  EXPECT_NE(found.notes[0].find("cover 4.8 % of the time"), std::string::npos) << found.notes[0];
  EXPECT_NE(found.notes[0].find("20.0 ms more"), std::string::npos) << found.notes[0];
}

TEST(Link, LooksAtEachNameOfDeviceWorkAndOfCollectivesOnce) {
  Program program;
  program.op(program.main, "aten::mm", 10, 20, "f32[4,8] f32[8,2]");
  const uint32_t product = program.kernel(program.main, "ampere_sgemm_32x32", 15, 20, 5);
  const uint32_t sum =
      program.span(program.stream, Category::kCommunication,
                   "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 30, 5);
  program.trace.collectives.push_back({sum, program.trace.strings.intern("_allgather_base")});
  ASSERT_TRUE(link_trace(program.trace).ok());
  EXPECT_EQ(program.trace.kernel(product).math, KernelMath::kVectorF32);
  EXPECT_EQ(program.trace.kernel(sum).collective, CollectiveKind::kAllGather);
  EXPECT_EQ(program.trace.collectives[0].kind, CollectiveKind::kAllGather);
  EXPECT_EQ(program.trace.kernel(StringId{}).work, KernelWork::kUnknown);
}

TEST(Link, GivesCallsThatDifferInAValueAloneNumbersInTheOrderInWhichTheyCome) {
  Program program;
  std::vector<uint32_t> rows;
  for (int i = 0; i < 4; ++i)
    rows.push_back(program.op(program.main, "aten::add", 10 * i, 5, "f32[8] =" + std::to_string(i) + ".5"));
  ASSERT_TRUE(link_trace(program.trace).ok());
  const std::string name = program.op_of(rows[0]).name;
  for (int i = 1; i < 4; ++i) EXPECT_EQ(program.op_of(rows[i]).name, name + " #" + std::to_string(i + 1));
}

TEST(Link, ChangesNothingASecondTime) {
  Program program;
  program.span(program.main, Category::kRegion, "ProfilerStep#0", 0, 100);
  program.op(program.main, "aten::mm", 10, 20, "f32[4,8] f32[8,2]");
  program.kernel(program.main, "gemm", 15, 20, 5);
  ASSERT_TRUE(link_trace(program.trace).ok());
  const Trace once = program.trace;
  ASSERT_TRUE(link_trace(program.trace).ok());
  EXPECT_EQ(program.trace.operators, once.operators);
  EXPECT_EQ(program.trace.spans.op, once.spans.op);
  EXPECT_EQ(program.trace.meta, once.meta);
}

TEST(Link, RefusesATraceThatIsNotOne) {
  Program program;
  program.span({99}, Category::kKernel, "x", 0, 1);
  EXPECT_FALSE(link_trace(program.trace).ok());
}

}  // namespace
}  // namespace hone::trace

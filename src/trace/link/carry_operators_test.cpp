#include "trace/link/carry_operators.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/import/segments/reader.h"
#include "trace/link/link.h"
#include "trace/testing/observed_program.h"

namespace hone::trace {
namespace {

using segments::Mode, segments::ObservedLaunch, segments::ObservedProgram;

Trace linked_program(const ObservedProgram& program) {
  Result<segments::SegmentFile> segment = segments::read_segment(program.writer.bytes());
  EXPECT_TRUE(segment.ok());
  if (!segment.ok()) return {};
  Trace trace = std::move(segment->file.trace);
  EXPECT_TRUE(link_trace(trace).ok());
  return trace;
}

// Of the time of the device in the steps that are shown.
double attributed_share(const Trace& trace) {
  double all = 0, attributed = 0;
  for (std::size_t row = 0; row < trace.spans.size(); ++row) {
    if (trace.spans.category[row] != Category::kKernel || trace.spans.step[row] == kNoStep) continue;
    const auto ns = static_cast<double>(trace.spans.duration_ns[row]);
    all += ns;
    attributed += trace.spans.op[row].valid() ? ns : 0;
  }
  return all > 0 ? attributed / all : 0;
}

// Of kernels in shown steps: the kind of operator and its inputs.
std::string operators_of_kernel(const Trace& trace, std::string_view kernel) {
  std::string kinds;
  for (std::size_t row = 0; row < trace.spans.size(); ++row) {
    if (trace.spans.step[row] == kNoStep || trace.strings.text(trace.spans.name[row]) != kernel) continue;
    const std::string kind = trace.spans.op[row].valid() ? trace.operators[trace.spans.op[row].index].kind
                                                         : std::string("nobody's");
    if (kinds.find(kind) == std::string::npos) kinds += kind + " ";
  }
  return kinds;
}

// The phases in which a kernel was launched, in shown steps.
std::string phases_of_kernel(const Trace& trace, std::string_view kernel) {
  std::string phases;
  for (std::size_t row = 0; row < trace.spans.size(); ++row) {
    if (trace.spans.step[row] == kNoStep || trace.strings.text(trace.spans.name[row]) != kernel) continue;
    const std::string_view phase = trace.spans.op[row].valid()
                                       ? phase_name(trace.operators[trace.spans.op[row].index].phase)
                                       : "nobody's";
    if (phases.find(phase) == std::string::npos) phases += fmt::format("{} ", phase);
  }
  return phases;
}

TEST(CarryOperators, ToStepsThatWereRecordedWithoutThem) {
  ObservedProgram program;
  program.block(Mode::kTimeline, 5).block(Mode::kOperators, 3).block(Mode::kTimeline, 5);
  const Trace trace = linked_program(program.finish());
  EXPECT_EQ(attributed_share(trace), 1);
  EXPECT_EQ(operators_of_kernel(trace, "gemm"), "aten::mm ");
  EXPECT_EQ(operators_of_kernel(trace, "relu"), "aten::relu ");
  EXPECT_EQ(operators_of_kernel(trace, "adamw"), "aten::_fused_adamw_ ");
}

// One kernel, launched by two operators: the place in the sequence tells.
TEST(CarryOperators, ByThePlaceInTheSequenceOfLaunches) {
  ObservedProgram program;
  program.launches = {{"aten::add", "elementwise", 1'000},
                      {"aten::mm", "gemm"},
                      {"aten::mul", "elementwise", 3'000},
                      {"aten::_fused_adamw_", "adamw"}};
  program.block(Mode::kTimeline, 4).block(Mode::kOperators, 3);
  const Trace trace = linked_program(program.finish());
  for (std::size_t row = 0; row < trace.spans.size(); ++row) {
    if (trace.spans.step[row] == kNoStep || trace.strings.text(trace.spans.name[row]) != "elementwise")
      continue;
    ASSERT_TRUE(trace.spans.op[row].valid());
    EXPECT_EQ(trace.operators[trace.spans.op[row].index].kind,
              trace.spans.duration_ns[row] == 1'000 ? "aten::add" : "aten::mul");
  }
}

// A step may launch something that the recorded one did not, and the other way round.
TEST(CarryOperators, WhereStepsDifferInSomeLaunches) {
  ObservedProgram program;
  for (int i = 0; i < 100; ++i) program.launches.insert(program.launches.begin(), {"aten::mul", "mul"});
  const std::vector<ObservedLaunch> usual = program.launches;
  program.launches.insert(program.launches.begin() + 50, {"aten::logging", "log_a"});
  program.launches.insert(program.launches.begin() + 80, {"aten::sum", "sum"});
  program.block(Mode::kOperators, 3);
  program.launches = usual;
  program.launches.insert(program.launches.begin() + 20, {"aten::item", "item"});
  program.launches.insert(program.launches.begin() + 81, {"aten::sum", "sum"});
  program.block(Mode::kTimeline, 4);
  const Trace trace = linked_program(program.finish());
  EXPECT_EQ(operators_of_kernel(trace, "item"), "nobody's ");
  EXPECT_EQ(operators_of_kernel(trace, "gemm"), "aten::mm ");
  EXPECT_EQ(operators_of_kernel(trace, "adamw"), "aten::_fused_adamw_ ");
  EXPECT_GT(attributed_share(trace), 0.98);
}

// What the host did between launches is known of one step, and how long it took of the other.
TEST(CarryOperators, AreAroundTheLaunchesOfTheStepThatGetsThem) {
  ObservedProgram program;
  program.block(Mode::kOperators, 3).block(Mode::kTimeline, 5);
  const Trace trace = linked_program(program.finish());
  int launches = 0, operators = 0;
  for (uint32_t row = 0; row < trace.spans.size(); ++row) {
    const Span span = trace.spans.row(row);
    if (span.step == kNoStep) continue;
    launches += span.category == Category::kRuntime ? 1 : 0;
    if (span.category != Category::kOperator) continue;
    ++operators;
    EXPECT_LE(span.duration_ns, 120'000);  // 150 µs where operators were recorded
    EXPECT_GT(span.duration_ns, 110'000);
    const Call* call = find_detail(trace.calls, row);
    ASSERT_NE(call, nullptr);
    EXPECT_NE(call->external, 0u);
    bool around = false;
    for (uint32_t inner = 0; inner < trace.spans.size(); ++inner)
      around = around || (trace.spans.category[inner] == Category::kRuntime &&
                          trace.spans.start_ns[inner] > span.start_ns &&
                          trace.spans.row(inner).end_ns() < span.end_ns());
    EXPECT_TRUE(around);
  }
  EXPECT_EQ(launches, 20);
  EXPECT_EQ(operators, 20);
  EXPECT_THAT(steps_found(trace.meta).notes,
              testing::Contains(testing::HasSubstr("of 5 steps are those of steps")));
}

// The optimizer's range ends after the mark that ends the step, and is recorded in steps without operators as well.
TEST(CarryOperators, AreOfTheOptimizerWhereTheyRunWithinItsRange) {
  ObservedProgram program;
  program.optimizer_range = true;
  program.launches = {{"aten::mm", "gemm", 800'000},
                      {"aten::_softmax", "softmax", 800'000},
                      {"aten::gelu", "gelu", 800'000},
                      {"aten::_foreach_add_", "add"}};
  program.block(Mode::kTimeline, 5).block(Mode::kOperators, 3).block(Mode::kTimeline, 5);
  const Trace trace = linked_program(program.finish());
  EXPECT_EQ(phases_of_kernel(trace, "gemm"), "forward ");
  EXPECT_EQ(phases_of_kernel(trace, "softmax"), "forward ");
  EXPECT_EQ(phases_of_kernel(trace, "add"), "optimizer ");
}

// Before a step's first launch the host waited for the device, which takes another time in every step; then it ran a range that
// every step has recorded itself, and an operator after that.
TEST(CarryOperators, AreBesideTheRangesThatAStepHasItself) {
  ObservedProgram program;
  program.optimizer_range = true;
  program.zero_grad_ns = 60'000;
  program.launches = {{"aten::mm", "gemm", 200'000},
                      {"aten::_softmax", "softmax", 200'000},
                      {"aten::gelu", "gelu", 200'000},
                      {"aten::_foreach_add_", "add"}};
  program.block(Mode::kTimeline, 5).block(Mode::kOperators, 3).block(Mode::kTimeline, 5);
  const Trace trace = linked_program(program.finish());
  EXPECT_EQ(phases_of_kernel(trace, "gemm"), "forward ");
  EXPECT_EQ(phases_of_kernel(trace, "add"), "optimizer ");
}

TEST(CarryOperators, NothingIsGivenWhereNoStepHasOperators) {
  ObservedProgram program;
  program.block(Mode::kTimeline, 5);
  EXPECT_EQ(attributed_share(linked_program(program.finish())), 0);
}

}  // namespace
}  // namespace hone::trace

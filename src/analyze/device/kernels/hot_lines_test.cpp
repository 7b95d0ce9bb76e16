#include "analyze/device/kernels/hot_lines.h"

#include <initializer_list>
#include <string_view>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hone::analyze::device {
namespace {

using trace::LineInfo;

class HotLines : public ::testing::Test {
 protected:
  HotLines() {
    kernel.kernel = trace.strings.intern("gather(float*)");
    kernel.launch.grid = {132, 1, 1};
    kernel.launch.block = {256, 1, 1};
  }
  trace::KernelSample& sample(uint64_t offset, uint32_t line,
                              std::initializer_list<std::pair<std::string_view, uint64_t>> stalls) {
    trace::KernelSample& row = trace.kernel_samples.emplace_back();
    row.kernel = row.function = kernel.kernel;
    row.grid = kernel.launch.grid;
    row.block = kernel.launch.block;
    row.offset = offset;
    row.line = line;
    row.line_info = line > 0 ? LineInfo::kKnown : LineInfo::kNone;
    if (line > 0) row.file = trace.strings.intern("/src/gather.cu");
    for (const auto& [reason, samples] : stalls)
      row.stalls.push_back({trace.strings.intern(reason), samples});
    return row;
  }

  trace::Trace trace;
  CounterGroup kernel;
};

TEST_F(HotLines, AddUpTheInstructionsOfALineWithTheReasonMostOfThemWaitFor) {
  sample(0x10, 5, {{"long_scoreboard", 30}, {"selected", 5}});
  sample(0x40, 5, {{"wait", 20}, {"long_scoreboard", 5}});
  sample(0x80, 6, {{"barrier", 40}}).source = trace.strings.intern("__syncthreads();");
  const KernelLines found = hot_lines(trace, kernel);
  EXPECT_EQ(found.samples, 100);
  EXPECT_EQ(found.line_info, "known");
  ASSERT_EQ(found.lines.size(), 2u);
  EXPECT_EQ(found.lines[0].file, "/src/gather.cu");
  EXPECT_EQ(found.lines[0].line, 5);
  EXPECT_DOUBLE_EQ(found.lines[0].share, 0.6);
  EXPECT_EQ(found.lines[0].stall, "long_scoreboard");
  EXPECT_EQ(found.lines[0].waits_for, "data from global or local memory");
  EXPECT_DOUBLE_EQ(found.lines[0].stall_share, 35.0 / 60);
  EXPECT_EQ(found.lines[1].line, 6);
  EXPECT_EQ(found.lines[1].source, "__syncthreads();");
}

TEST_F(HotLines, SayThatWarpsAreIssuedWhereTheySeldomWait) {
  sample(0x10, 5, {{"selected", 60}, {"not_selected", 25}, {"wait", 15}});
  EXPECT_EQ(hot_lines(trace, kernel).lines.at(0).stall, "selected");
}

TEST_F(HotLines, AreInstructionsWhereTheSourceIsNotKnown) {
  sample(0x1f0, 0, {{"long_scoreboard", 70}});
  sample(0x200, 0, {{"long_scoreboard", 30}});
  const KernelLines found = hot_lines(trace, kernel);
  EXPECT_EQ(found.line_info, "none");
  ASSERT_EQ(found.lines.size(), 2u);
  EXPECT_EQ(found.lines[0].offset, 0x1f0);
  EXPECT_EQ(found.lines[0].line, 0);
  EXPECT_EQ(found.lines[0].function, "gather");
}

TEST_F(HotLines, TellCodeThatWasNotSeenFromCodeWithoutLines) {
  sample(0x10, 0, {{"wait", 3}});
  sample(0x20, 0, {{"wait", 30}}).line_info = LineInfo::kCodeUnseen;
  EXPECT_EQ(hot_lines(trace, kernel).line_info, "code unseen");
}

TEST_F(HotLines, AreTheFirstFiveAndNoneOfOtherGeometries) {
  for (uint32_t line = 1; line <= 8; ++line) sample(16 * line, line, {{"wait", 10 * line}});
  sample(0x400, 9, {{"wait", 3}});
  sample(0x10, 1, {{"wait", 9999}}).grid = {7, 1, 1};
  const KernelLines found = hot_lines(trace, kernel);
  EXPECT_EQ(found.samples, 363);
  ASSERT_EQ(found.lines.size(), kHotLines);
  EXPECT_EQ(found.lines[0].line, 8);
}

TEST_F(HotLines, AreNoneOfAKernelThatWasNotSampled) {
  const KernelLines found = hot_lines(trace, kernel);
  EXPECT_EQ(found.samples, 0);
  EXPECT_EQ(found.line_info, "");
  EXPECT_THAT(found.lines, ::testing::IsEmpty());
}

}  // namespace
}  // namespace hone::analyze::device

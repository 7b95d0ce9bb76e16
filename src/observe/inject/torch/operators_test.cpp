#include "observe/inject/torch/operators.h"

#include <functional>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "observe/inject/torch/testing/fake_host.h"
#include "observe/inject/torch/testing/fake_torch.h"

namespace hone::observe::torch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using trace::segments::Mode;
using trace::segments::RangeKind;
using Torch = FakeTorch<Version211>;

constexpr auto kOperator = static_cast<uint32_t>(RangeKind::kOperator);
constexpr auto kAnnotation = static_cast<uint32_t>(RangeKind::kAnnotation);

// The recorder keeps the first layout that it gets: all tests share one.
class Operators : public testing::Test {
 protected:
  Operators() {
    use_layout(Torch::layout(), Torch::symbols(), FakeHost::functions());
    FakeHost::only().take_ranges();
  }
  ~Operators() override { follow_mode(Mode::kWaiting); }

  std::vector<std::string> recorded() {
    std::vector<std::string> texts;
    for (const HostRange& range : FakeHost::only().take_ranges())
      texts.push_back(range.name + "(" + range.inputs + ")");
    return texts;
  }

  Torch torch_;
};

TEST_F(Operators, AreRecordedWithInputsAndSequenceWhileTheModeWantsThem) {
  follow_mode(Mode::kOperators);
  torch_.call("aten::relu", {torch_.value(torch_.tensor("f32", {2, 3}))}, 41);
  const std::vector<HostRange> ranges = FakeHost::only().take_ranges();
  ASSERT_EQ(ranges.size(), 1u);
  EXPECT_EQ(ranges[0].kind, kOperator);
  EXPECT_EQ(ranges[0].name, "aten::relu");
  EXPECT_EQ(ranges[0].inputs, "f32[2,3]");
  EXPECT_EQ(ranges[0].sequence, 41);
  EXPECT_LT(ranges[0].start_ns, ranges[0].end_ns);

  follow_mode(Mode::kLeftAlone);
  torch_.call("aten::relu", {});
  EXPECT_THAT(recorded(), IsEmpty());
}

TEST_F(Operators, AreLeftOutOfTheTimelineWhichKeepsTheRangesThatTheProgramNames) {
  follow_mode(Mode::kTimeline);
  torch_.call("aten::relu", {});
  torch_.range("Optimizer.step#AdamW.step");
  const std::vector<HostRange> ranges = FakeHost::only().take_ranges();
  ASSERT_EQ(ranges.size(), 1u);
  EXPECT_EQ(ranges[0].kind, kAnnotation);
  EXPECT_EQ(ranges[0].name, "Optimizer.step#AdamW.step");
}

TEST_F(Operators, WithinOperatorsEndBeforeThem) {
  follow_mode(Mode::kOperators);
  torch_.call(Version211::kFunction, "aten::linear", -1, {}, [&] { torch_.call("aten::addmm", {}); });
  EXPECT_THAT(recorded(), ElementsAre("aten::addmm()", "aten::linear()"));
}

TEST_F(Operators, ThatBeganBeforeTheModeChangedAreRecordedToTheirEnd) {
  follow_mode(Mode::kOperators);
  torch_.call(Version211::kFunction, "aten::linear", -1, {}, [&] { follow_mode(Mode::kLeftAlone); });
  torch_.call(Version211::kFunction, "aten::relu", -1, {}, [&] { follow_mode(Mode::kOperators); });
  EXPECT_THAT(recorded(), ElementsAre("aten::linear()"));
}

TEST_F(Operators, OfThreadsAreRecordedSideBySide) {
  follow_mode(Mode::kOperators);
  torch_.call(Version211::kFunction, "aten::outer", -1, {},
              [&] { std::thread([&] { torch_.call("aten::inner", {}); }).join(); });
  EXPECT_THAT(recorded(), ElementsAre("aten::inner()", "aten::outer()"));
}

TEST_F(Operators, WhoseNamesStandAtOneAddressInTurnKeepTheirNames) {
  follow_mode(Mode::kOperators);
  std::string name = "autograd::engine::evaluate_function: AddBackward0";
  torch_.call(name, {});
  name.replace(name.size() - 12, 3, "Mul");
  torch_.call(name, {});
  EXPECT_THAT(recorded(), ElementsAre("autograd::engine::evaluate_function: AddBackward0()",
                                      "autograd::engine::evaluate_function: MulBackward0()"));
}

TEST_F(Operators, OfTheBackwardPassGiveTheirSequenceToTheEnginesRange) {
  follow_mode(Mode::kOperators);
  torch_.call(Version211::kFunction, "autograd::engine::evaluate_function: MulBackward0", -1, {},
              [&] { torch_.call("MulBackward0", {}, 77); });
  const std::vector<HostRange> ranges = FakeHost::only().take_ranges();
  ASSERT_EQ(ranges.size(), 2u);
  EXPECT_EQ(ranges[1].name, "autograd::engine::evaluate_function: MulBackward0");
  EXPECT_EQ(ranges[1].sequence, 77);
}

TEST_F(Operators, ThatRepeatAskForNoNumbersAgain) {
  follow_mode(Mode::kOperators);
  const std::string name = "aten::gelu";
  const auto* tensor = torch_.tensor("bf16", {7, 7, 7});
  torch_.call(name, {torch_.value(tensor)});
  const uint64_t asked = FakeHost::only().interned();
  for (int i = 0; i < 10; ++i) torch_.call(name, {torch_.value(tensor)});
  EXPECT_EQ(FakeHost::only().interned(), asked);
  EXPECT_EQ(recorded().size(), 11u);
}

TEST_F(Operators, NestedTooDeepAreLeftOutAndTheOthersKeepTheirTimes) {
  follow_mode(Mode::kOperators);
  constexpr int kDeep = 600;
  const std::function<void(int)> down = [&](int left) {
    if (left > 0) torch_.call(Version211::kFunction, "aten::deep", -1, {}, [&] { down(left - 1); });
  };
  torch_.call(Version211::kFunction, "aten::outermost", -1, {}, [&] { down(kDeep); });
  torch_.call("aten::next", {});
  const std::vector<HostRange> ranges = FakeHost::only().take_ranges();
  ASSERT_EQ(ranges.size(), 513u);
  EXPECT_EQ(ranges[511].name, "aten::outermost");
  EXPECT_EQ(ranges[512].name, "aten::next");
}

}  // namespace
}  // namespace hone::observe::torch

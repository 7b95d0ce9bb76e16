#include "trace/import/segments/stacks.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

namespace hone::trace::segments {
namespace {

constexpr int64_t kMain = 100;

void add(StackTally& tally, int64_t tid, std::vector<std::string_view> frames, int times = 1) {
  for (int i = 0; i < times; ++i) tally.add(tid, frames);
}

TEST(StackTally, CountsTheInnermostLineOfTheProgramsOwnCode) {
  StackTally tally;
  add(tally, kMain,
      {"linear (/venv/lib/python3.12/site-packages/torch/nn/functional.py:9)",
       "step (/home/anna/train.py:40)", "<module> (/home/anna/train.py:90)"},
      3);
  add(tally, kMain, {"encode (/home/anna/data.py:12)", "<module> (/home/anna/train.py:88)"});
  EXPECT_EQ(tally.text(kMain),
            "Python, 4 samples of the main thread: 75 % in step (train.py:40), 25 % in encode (data.py:12)");
}

TEST(StackTally, SaysTheInnermostOfAllWhereLibrariesRunAlone) {
  StackTally tally;
  add(tally, kMain, {"wait (/usr/lib/python3.12/threading.py:355)", "_run (<frozen runpy>:88)"});
  EXPECT_EQ(tally.text(kMain), "Python, 1 sample of the main thread: 100 % in wait (threading.py:355)");
}

TEST(StackTally, NamesNoMoreThanFiveLinesAndNothingOfOtherThreads) {
  StackTally tally;
  EXPECT_EQ(tally.text(kMain), "");
  add(tally, 101, {"pin (/home/anna/pin.py:1)"}, 50);
  EXPECT_EQ(tally.text(kMain), "");
  for (const char* frame :
       {"a (a.py:1)", "b (a.py:2)", "c (a.py:3)", "d (a.py:4)", "e (a.py:5)", "f (a.py:6)"})
    add(tally, kMain, {frame});
  const std::string text = tally.text(kMain);
  EXPECT_EQ(std::ranges::count(text, '%'), 5);
  EXPECT_EQ(text.find("pin"), std::string::npos);
}

TEST(StackTally, TakesFramesOfAnyForm) {
  StackTally tally;
  add(tally, kMain, {});
  add(tally, kMain, {""});
  add(tally, kMain, {"/)("});
  add(tally, kMain, {"no file"});
  EXPECT_NE(tally.text(kMain).find("3 samples"), std::string::npos);
}

}  // namespace
}  // namespace hone::trace::segments

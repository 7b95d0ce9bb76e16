// Which lines findings are told with, and what is told first, of a program recorded with its stacks.
#include "analyze/device/diagnosis/calling_lines.h"

#include <gtest/gtest.h>

#include "analyze/device/accounts.h"
#include "analyze/device/testing/fabricate_works.h"

namespace hone::analyze::device {
namespace {

using fabricate::Works;

void call_from(Works& works, std::vector<std::string> provenance, double us) {
  works.run({.inputs = "f32[1024,1024]", .us = us, .kernel = "nchwToNhwcKernel"});
  works.trace().operators.back().provenance = std::move(provenance);
}

TEST(CallingLines, AreThoseOfMostTime) {
  Works works;
  for (int step = 0; step < 3; ++step) {
    call_from(works, {"a", "at train.py:31"}, 100);
    call_from(works, {"b", "at train.py:31"}, 200);
    call_from(works, {"c", "at train.py:8", "within torchvision/ops/boxes.py:11"}, 400);
    call_from(works, {"d"}, 50);
    works.end_step();
  }
  const Study study = make_study(works.trace(), gpu_roofs("NVIDIA H200"));
  const Accounts accounts = make_accounts(study, 0);
  std::vector<const AccountEntry*> entries;
  for (const AccountEntry& entry : accounts[static_cast<std::size_t>(Cause::kLayout)].entries)
    entries.push_back(&entry);
  const std::vector<CallingLine> lines = calling_lines(entries);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].line, "train.py:8");
  EXPECT_EQ(lines[0].package, "torchvision/ops/boxes.py:11");
  EXPECT_NEAR(lines[0].ms, 0.4, 0.01);
  EXPECT_EQ(lines[1].line, "train.py:31");
  EXPECT_NEAR(lines[1].ms, 0.3, 0.01);
  EXPECT_TRUE(are_of_packages(lines));
  EXPECT_EQ(calling_lines_text(lines, 10),
            "called from train.py:8, within torchvision/ops/boxes.py:11: 0.40 ms; train.py:31: 0.30 ms");
}

TEST(CallingLines, AreNoneWithoutStacks) {
  EXPECT_EQ(calling_lines_text(calling_lines({}), 1), "");
  EXPECT_FALSE(are_of_packages({}));
}

}  // namespace
}  // namespace hone::analyze::device

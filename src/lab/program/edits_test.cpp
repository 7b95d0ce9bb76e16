#include "lab/program/edits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/file.h"
#include "core/testing/scratch_path.h"

namespace hone::lab {
namespace {

const char* kProgram =
    "import torch\n"
    "model = Net()\n"
    "opt = torch.optim.AdamW(model.parameters())\n"
    "for x, y in loader:\n"
    "    out = model(x)\n"
    "    loss = f(out, y)\n"
    "    loss.backward()\n";

TEST(WithInsertions, PutsTextsIntoLinesAndLinesBetweenThem) {
  EXPECT_EQ(
      with_insertions("f(a)\ng(ä, b)\n", {{1, 3, ", c=1"}, {1, 3, ", d=2"}, {2, 6, "!"}, {2, -1, "new"}}),
      "f(a, c=1, d=2)\nnew\ng(ä, b!)\n");
}

TEST(WithInsertions, AddsLinesAtTheEnd) { EXPECT_EQ(with_insertions("a\n", {{2, -1, "b"}}), "a\nb\n"); }

TEST(UnifiedDiff, IsWhatAPersonWouldWrite) {
  const std::string file = scratch_path("hone-edits-train.py").string();
  ASSERT_TRUE(write_file(file, kProgram).ok());
  const auto diff = unified_diff({{file, {{3, 42, ", fused=True"}}},
                                  {file, {{5, -1, "    with autocast:"}, {5, 0, "    "}, {6, 0, "    "}}},
                                  {file, {{3, 42, ", fused=True"}}}});
  ASSERT_TRUE(diff.ok());
  EXPECT_EQ(*diff, "--- " + file + "\n+++ " + file + "\n" +
                       "@@ -1,7 +1,8 @@\n"
                       " import torch\n"
                       " model = Net()\n"
                       "-opt = torch.optim.AdamW(model.parameters())\n"
                       "+opt = torch.optim.AdamW(model.parameters(), fused=True)\n"
                       " for x, y in loader:\n"
                       "-    out = model(x)\n"
                       "+    with autocast:\n"
                       "+        out = model(x)\n"
                       "-    loss = f(out, y)\n"
                       "+        loss = f(out, y)\n"
                       "     loss.backward()\n");
}

TEST(UnifiedDiff, DividesWhatLiesFarApart) {
  const std::string file = scratch_path("hone-edits-long.py").string();
  std::string text;
  for (int i = 1; i <= 30; ++i) text += "line " + std::to_string(i) + "\n";
  ASSERT_TRUE(write_file(file, text).ok());
  const auto diff = unified_diff({{file, {{2, -1, "first"}, {25, -1, "second"}}}});
  ASSERT_TRUE(diff.ok());
  EXPECT_THAT(*diff, ::testing::HasSubstr("@@ -1,4 +1,5 @@\n line 1\n+first\n line 2\n"));
  EXPECT_THAT(*diff, ::testing::HasSubstr("@@ -22,6 +23,7 @@\n line 22\n"));
}

TEST(UnifiedDiff, NamesAFileThatCannotBeRead) {
  const auto diff = unified_diff({{"/nowhere/train.py", {{1, 0, "x"}}}});
  ASSERT_FALSE(diff.ok());
  EXPECT_THAT(diff.error().message, ::testing::HasSubstr("/nowhere/train.py"));
}

}  // namespace
}  // namespace hone::lab

#include "lab/program/edits.h"

#include <cstdlib>
#include <filesystem>

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

TEST(WithInsertions, PutsATextInPlaceOfAnother) {
  EXPECT_EQ(with_insertions("f(ä, n=0, p=0)\n", {{1, 7, "8", 1}, {1, 8, ", k=True"}, {1, 12, "1", 1}}),
            "f(ä, n=8, k=True, p=1)\n");
}

// A folder of its own with a file in it.
std::filesystem::path folder_with(const std::string& folder, const std::string& file,
                                  const std::string& text) {
  const std::filesystem::path path = scratch_path(folder);
  std::filesystem::create_directories((path / file).parent_path());
  EXPECT_TRUE(write_file(path / file, text).ok());
  return std::filesystem::canonical(path);
}

TEST(UnifiedDiff, IsWhatAPersonWouldWrite) {
  const std::filesystem::path folder = folder_with("hone-edits-person", "train.py", kProgram);
  const std::string file = (folder / "train.py").string();
  const auto diff = unified_diff({{file, {{3, 42, ", fused=True"}}},
                                  {file, {{5, -1, "    with autocast:"}, {5, 0, "    "}, {6, 0, "    "}}},
                                  {file, {{3, 42, ", fused=True"}}}},
                                 folder);
  ASSERT_TRUE(diff.ok());
  EXPECT_EQ(*diff,
            "--- a/train.py\n+++ b/train.py\n"
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
  std::string text;
  for (int i = 1; i <= 30; ++i) text += "line " + std::to_string(i) + "\n";
  const std::filesystem::path folder = folder_with("hone-edits-long", "train.py", text);
  const auto diff =
      unified_diff({{(folder / "train.py").string(), {{2, -1, "first"}, {25, -1, "second"}}}}, folder);
  ASSERT_TRUE(diff.ok());
  EXPECT_THAT(*diff, ::testing::HasSubstr("@@ -1,4 +1,5 @@\n line 1\n+first\n line 2\n"));
  EXPECT_THAT(*diff, ::testing::HasSubstr("@@ -22,6 +23,7 @@\n line 22\n"));
}

TEST(UnifiedDiff, NamesAFileThatCannotBeRead) {
  const auto diff = unified_diff({{"/nowhere/train.py", {{1, 0, "x"}}}}, "/nowhere");
  ASSERT_FALSE(diff.ok());
  EXPECT_THAT(diff.error().message, ::testing::HasSubstr("/nowhere/train.py"));
}

TEST(PatchFolder, IsTheOneThatTheProgramWasStartedInOrOneThatHoldsAllFiles) {
  const std::filesystem::path folder = folder_with("hone-edits-folder", "own/train.py", "");
  EXPECT_EQ(patch_folder({}, folder), folder);
  EXPECT_EQ(patch_folder({{(folder / "own/train.py").string(), {}}}, folder), folder);
  EXPECT_EQ(patch_folder({{(folder / "own/train.py").string(), {}}, {(folder / "lib/net.py").string(), {}}},
                         folder / "own"),
            folder);
  EXPECT_EQ(patch_folder({{"/nowhere/at_all.py", {}}}, folder), "/");
}

// Both are asked, as a user would: what they refuse is no patch.
TEST(UnifiedDiff, IsTakenByPatchAndByGit) {
  struct Given {
    std::string file, text;
  };
  const std::vector<Edit> made = {{"", {{2, -1, "first"}, {3, 4, "8", 1}}}};
  for (const Given& given :
       {Given{"train.py", "a\nb\nf(n=0)\n"}, Given{"a package/my net.py", "a\nb\nf(n=0)\n"},
        Given{"say \"hi\".py", "a\nb\nf(n=0)\n"}, Given{"unended.py", "a\nb\nf(n=0)"}}) {
    for (const std::string tool : {"patch --batch -p1 <", "git apply"}) {
      const std::filesystem::path folder = folder_with("hone-edits-real", given.file, given.text);
      const std::filesystem::path file = folder / given.file;
      const std::vector<Edit> edits = {{file.string(), made[0].insertions}};
      const auto diff = unified_diff(edits, patch_folder(edits, folder));
      ASSERT_TRUE(diff.ok());
      ASSERT_TRUE(write_file(folder / "changes.diff", *diff).ok());
      const std::string command = "cd '" + folder.string() + "' && " + tool + " changes.diff > said 2>&1";
      EXPECT_EQ(std::system(command.c_str()), 0) << tool << "\n" << *diff << *read_file(folder / "said");
      std::string expected = "a\nfirst\nb\nf(n=8)\n";
      if (!given.text.ends_with('\n')) expected.pop_back();
      EXPECT_EQ(*read_file(file), expected) << tool;
    }
  }
}

TEST(UnifiedDiff, GoesOnAfterAFileWhoseLastLineHasNoEnd) {
  const std::filesystem::path folder = folder_with("hone-edits-unended", "train.py", "import torch");
  const auto diff = unified_diff({{(folder / "train.py").string(), {{2, -1, "b"}}}}, folder);
  ASSERT_TRUE(diff.ok());
  EXPECT_EQ(*diff,
            "--- a/train.py\n+++ b/train.py\n@@ -1,1 +1,2 @@\n-import torch\n\\ No newline at end of file\n"
            "+import torch\n+b\n");
}

}  // namespace
}  // namespace hone::lab

#include "report/code_text.h"

#include <string>

#include <gtest/gtest.h>

namespace hone::report {
namespace {

// The text with its code between backticks.
std::string marked(std::string_view text) {
  std::string out;
  for (const TextPart& part : code_parts(text))
    out += part.code ? "`" + std::string(part.text) + "`" : std::string(part.text);
  return out;
}

TEST(CodeParts, FindsCallsWithTheirArguments) {
  EXPECT_EQ(marked("model.to(memory_format=torch.channels_last) and more"),
            "`model.to(memory_format=torch.channels_last)` and more");
  EXPECT_EQ(marked("put it under torch.autocast(\"cuda\", dtype=torch.bfloat16)"),
            "put it under `torch.autocast(\"cuda\", dtype=torch.bfloat16)`");
  EXPECT_EQ(marked("F.one_hot(ids).to(…) @ table: sums"), "`F.one_hot(ids).to(…)` @ table: sums");
  EXPECT_EQ(marked("no .repeat(), and no .clone()"), "no `.repeat()`, and no `.clone()`");
  EXPECT_EQ(marked("cache[:, :, n] = new"), "`cache[:, :, n]` = new");
}

TEST(CodeParts, FindsNamesAndSettings) {
  EXPECT_EQ(marked("num_workers=8, pin_memory=True."), "`num_workers=8`, `pin_memory=True`.");
  EXPECT_EQ(marked("148 calls of aten::item: 7.1 ms"), "148 calls of `aten::item`: 7.1 ms");
  EXPECT_EQ(marked("torch.compile (or fused=True)"), "`torch.compile` (or `fused=True`)");
  EXPECT_EQ(marked("torch.compile(mode=\"max-autotune\")"), "`torch.compile(mode=\"max-autotune\")`");
}

TEST(CodeParts, KeepsTheLineWithItsFile) {
  EXPECT_EQ(marked("- main (train.py:20): 52 % of 1123 samples"),
            "- main (`train.py:20`): 52 % of 1123 samples");
  EXPECT_EQ(marked("in inflate (libz.so.1): 3"), "in inflate (`libz.so`.1): 3")
      << "what ends in a number is no name";
}

TEST(CodeParts, LeavesWordsAndNumbersAlone) {
  for (const char* text : {"7.70 ms of the 29.80 ms step (25.8 %).", "the T×T scores, e.g. of attention",
                           "rank(s) and step(s)", "a = b", "channels-first images: 3×224×224", "", "…",
                           "one reason; another. The end.", "an open ( bracket", "x"})
    EXPECT_EQ(marked(text), text);
}

TEST(CodeParts, EndsWhateverTheBrackets) {
  EXPECT_EQ(marked("call(without an end"), "call(without an end");
  EXPECT_EQ(marked("a.b(c"), "`a.b`(c");
  const std::string many(100'000, '(');
  EXPECT_EQ(marked(many), many);
  std::string hostile;
  for (int i = 0; i < 20'000; ++i) hostile += "f(";
  EXPECT_EQ(marked(hostile), hostile);
}

TEST(CodeText, IsCapitalisedButForCode) {
  EXPECT_EQ(capitalised("try another"), "Try another");
  EXPECT_EQ(capitalised("torch.compile(model) joins them"), "torch.compile(model) joins them");
  EXPECT_EQ(capitalised(""), "");
}

}  // namespace
}  // namespace hone::report

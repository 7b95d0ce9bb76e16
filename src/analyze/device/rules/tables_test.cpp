// The table of rules: what programs, CI and tests hold on to.
#include "analyze/device/rules/tables.h"

#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>

#include <fmt/args.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "analyze/device/diagnosis/counted.h"
#include "analyze/testing/advice_words.h"
#include "core/testing/source_folder.h"

namespace hone::analyze::device {
namespace {

TEST(Rules, AreKnownByNamesOfTheirOwn) {
  std::set<std::string> ids;
  for (int i = 0; i < kRuleCount; ++i) {
    const DeviceRule& row = row_of(static_cast<Rule>(i));
    EXPECT_EQ(row.rule, static_cast<Rule>(i)) << row.id;
    EXPECT_EQ(row.id.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_"), std::string_view::npos)
        << row.id;
    EXPECT_FALSE(row.id.empty()) << row.title;
    EXPECT_TRUE(ids.insert(std::string(row.id)).second) << row.id;
  }
}

TEST(Rules, HaveOneForEachCauseOfWhichNothingMoreIsKnown) {
  for (int i = 0; i < kCauseCount; ++i) {
    const auto cause = static_cast<Cause>(i);
    EXPECT_EQ(row_of(general_rule(cause)).cause, cause) << cause_name(cause);
    EXPECT_EQ(row_of(cause, Rule::kFloor).rule, general_rule(cause));
  }
  EXPECT_EQ(row_of(Cause::kPrecision, Rule::kTf32Products).rule, Rule::kTf32Products);
  EXPECT_EQ(row_of(Cause::kKernelInefficiency, Rule::kTf32Products).rule, Rule::kKernelsBelowRoof);
}

TEST(Rules, AdviseProgramsOfEveryFramework) {
  for (int i = 0; i < kRuleCount; ++i) {
    const DeviceRule& row = row_of(static_cast<Rule>(i));
    for (int framework = 0; framework < trace::kFrameworkCount; ++framework)
      EXPECT_EQ(row.fix.of(static_cast<trace::Framework>(framework)).empty(),
                row.rule == Rule::kFloor || row.rule == Rule::kUnjudgedWork)
          << row.id;
  }
}

// Fixes that are only a name in braces are remedies.h's.
TEST(Rules, BeginTheirAdviceWithWhatToDo) {
  for (int i = 0; i < kRuleCount; ++i) {
    const DeviceRule& row = row_of(static_cast<Rule>(i));
    for (const std::string_view fix :
         {row.fix.pytorch, row.fix.jax, row.fix.tensorflow, row.fix.hone, row.fix.native})
      EXPECT_TRUE(fix.empty() || fix.starts_with('{') || words::begins_with_an_action(fix))
          << row.id << ": " << fix;
  }
}

TEST(Rules, NameNoFrameworkButTheProgramsOwn) {
  for (int i = 0; i < kRuleCount; ++i) {
    const DeviceRule& row = row_of(static_cast<Rule>(i));
    for (int number = 0; number < trace::kFrameworkCount; ++number) {
      const auto framework = static_cast<trace::Framework>(number);
      for (const std::string_view text : {row.fix.of(framework), row.caveat.of(framework)})
        EXPECT_EQ(words::foreign_name(text, framework), "") << row.id << ": " << text;
    }
    for (const std::string_view text :
         {row.title, row.summary, row.item, row.word, row.word_of_others, row.training_caveat})
      EXPECT_EQ(words::foreign_name(text, {}), "") << row.id << ": " << text;
  }
}

// Every text names only what is known of a row, or of one of its parts.
TEST(Rules, NameWhatIsKnown) {
  fmt::dynamic_format_arg_store<fmt::format_context> known;
  for (const char* name : {"ms",      "share",  "mean",    "step",          "gain",   "busy",     "rank",
                           "doing",   "remedy", "outcome", "copies",        "images", "exchange", "one_order",
                           "waits",   "files",  "turns",   "micro_batches", "name",   "times",    "detail",
                           "masters", "graph",  "batches", "optimizer",     "unnamed"})
    known.push_back(fmt::arg(name, "1"));
  known.push_back(fmt::arg("count", Counted{2}));
  known.push_back(fmt::arg("kernels", Counted{2}));
  for (int i = 0; i < kRuleCount; ++i) {
    const DeviceRule& row = row_of(static_cast<Rule>(i));
    for (const std::string_view text :
         {row.title, row.summary, row.item, row.fix.pytorch, row.fix.jax, row.fix.tensorflow, row.fix.hone,
          row.fix.native, row.caveat.pytorch, row.caveat.jax, row.caveat.hone, row.caveat.native,
          row.training_caveat})
      EXPECT_NO_THROW((void)fmt::vformat(text, known)) << row.id << ": " << text;
  }
}

// What programs may look for stands in the documentation.
TEST(Rules, StandInTheDocumentation) {
  std::ifstream file(source_folder() / "docs" / "rules.md");
  const std::string page((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  for (int i = 0; i < kRuleCount; ++i) {
    const DeviceRule& row = row_of(static_cast<Rule>(i));
    const std::string line = fmt::format("| `{}` | {} | {} |\n", row.id, cause_label(row.cause), row.title);
    EXPECT_NE(page.find(line), std::string::npos) << line;
  }
}

}  // namespace
}  // namespace hone::analyze::device

// What takes memory, in every form of the report.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "analyze/memory/memory_findings.h"
#include "report/fabricate_device.h"
#include "report/html.h"
#include "report/json.h"
#include "report/markdown.h"
#include "report/memory_words.h"
#include "report/terminal.h"

namespace hone::report {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

analyze::DeviceMemory fragmented() {
  analyze::DeviceMemory memory;
  memory.events = 3;
  memory.peak_bytes = 3 << 20, memory.peak_ms = 2, memory.peak_reserved = 8 << 20;
  memory.end_bytes = 2 << 20, memory.end_reserved = 8 << 20;
  memory.between_blocks = 4 << 20, memory.free_segments = 2 << 20, memory.largest_free = 2 << 20;
  memory.failed = 1, memory.failed_bytes = 3 << 20;
  memory.holdings = {{"train.py:31 step", "aten::gelu", 3 << 20, 1, 4}};
  memory.course = {{0, 0, 0}, {2, 3 << 20, 8 << 20}, {3, 2 << 20, 8 << 20}};
  return memory;
}

analyze::Analysis with_memory(analyze::Analysis analysis) {
  analyze::MemoryFindings found;
  found.devices = {fragmented()};
  analysis.memory = std::make_shared<const analyze::MemoryFindings>(std::move(found));
  return analysis;
}

TEST(MemoryForms, ShowWhoHoldsMemoryBesideTheStep) {
  const analyze::Analysis analysis = with_memory(fabricate::device_analysis());
  const std::string page = explain_html(analysis, fabricate::device_roofs());
  for (const std::string& form : {page, explain_markdown(analysis), explain_terminal(analysis, {})}) {
    EXPECT_NE(form.find("Memory of GPU 0"), std::string::npos);
    for (const char* words : {"gelu", "grow its segments", "4 tensors", "Where the time goes"})
      EXPECT_NE(form.find(words), std::string::npos) << words;
  }
  EXPECT_THAT(page, HasSubstr("memory-used"));
  const auto json = nlohmann::json::parse(explain_json(analysis))["memory"];
  ASSERT_EQ(json.size(), 1u);
  EXPECT_EQ(json[0]["peak_bytes"], 3 << 20);
  EXPECT_EQ(json[0]["fragmentation"], 0.5);
  EXPECT_EQ(json[0]["holdings"][0]["inside"], "aten::gelu");
  EXPECT_EQ(json[0]["course"][1]["reserved"], 8 << 20);
}

TEST(MemoryForms, OfASnapshotAloneSayNothingOfTime) {
  analyze::Analysis analysis = with_memory({});
  analysis.verdict.sentence = "A snapshot of memory.";
  const std::string page = explain_html(analysis, {});
  for (const std::string& form : {page, explain_markdown(analysis), explain_terminal(analysis, {})}) {
    EXPECT_THAT(form, HasSubstr("Memory of GPU 0"));
    EXPECT_THAT(form, Not(HasSubstr("Where the time goes")));
    EXPECT_THAT(form, Not(HasSubstr("0 steps")));
  }
}

TEST(MemoryForms, AdviseNothingWhereLittleIsFragmented) {
  analyze::DeviceMemory memory = fragmented();
  memory.between_blocks = 1 << 20, memory.failed = 0;
  EXPECT_THAT(memory_sentences(memory), Not(Contains(HasSubstr("expandable_segments"))));
  EXPECT_THAT(memory_sentences(fragmented()), Contains(HasSubstr("could not be had 1 time")));
}

}  // namespace
}  // namespace hone::report

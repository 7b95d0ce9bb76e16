#include "model/plan/plan_file.h"

#include <cstring>

#include <gtest/gtest.h>

#include "core/file.h"
#include "core/testing/scratch_path.h"
#include "core/testing/source_folder.h"
#include "core/version.h"
#include "graph/builder.h"
#include "graph/text.h"
#include "model/plan/plan_json.h"
#include "model/plan/sections.h"

namespace hone::model {
namespace {

using graph::NodeId;

PlanFile small_plan() {
  PlanFile plan;
  plan.about = {.hone = std::string(kVersion),
                .model = "small.onnx",
                .device = "cpu",
                .threads = 2,
                .made_for = {{"processor", "one"}, {"oneDNN", "3"}},
                .arena_bytes = 128,
                .weights_bytes = 80,
                .assumed = {"batch = 1"}};
  plan.graph = *graph::parse(R"(graph "g" (%x: f32[20]) {
    %w: f32[20] = constant dense(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20)
    %v: f32[17] = constant hex"0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f0000803f"
    %a: f32[20] = Mul(%x, %w) {} "a % \"b\"" from ["one", "two"]
    %b: f32[17] = Neg(%v) "b"
    return %a, %b
  })");
  plan.choices.kernels = {{NodeId{0}, "hone pointwise", 1.25, 2, {}}, {NodeId{1}, "", 0, 1, {}}};
  plan.choices.sections = {{0, 1, {{NodeId{0}}, {NodeId{1}}}, 3.5}};
  return plan;
}

std::string taken(const std::filesystem::path& path) {
  const auto text = read_file(path);
  std::filesystem::remove(path);
  return text.ok() ? *text : std::string();
}

std::string written(const PlanFile& plan) {
  const auto path = scratch_path("small.plan");
  const Status status = write_plan(plan, path);
  EXPECT_TRUE(status.ok()) << status.error().message;
  return taken(path);
}

Result<PlanFile> read(const std::string& bytes) {
  const auto kept = std::make_shared<const std::string>(bytes);
  return read_plan_bytes(std::as_bytes(std::span(*kept)), kept);
}

TEST(PlanFile, IsReadAsItWasWritten) {
  const PlanFile plan = small_plan();
  const auto again = read(written(plan));
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_TRUE(graph::same_graph(plan.graph, again->graph)) << graph::print(again->graph);
  EXPECT_EQ(about_to_json(plan.about), about_to_json(again->about));
  EXPECT_EQ(choices_to_json(plan.choices), choices_to_json(again->choices));
  EXPECT_EQ(again->about.threads, 2);
  EXPECT_EQ(again->choices.kernels[0].candidate, "hone pointwise");
  EXPECT_EQ(again->choices.sections[0].lanes[1][0], NodeId{1});
  const graph::Value& w = again->graph.value(again->graph.find_value("w"));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(std::as_const(*w.constant).data()) % sizeof(float), 0U);
}

TEST(PlanFile, HasTheSameBytesForTheSamePlan) { EXPECT_EQ(written(small_plan()), written(small_plan())); }

// Choices of bodies are plans in their turn.
TEST(PlanFile, KeepsChoicesOfBodies) {
  graph::PlanChoices choices;
  choices.kernels.push_back({NodeId{0}, "", 0, 1, {{{{NodeId{4}, "inner", 2, 3, {}}}, {}}, {}}});
  const std::string text = choices_to_json(choices);
  const auto again = choices_from_json(text);
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(choices_to_json(*again), text);
  EXPECT_EQ(again->kernels[0].bodies[0].kernels[0].candidate, "inner");
}

TEST(PlanFile, IsAnErrorWithAnyBitOfAnyByteFlipped) {
  const std::string good = written(small_plan());
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ (1 << (at % 8)));
    const auto plan = read(bad);
    ASSERT_FALSE(plan.ok()) << "byte " << at;
    EXPECT_FALSE(plan.error().message.empty());
  }
}

TEST(PlanFile, IsAnErrorCutAnywhereOrWithSomethingBehindIt) {
  const std::string good = written(small_plan());
  for (std::size_t length = 0; length < good.size(); ++length)
    ASSERT_FALSE(read(good.substr(0, length)).ok()) << length << " bytes";
  EXPECT_FALSE(read(good + '\0').ok());
  EXPECT_FALSE(read(good + good).ok());
  EXPECT_FALSE(read("").ok());
}

// With checksums made right, as somebody would who makes a file on purpose: it ends, and needs no more memory than the
// file has bytes for.
TEST(PlanFile, IsAPlanOrAnErrorWithAnyByteChangedUnderRightChecksums) {
  const std::string good = written(small_plan());
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (const char byte : {'\0', '\x7f', '\xff', '9', '"'}) {
      std::string bad = good;
      bad[at] = byte;
      seal_sections(std::as_writable_bytes(std::span(bad)));
      const auto plan = read(bad);
      EXPECT_TRUE(plan.ok() || !plan.error().message.empty()) << at;
    }
  }
}

std::string with_sections(std::string about, const std::string& choices, const std::string& graph,
                          const std::vector<uint64_t>& blocks, const std::string& data) {
  const auto path = scratch_path("made.plan");
  const auto part = [](const std::string& text) { return std::as_bytes(std::span(text)); };
  const std::vector<SectionToWrite> sections = {{"about", {part(about)}},
                                                {"choices", {part(choices)}},
                                                {"graph", {part(graph)}},
                                                {"blocks", {std::as_bytes(std::span(blocks))}},
                                                {"data", {part(data)}}};
  auto file = *AtomicFile::create(path);
  EXPECT_TRUE(write_sections(file, sections).ok());
  EXPECT_TRUE(file.commit().ok());
  return taken(path);
}

TEST(PlanFile, SaysWhatIsWrongWithWhatItHolds) {
  const std::string about = about_to_json(small_plan().about);
  const std::string no_choices = R"({"kernels":[],"side_by_side":[]})";
  const std::string no_graph = "graph \"g\" () { return }\n";
  ASSERT_TRUE(read(with_sections(about, no_choices, no_graph, {}, "")).ok());

  const auto expect = [](const Result<PlanFile>& plan, const char* words) {
    ASSERT_FALSE(plan.ok()) << words;
    EXPECT_NE(plan.error().message.find(words), std::string::npos) << plan.error().message;
  };
  expect(read(with_sections("{", no_choices, no_graph, {}, "")), "'about' is no JSON");
  expect(read(with_sections("{}", no_choices, no_graph, {}, "")), "has no 'hone'");
  PlanAbout other = small_plan().about;
  other.hone = "9.9.9";
  expect(read(with_sections(about_to_json(other), no_choices, no_graph, {}, "")),
         "made by hone 9.9.9, and this is");
  expect(read(with_sections(about, R"({"kernels":[[0,"k",1,1]],"side_by_side":[]})", no_graph, {}, "")),
         "nodes that need none");
  expect(read(with_sections(about, R"({"kernels":[[-1,"k",1,1]],"side_by_side":[]})", no_graph, {}, "")),
         "number");
  std::string deep = no_choices;
  for (int i = 0; i < 100; ++i) deep = R"({"kernels":[[0,"",1,0,[)" + deep + R"(]]],"side_by_side":[]})";
  expect(read(with_sections(about, deep, no_graph, {}, "")), "nested too deeply");
  expect(read(with_sections(about, std::string(200'000, '['), no_graph, {}, "")), "no JSON");
  expect(read(with_sections(about, no_choices, no_graph, {1ULL << 62}, "x")), "do not fit each other");
  expect(read(with_sections(about, no_choices, no_graph, {1}, "xy")), "do not fit each other");
  expect(read(with_sections(
             about, no_choices,
             "graph \"g\" () {\n %w: f32[4611686018427387904] = constant beside(0)\n return %w }", {1}, "x")),
         "line 2");
}

// Otherwise the fuzzer would begin with what is refused at the door.
TEST(PlanFile, SeedsOfItsFuzzerArePlans) {
  std::size_t seeds = 0;
  for (const auto& entry : std::filesystem::directory_iterator(source_folder() / "tests/fuzz/corpus/plan")) {
    const auto text = std::make_shared<const std::string>(*read_file(entry.path()));
    std::vector<std::string_view> parts;
    std::size_t at = 0;
    for (int i = 0; i < 4; ++i) {
      const std::size_t end = text->find('\x1e', at);
      ASSERT_NE(end, std::string::npos) << entry.path();
      parts.push_back(std::string_view(*text).substr(at, end - at));
      at = end + 1;
    }
    parts.push_back(std::string_view(*text).substr(at));
    const auto plan = read_plan_sections({parts[0], parts[1], parts[2], std::as_bytes(std::span(parts[3])),
                                          std::as_bytes(std::span(parts[4]))},
                                         text);
    EXPECT_TRUE(plan.ok()) << entry.path() << ": " << plan.error().message;
    ++seeds;
  }
  EXPECT_GE(seeds, 4U);
}

TEST(PlanFile, IsToldFromOtherFilesByItsContent) {
  const auto path = scratch_path("is.onnx");
  ASSERT_TRUE(write_plan(small_plan(), path).ok());
  EXPECT_TRUE(is_plan_file(path));
  ASSERT_TRUE(write_file(path, "\x08\x07\x12\x04hone").ok());
  EXPECT_FALSE(is_plan_file(path));
  std::filesystem::remove(path);
  EXPECT_FALSE(is_plan_file(scratch_path("none.plan")));
  EXPECT_FALSE(is_plan_file("/"));
}

TEST(PlanFile, OfAGraphThatTextCannotSayIsAnErrorBeforeAnythingIsWritten) {
  PlanFile plan = small_plan();
  plan.graph = *graph::parse("graph \"g\" (%x: f32[a b]) { %y: f32[a b] = Relu(%x) \"y\" return %y }");
  ASSERT_TRUE(plan.graph.type(plan.graph.inputs()[0]).dims.has_value());
  graph::GraphBuilder builder("odd");
  builder.output(builder.add(
      "Relu", {builder.input("x", graph::tensor_type(DType::kF32, {graph::Dim::symbol("a,b")}))}));
  plan.graph = *std::move(builder).finish();
  const auto path = scratch_path("odd.plan");
  EXPECT_FALSE(write_plan(plan, path).ok());
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace hone::model

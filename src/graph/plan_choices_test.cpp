#include "graph/plan_choices.h"

#include <functional>

#include <gtest/gtest.h>

#include "graph/text.h"

namespace hone::graph {
namespace {

// Two chains that do not depend on each other, a view between, and what joins them.
Graph two_chains() {
  return *parse(R"(graph "g" (%x: f32[4], %z: f32[4]) {
    %a: f32[4] = Relu(%x) "a"
    %b: f32[4] = Neg(%z) "b"
    %shape: i64[2] = constant dense(2, 2)
    %v: f32[2,2] = Reshape(%a, %shape) "v"
    %c: f32[2,2] = Exp(%v) "c"
    %d: f32[4] = Exp(%b) "d"
    return %c, %d
  })");
}

// Nodes in the graph's order: a b v c d; v is a view.
PlanChoices good_choices() {
  PlanChoices choices;
  for (const uint32_t node : {0U, 1U, 3U, 4U}) choices.kernels.push_back({NodeId{node}, "k", 1, 2, {}});
  choices.sections.push_back({0, 4, {{NodeId{0}, NodeId{3}}, {NodeId{1}, NodeId{4}}}, 5});
  return choices;
}

TEST(PlanChoices, FitTheGraphThatTheyWereMadeFor) {
  const Status status = check_choices(two_chains(), good_choices());
  EXPECT_TRUE(status.ok()) << status.error().message;
  EXPECT_TRUE(check_choices(two_chains(), {good_choices().kernels, {}}).ok());
}

TEST(PlanChoices, ThatCannotBeAPlansAreAnError) {
  const std::function<void(PlanChoices&)> wrong[] = {
      [](PlanChoices& c) { c.kernels.pop_back(); },
      [](PlanChoices& c) {
        c.kernels.push_back({NodeId{9}, "k", 0, 1, {}});
      },
      [](PlanChoices& c) { c.kernels[2].node = NodeId{2}; },  // a view
      [](PlanChoices& c) { std::swap(c.kernels[0], c.kernels[1]); },
      [](PlanChoices& c) { c.kernels[0].bodies.resize(1); },  // of a node without
      [](PlanChoices& c) { c.sections[0].last = 5; },         // outside
      [](PlanChoices& c) { c.sections[0].first = 3, c.sections[0].last = 1; },
      [](PlanChoices& c) { c.sections.push_back(c.sections[0]); },          // twice
      [](PlanChoices& c) { c.sections[0].lanes.pop_back(); },               // one lane alone
      [](PlanChoices& c) { c.sections[0].lanes[0].pop_back(); },            // a node without a lane
      [](PlanChoices& c) { c.sections[0].lanes[1].push_back(NodeId{3}); },  // with two
      [](PlanChoices& c) { c.sections[0].lanes[0][0] = NodeId{0xfffffffe}; },
      [](PlanChoices& c) { std::swap(c.sections[0].lanes[0][0], c.sections[0].lanes[0][1]); },
      [](PlanChoices& c) {
        std::swap(c.sections[0].lanes[0][1], c.sections[0].lanes[1][1]);
      },  // waits for another
  };
  for (std::size_t i = 0; i < std::size(wrong); ++i) {
    PlanChoices choices = good_choices();
    wrong[i](choices);
    EXPECT_FALSE(check_choices(two_chains(), choices).ok()) << "number " << i;
  }
}

TEST(GraphText, KeepsLargeConstantsBesideItAndThoseOfOneMemoryOnce) {
  const auto graph = parse(R"(graph "g" (%x: f32[20]) {
    %w: f32[20] = constant dense(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20)
    %few: f32[1] = constant dense(2)
    %a: f32[20] = Mul(%x, %w) "a"
    %b: f32[20] = Add(%a, %few) "b"
    return %b
  })");
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  std::vector<Tensor> beside;
  const std::string text = print(*graph, beside);
  ASSERT_EQ(beside.size(), 1U);
  EXPECT_NE(text.find("%w: f32[20] = constant beside(0)"), std::string::npos) << text;
  EXPECT_NE(print(*graph, beside).find("beside(0)"), std::string::npos);
  EXPECT_EQ(beside.size(), 1U) << "the same memory once";
  const std::span<const std::byte> block{static_cast<const std::byte*>(std::as_const(beside[0]).data()), 80};
  const auto again = parse(text, {{block}, nullptr});
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_TRUE(same_graph(*graph, *again));
  const Value& w = again->value(again->find_value("w"));
  EXPECT_EQ(std::as_const(*w.constant).data(), block.data()) << "borrowed, not copied";

  EXPECT_FALSE(parse(text).ok()) << "nothing beside it";
  EXPECT_FALSE(parse(text, {{block.first(76)}, nullptr}).ok());
  EXPECT_FALSE(parse(text, {{block.first(79)}, nullptr}).ok());
}

TEST(GraphText, OfAnyOriginIsAnErrorWhereItWouldBeWrittenOutsideOfATensor) {
  for (const char* constant : {"string[2] = constant dense(1, 2)", "string[1] = constant hex\"00\"",
                               "c64[2] = constant dense(1, 2)", "c128[1] = constant dense(1)"}) {
    const auto graph = parse(std::string("graph \"g\" () { %c: ") + constant + " return %c }");
    EXPECT_FALSE(graph.ok()) << constant;
  }
  std::string nested;
  for (int i = 0; i < 100'000; ++i) nested += "sequence(";
  EXPECT_FALSE(parse("graph \"g\" (%x: " + nested).ok());
}

}  // namespace
}  // namespace hone::graph

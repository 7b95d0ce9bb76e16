#include "graph/random_seeds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/differentiate.h"
#include "graph/text.h"
#include "graph/verify.h"

namespace hone::graph {
namespace {

using testing::HasSubstr;

Graph read_text(const std::string& text) {
  auto graph = parse("graph \"g\" " + text);
  if (!graph.ok()) throw std::logic_error(graph.error().message);
  return *std::move(graph);
}

Graph checked(Result<Graph> graph) {
  if (!graph.ok()) throw std::logic_error(graph.error().message);
  const Status valid = verify(*graph);
  EXPECT_TRUE(valid.ok()) << valid.error().message;
  return *std::move(graph);
}

const std::string kEveryOperator = R"((%x: f32[2,3], %ratio: f32[], %train: bool[]) {
  %never: bool[] = constant dense(0)
  %a: f32[4] = RandomNormal() {shape = [4], scale = 2.0} "a"
  %b: f32[2,3] = RandomUniformLike(%x) {seed = 1.0} "b"
  %c: f32[2,3] = Bernoulli(%b) "c"
  %d: i32[2,5] = Multinomial(%x) {sample_size = 5} "d"
  %e: f32[2,3] = Dropout(%x, %ratio, %train) "e"
  %f: f32[2,3] = Dropout(%x, %ratio, %never) "f"
  return %a, %c, %d, %e, %f
})";

TEST(GiveSeeds, MakesTheSeedAValueAndKeepsWhatTheModelGives) {
  const Graph graph = read_text(kEveryOperator);
  EXPECT_EQ(count_unseeded(graph), 4U);
  const Graph seeded = checked(give_seeds(graph, 7));
  EXPECT_EQ(count_unseeded(seeded), 0U);
  const std::string text = print(seeded);
  EXPECT_THAT(
      text, HasSubstr("%a: f32[4] = hone.RandomNormal(%a.seed, %random.offset) {scale = 2.0, shape = [4]}"));
  EXPECT_THAT(text, HasSubstr("%b: f32[2,3] = hone.RandomUniform(%b.seed, %b.offset, %x)"));
  EXPECT_THAT(text, HasSubstr("%c: f32[2,3] = hone.Bernoulli(%b, %c.seed, %random.offset)"));
  EXPECT_THAT(text,
              HasSubstr("%d: i32[2,5] = hone.Multinomial(%x, %d.seed, %random.offset) {sample_size = 5}"));
  EXPECT_THAT(text, HasSubstr("%e: f32[2,3] = hone.Dropout(%x, %e.seed, %random.offset, %ratio, %train)"));
  EXPECT_THAT(text, HasSubstr("%f: f32[2,3] = Dropout(%x, %ratio, %never)"));
  // The bit pattern of 1.0.
  EXPECT_THAT(text, HasSubstr("%b.seed: i64[] = constant dense(4607182418800017408)"));
}

TEST(GiveSeeds, OneSeedGivesTheSameGraphAndAnotherSeedAnother) {
  const Graph graph = read_text(kEveryOperator);
  EXPECT_TRUE(same_graph(checked(give_seeds(graph, 7)), checked(give_seeds(graph, 7))));
  EXPECT_FALSE(same_graph(checked(give_seeds(graph, 7)), checked(give_seeds(graph, 8))));
}

std::string looped(const std::string& op) {
  return R"((%n: i64[], %go: bool[], %x: f32[2]) {
    %y: f32[2] = Loop(%n, %go, %x) "loop"
      graph "body" (%i: i64[], %c: bool[], %v: f32[2]) {
        %r: f32[2] = )" +
         op + R"( "draw"
        %w: f32[2] = Add(%v, %r)
        return %c, %w
      }
    return %y
  })";
}

TEST(GiveSeeds, IterationsOfALoopDrawOtherNumbers) {
  const Graph graph = read_text(looped("RandomNormalLike(%v)"));
  EXPECT_EQ(count_unseeded(graph), 1U);
  const std::string text = print(checked(give_seeds(graph, 7)));
  EXPECT_THAT(text, HasSubstr("%random.offset: i64[] = Mul(%i, %random.numbers)"));
  EXPECT_THAT(text, HasSubstr("%r: f32[2] = hone.RandomNormal(%draw.seed, %random.offset, %v)"));
  // A seed of the model's own means the same numbers each time.
  const std::string given =
      print(checked(give_seeds(read_text(looped("RandomNormalLike(%v) {seed = 1.0}")), 7)));
  EXPECT_THAT(given, HasSubstr("%draw.offset: i64[] = constant dense(0)"));
}

TEST(GiveSeeds, RefusesToRepeatNumbersInSilence) {
  const Graph graph = read_text(R"((%x: f32[3,2]) {
    %y: f32[3,2] = Scan(%x) {num_scan_inputs = 1} "scan"
      graph "body" (%v: f32[2]) { %r: f32[2] = RandomNormalLike(%v) "draw" return %r }
    return %y
  })");
  const auto seeded = give_seeds(graph, 7);
  ASSERT_FALSE(seeded.ok());
  EXPECT_THAT(seeded.error().message,
              HasSubstr("node 'scan' (Scan): node 'draw' (RandomNormalLike), which would "
                        "draw the same numbers each time"));
}

TEST(RandomStream, EveryOperatorTakesItsOwnPartAndTheStepGoesOn) {
  const Graph graph = checked(with_random_stream(read_text(kEveryOperator)));
  EXPECT_EQ(count_unseeded(graph), 0U);
  ASSERT_EQ(graph.states().size(), 1U);
  EXPECT_EQ(graph.value(graph.state_input(graph.states()[0])).name, "random.offset");
  const std::string text = print(graph);
  EXPECT_THAT(text, HasSubstr("hone.RandomNormal(%random.seed, %random.offset)"));
  EXPECT_THAT(text, HasSubstr("%random.before: i64[] = constant dense(4)"));
  // 4 + 6 + 6 + 10 + 6
  EXPECT_THAT(text, HasSubstr("%random.count: i64[] = constant dense(32)"));
  EXPECT_THAT(text, HasSubstr("return %a, %c, %d, %e, %f, %random.offset.next -> %random.offset"));
  const Graph plain = read_text("(%x: f32[2]) { %y: f32[2] = Relu(%x) return %y }");
  EXPECT_TRUE(same_graph(plain, checked(with_random_stream(plain))));
}

TEST(RandomStream, RefusesWhatItCannotCount) {
  const auto open =
      with_random_stream(read_text("(%x: f32[N]) { %y: f32[N] = Bernoulli(%x) \"b\" return %y }"));
  ASSERT_FALSE(open.ok());
  EXPECT_THAT(open.error().message,
              HasSubstr("node 'b' (Bernoulli): how many numbers it draws is not known"));
  EXPECT_FALSE(with_random_stream(read_text(looped("RandomNormalLike(%v)"))).ok());
}

TEST(RandomStream, TheGradientOfDropoutDropsTheSameElements) {
  const Graph graph = read_text(R"((%x: f32[8], %seed: i64[], %offset: i64[], %ratio: f32[]) {
    %y: f32[8] = hone.Dropout(%x, %seed, %offset, %ratio) "drop"
    return %y
  })");
  GraphBuilder b(graph);
  const auto gradients = differentiate(b, graph.outputs()[0], std::vector{graph.inputs()[0]});
  ASSERT_TRUE(gradients.ok()) << gradients.error().message;
  b.output(gradients->at(0));
  const Graph both = *std::move(b).finish();
  const Node& backward = both.node(both.value(both.outputs()[1]).producer);
  EXPECT_EQ(backward.op, "hone.Dropout");
  EXPECT_EQ(std::vector(backward.inputs.begin() + 1, backward.inputs.end()),
            std::vector(both.inputs().begin() + 1, both.inputs().end()));
}

}  // namespace
}  // namespace hone::graph

// The walk: what is differentiated, in which order, and what is refused. That the rules are right is shown by
// finite differences in tests/gradients.
#include "graph/differentiate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/gradients/context.h"
#include "graph/ops/infer_test.h"
#include "graph/verify.h"

namespace hone::graph {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string error_of(GraphBuilder& builder, ValueId y, std::vector<ValueId> xs) {
  const auto result = differentiate(builder, y, xs);
  return result.ok() ? "accepted" : result.error().message;
}

std::vector<std::string> ops(const GraphBuilder& builder, std::size_t from = 0) {
  std::vector<std::string> names;
  for (std::size_t i = from; i < builder.nodes().size(); ++i) names.push_back(builder.nodes()[i].op);
  return names;
}

TEST(Differentiate, SeedsWithOnesAndGivesZerosForWhatIsNotRead) {
  GraphBuilder b("test");
  const ValueId x = b.input("x", f32({2, 3}));
  const ValueId other = b.input("other", f32({4}));
  const auto gradients = differentiate(b, x, std::vector{x, other});
  ASSERT_TRUE(gradients.ok());
  EXPECT_EQ(b.type((*gradients)[0]).text(), "f32[2,3]");
  EXPECT_EQ(b.type((*gradients)[1]).text(), "f32[4]");
  const auto fill_of = [&](ValueId value) { return b.value(b.producer(value)->inputs[0]).constant->at(0); };
  EXPECT_EQ(fill_of((*gradients)[0]), 1);
  EXPECT_EQ(fill_of((*gradients)[1]), 0);
}

TEST(Differentiate, AddsNothingForNodesThatLeadNowhere) {
  GraphBuilder b("test");
  const ValueId x = b.input("x", f32({}));
  const ValueId z = b.input("z", f32({}));
  const ValueId y =
      b.add("Mul", {b.add("hone.SquareSum", {b.input("m", f32({2, 2}))}), b.add("Add", {x, z})});
  b.add("Exp", {x});  // not read by y
  const std::size_t before = b.nodes().size();
  ASSERT_TRUE(differentiate(b, y, std::vector{x}).ok());  // SquareSum has no rule, and needs none
  EXPECT_THAT(ops(b, before), ElementsAre("Mul"));
}

TEST(Differentiate, SumsContributionsFromTheLastReaderToTheFirst) {
  GraphBuilder b("test");
  const ValueId x = b.input("x", f32({}));
  const ValueId first = b.add("Exp", {x}, {}, "first");
  const ValueId second = b.add("Neg", {x}, {}, "second");
  const ValueId y = b.add("Add", {first, second});
  const std::size_t before = b.nodes().size();
  const auto gradients = differentiate(b, y, std::vector{x});
  ASSERT_TRUE(gradients.ok());
  EXPECT_THAT(ops(b, before), ElementsAre("Neg", "Mul", "Add"));
}

TEST(Differentiate, NodesStandForWhatTheyDifferentiate) {
  GraphBuilder b("test");
  const ValueId x = b.input("x", f32({}));
  const ValueId y = b.add("Exp", {x}, {}, "exp");
  DifferentiateOptions options;
  options.provenance = {"training"};
  const auto gradients = differentiate(b, y, std::vector{x}, options);
  ASSERT_TRUE(gradients.ok());
  EXPECT_THAT(b.producer((*gradients)[0])->provenance, ElementsAre("training", "exp"));
}

TEST(Differentiate, PassesNothingThroughStepsAndIntegers) {
  GraphBuilder b("test");
  const ValueId x = b.input("x", f32({3}));
  const ValueId y = b.add("Floor", {x});
  const ValueId whole = b.add("Cast", {b.add("Cast", {x}, {{"to", int64_t{7}}})}, {{"to", int64_t{1}}});
  for (const ValueId flat : {y, whole}) {
    const auto gradients = differentiate(b, flat, std::vector{x});
    ASSERT_TRUE(gradients.ok()) << gradients.error().message;
    EXPECT_EQ(b.value(b.producer((*gradients)[0])->inputs[0]).constant->at(0), 0);
  }
}

TEST(Differentiate, NamesOperatorsWithoutARule) {
  GraphBuilder b("test");
  const ValueId x = b.input("x", f32({2, 2}));
  const ValueId y = b.add("hone.SquareSum", {x}, {}, "squares");
  const auto result = differentiate(b, y, std::vector{x});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(result.error().message,
            "node 'squares' (hone.SquareSum): unsupported: the gradient of hone.SquareSum");
}

TEST(Differentiate, RefusesIntegersAndContradictingSeeds) {
  GraphBuilder b("test");
  const ValueId x = b.input("x", f32({3}));
  const ValueId n = b.input("n", tensor_type(DType::kI64, Dims{3}));
  EXPECT_THAT(error_of(b, x, {n}), HasSubstr("'n' is i64[3]: only floating-point values have gradients"));
  EXPECT_THAT(error_of(b, n, {x}), HasSubstr("'n' is i64[3]"));
  DifferentiateOptions options;
  options.seed = b.input("seed", f32({4}));
  EXPECT_FALSE(differentiate(b, x, std::vector{x}, options).ok());
}

TEST(Differentiate, KnowsSymbolsAndSaysWhereTheyAreTooFew) {
  GraphBuilder b("test");
  const ValueId x = b.input("x", f32({Dim::symbol("n"), 3}));
  const ValueId bias = b.input("bias", f32({3}));
  const auto gradients = differentiate(b, b.add("Add", {x, bias}), std::vector{x, bias});
  ASSERT_TRUE(gradients.ok()) << gradients.error().message;
  EXPECT_EQ(b.type((*gradients)[0]).text(), "f32[n,3]");
  EXPECT_EQ(b.type((*gradients)[1]).text(), "f32[3]");
  const ValueId other = b.input("other", f32({Dim::symbol("m"), 3}));
  EXPECT_THAT(
      error_of(b, b.add("Add", {x, other}), {x}),
      HasSubstr("unsupported: whether f32[n,3] was broadcast to f32[?,3] is not known; read the model"));
}

TEST(Differentiate, OfAGradientIsTheSecondDerivative) {
  GraphBuilder b("test");
  const ValueId x = b.input("x", f32({3}));
  const ValueId y = b.add("ReduceSum", {b.add("Mul", {x, b.add("Sin", {x})})});
  const auto first = differentiate(b, y, std::vector{x});
  ASSERT_TRUE(first.ok());
  const auto second = differentiate(b, (*first)[0], std::vector{x});
  ASSERT_TRUE(second.ok()) << second.error().message;
  b.output((*second)[0]);
  const auto graph = std::move(b).finish();
  ASSERT_TRUE(graph.ok());
  EXPECT_TRUE(verify(*graph).ok());
}

TEST(Differentiate, ManagesAHundredThousandNodesInARow) {
  GraphBuilder b("test");
  const ValueId x = b.input("x", f32({}));
  ValueId y = x;
  for (int i = 0; i < 100'000; ++i) y = b.add("Neg", {y});
  EXPECT_TRUE(differentiate(b, y, std::vector{x}).ok());
  DifferentiateOptions options;
  options.most_nodes = 1000;
  EXPECT_THAT(differentiate(b, y, std::vector{x}, options).error().message,
              HasSubstr("more than 1000 nodes"));
}

TEST(Substitute, ComputesAgainOnlyWhatDepends) {
  GraphBuilder b("test");
  const ValueId x = b.input("x", f32({2}));
  const ValueId z = b.input("z", f32({2}));
  const ValueId at = b.input("at", f32({2}));
  const ValueId kept = b.add("Exp", {z});
  const ValueId y = b.add("Mul", {b.add("Neg", {x}), kept});
  const std::size_t before = b.nodes().size();
  const auto moved = substitute(b, y, {{x, at}});
  ASSERT_TRUE(moved.ok());
  EXPECT_THAT(ops(b, before), ElementsAre("Neg", "Mul"));
  EXPECT_EQ(b.producer(*moved)->inputs[1], kept);
  EXPECT_EQ(*substitute(b, kept, {{x, at}}), kept);
  EXPECT_EQ(*substitute(b, x, {{x, at}}), at);
  EXPECT_FALSE(substitute(b, y, {{x, b.input("wrong", f32({5}))}}).ok());
}

TEST(GradientRules, StandAtEntriesOnceOnly) {
  OpTable table;
  EXPECT_THROW(table.set_gradient("Nothing", no_gradient), std::logic_error);
  EXPECT_EQ(op_table().find("Greater")->gradient, no_gradient);
  EXPECT_EQ(op_table().find("hone.SquareSum")->gradient, nullptr);
}

}  // namespace
}  // namespace hone::graph

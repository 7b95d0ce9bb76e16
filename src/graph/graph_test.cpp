#include <gtest/gtest.h>

#include "graph/builder.h"
#include "graph/op_table.h"
#include "graph/text.h"
#include "graph/verify.h"

namespace hone::graph {
namespace {

Graph example() {
  GraphBuilder b("example");
  ValueId x = b.input("x", tensor_type(DType::kF32, Dims{Dim::symbol("batch"), 4}));
  ValueId w = b.constant("w/ odd \"name\"\n", Tensor::f32({4}, std::vector<float>{1, -0.5F, 3e-7F, 1e30F}));
  ValueId y = b.add("Add", {x, w});
  ValueId z = b.add("Relu", {y});
  b.output(z);
  return *std::move(b).finish();
}

TEST(GraphText, RoundTrips) {
  const Graph graph = example();
  const std::string text = print(graph, Constants::kFull);
  auto parsed = parse(text);
  ASSERT_TRUE(parsed.ok()) << parsed.error().message << "\n" << text;
  EXPECT_TRUE(same_graph(graph, *parsed)) << text << print(*parsed, Constants::kFull);
  EXPECT_TRUE(verify(*parsed).ok());
}

TEST(GraphText, BigConstantsRoundTripBitwise) {
  GraphBuilder b("big");
  Tensor data(DType::kF32, {5, 7});
  for (int i = 0; i < 35; ++i) data.as<float>()[static_cast<std::size_t>(i)] = static_cast<float>(i) / 3.0F;
  b.output(b.add("Relu", {b.constant("w", data)}));
  const Graph graph = *std::move(b).finish();
  auto parsed = parse(print(graph, Constants::kFull));
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_TRUE(same_graph(graph, *parsed));
}

TEST(GraphText, ErrorsNameTheLine) {
  auto parsed = parse("graph \"g\" (%x: f32[2]) {\n  %y: f32[2] = Relu(%nothing)\n  return %y\n}");
  ASSERT_FALSE(parsed.ok());
  EXPECT_NE(parsed.error().message.find("line 2"), std::string::npos) << parsed.error().message;
  EXPECT_NE(parsed.error().message.find("nothing"), std::string::npos);
}

TEST(GraphText, EveryPrefixOfAGraphIsAnErrorNotACrash) {
  const std::string text = print(example(), Constants::kFull);
  for (std::size_t n = 0; n + 2 < text.size(); ++n)
    EXPECT_FALSE(parse(std::string_view(text).substr(0, n)).ok()) << n;
}

TEST(GraphBuilder, DropsWhatNothingUses) {
  GraphBuilder b("g");
  ValueId x = b.input("x", tensor_type(DType::kF32, Shape{2}));
  b.add("Neg", {x});
  b.output(b.add("Relu", {x}));
  const Graph graph = *std::move(b).finish();
  EXPECT_EQ(graph.nodes().size(), 1u);
}

TEST(GraphBuilder, KeepsTheInterfacesNamesWhenAnOutputIsReplaced) {
  GraphBuilder b("g");
  ValueId x = b.input("x", tensor_type(DType::kF32, Shape{2}));
  ValueId y = b.add("Identity", {x}, {}, "keep");
  b.output(y);
  b.replace_all_uses(y, x);  // an output cannot be an input under another name: an Identity stays
  const Graph graph = *std::move(b).finish();
  EXPECT_EQ(graph.value(graph.outputs()[0]).name, "keep.out");
  EXPECT_EQ(graph.value(graph.inputs()[0]).name, "x");
  EXPECT_TRUE(verify(graph).ok());
}

TEST(GraphBuilder, RefusesACycle) {
  GraphBuilder b("g");
  ValueId x = b.input("x", tensor_type(DType::kF32, Shape{2}));
  ValueId y = b.add("Add", {x, x});
  ValueId z = b.add("Relu", {y});
  b.replace_input(b.value(y).producer, 1, z);
  b.output(z);
  auto graph = std::move(b).finish();
  ASSERT_FALSE(graph.ok());
  EXPECT_NE(graph.error().message.find("cycle"), std::string::npos);
}

TEST(OpTable, EveryEntryHasASummaryAndCompleteArity) {
  for (const OpEntry* entry : op_table().entries()) {
    EXPECT_FALSE(entry->summary.empty()) << entry->name;
    EXPECT_TRUE(entry->max_inputs < 0 || entry->max_inputs >= entry->min_inputs) << entry->name;
  }
}

TEST(Verify, NamesTheNodeWithAWrongType) {
  GraphBuilder b("g");
  ValueId x = b.input("x", tensor_type(DType::kF32, Shape{2}));
  ValueId y = b.add("Relu", {x}, {}, "the_relu");
  b.set_type(y, tensor_type(DType::kF32, Shape{3}));
  b.output(y);
  const Status status = verify(*std::move(b).finish());
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("the_relu"), std::string::npos) << status.error().message;
}

}  // namespace
}  // namespace hone::graph

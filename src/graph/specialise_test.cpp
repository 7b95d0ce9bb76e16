#include "graph/specialise.h"

#include <gmock/gmock.h>

#include "graph/builder.h"

namespace hone::graph {
namespace {

using ::testing::HasSubstr;

Tensor ints(const std::vector<int64_t>& values) {
  Tensor tensor(DType::kI64, {static_cast<int64_t>(values.size())});
  std::copy(values.begin(), values.end(), tensor.as<int64_t>().begin());
  return tensor;
}

// y = Reshape(x, shape), z = Relu(y)
Graph open_reshape() {
  GraphBuilder builder("open");
  const ValueId x = builder.input("x", tensor_type(DType::kF32, Dims{Dim::symbol("n"), 4}));
  const ValueId shape = builder.input("shape", tensor_type(DType::kI64, Dims{2}));
  builder.output(builder.add("Relu", {builder.add("Reshape", {x, shape})}));
  return *std::move(builder).finish();
}

TEST(Specialise, InfersWhatFollowsFromShapesAndConstants) {
  const Graph open = open_reshape();
  const std::vector<InputFact> facts = {{tensor_type(DType::kF32, Shape{6, 4}), {}}, {{}, ints({-1, 8})}};
  const auto special = specialise(open, facts);
  ASSERT_TRUE(special.ok()) << special.error().message;
  ASSERT_EQ(special->inputs().size(), 1U);
  EXPECT_EQ(special->type(special->outputs()[0]).text(), "f32[3,8]");
}

TEST(Specialise, KeepsWhatItHearsNothingNewAbout) {
  const Graph open = open_reshape();
  const auto special = specialise(open, std::vector<InputFact>(2));
  ASSERT_TRUE(special.ok()) << special.error().message;
  EXPECT_EQ(special->type(special->inputs()[0]).text(), "f32[n,4]");
  EXPECT_FALSE(special->type(special->outputs()[0]).is_static());
}

TEST(Specialise, RefusesAFactThatContradictsTheGraph) {
  const std::vector<InputFact> facts = {{tensor_type(DType::kF32, Shape{6, 5}), {}}, {}};
  const auto special = specialise(open_reshape(), facts);
  ASSERT_FALSE(special.ok());
  EXPECT_THAT(special.error().message, HasSubstr("'x'"));
}

TEST(Specialise, KeepsStatesAtTheirNewPositions) {
  GraphBuilder builder("counter");
  const ValueId by = builder.input("by", tensor_type(DType::kF32, Shape{}));
  const ValueId count = builder.input("count", tensor_type(DType::kF32, Shape{}));
  builder.output(builder.add("Add", {count, by}));
  builder.set_states({{.input = 1, .output = 0}});
  const Graph graph = *std::move(builder).finish();

  Tensor one(DType::kF32, {});
  one.as<float>()[0] = 1;
  const auto special = specialise(graph, std::vector<InputFact>{{{}, one}, {}});
  ASSERT_TRUE(special.ok()) << special.error().message;
  EXPECT_EQ(special->states(), (std::vector<StatePair>{{.input = 0, .output = 0}}));

  const auto refused = specialise(graph, std::vector<InputFact>{{}, {{}, one}});
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("'count' has a next value"));
}

TEST(Specialise, WantsAFactForEachInput) {
  const auto special = specialise(open_reshape(), std::vector<InputFact>(1));
  ASSERT_FALSE(special.ok());
  EXPECT_THAT(special.error().message, HasSubstr("1 facts are given about the 2 inputs of graph 'open'"));
}

}  // namespace
}  // namespace hone::graph

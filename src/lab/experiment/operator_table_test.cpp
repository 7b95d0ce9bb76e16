// What a report says of operators whose extents are unusual.
#include <gtest/gtest.h>

#include "graph/builder.h"
#include "lab/experiment/profile.h"

namespace hone::lab {
namespace {

std::string geometry_of_product(const Shape& a, const Shape& b) {
  graph::GraphBuilder builder("product");
  const auto x = builder.input("x", graph::tensor_type(DType::kF32, a));
  const auto w = builder.input("w", graph::tensor_type(DType::kF32, b));
  builder.output(builder.add("MatMul", {x, w}));
  const graph::Graph graph = *std::move(builder).finish();
  return describe_operator(graph, graph.nodes()[0]).geometry;
}

TEST(OperatorTable, TellsVectorsAsMatricesOfOneRowOrColumn) {
  EXPECT_EQ(geometry_of_product({4, 7}, {7, 3}), "matrix product, 4 × 3 from an inner extent of 7");
  EXPECT_EQ(geometry_of_product({7}, {7}), "matrix product, 1 × 1 from an inner extent of 7");
  EXPECT_EQ(geometry_of_product({4, 7}, {7}), "matrix product, 4 × 1 from an inner extent of 7");
  EXPECT_EQ(geometry_of_product({7}, {7, 3}), "matrix product, 1 × 3 from an inner extent of 7");
  EXPECT_EQ(geometry_of_product({2, 4, 7}, {7, 3}), "matrix product, 8 × 3 from an inner extent of 7");
}

}  // namespace
}  // namespace hone::lab

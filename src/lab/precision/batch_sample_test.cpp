// Which rows of a batch are computed, and that a model's rows over again give its results over again.
#include "lab/precision/batch_sample.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "graph/builder.h"
#include "graph/op_table.h"
#include "graph/text.h"
#include "lab/prepared.h"
#include "model/zoo/zoo.h"
#include "passes/pipeline.h"
#include "runtime/interpreter.h"

namespace hone::lab {
namespace {

using graph::Graph;

passes::PassContext context() { return {runtime::interpret_node, nullptr, {}}; }

Graph folded(const Graph& model) {
  passes::PipelineOptions fold;
  fold.only = {"fold_constants"};
  auto result = passes::run_pipeline(model, context(), fold);
  if (!result.ok()) throw std::logic_error(result.error().message);
  return std::move(result->graph);
}

Graph parsed(const std::string& body) {
  auto graph = graph::parse("graph \"g\" " + body);
  if (!graph.ok()) throw std::logic_error(graph.error().message);
  return *std::move(graph);
}

// The rows' outputs over again, and the batch's, whose inputs are the rows' over again.
struct Both {
  std::vector<Tensor> over_again, of_batch;
};

Both both_ways(const Graph& model, int64_t rows) {
  const Graph whole = folded(model);
  const auto sample = sample_batch(model, whole, rows, context());
  if (!sample.ok()) throw std::logic_error(sample.error().message);
  const auto few = make_inputs(sample->graph, 3);
  const auto outputs = runtime::interpret(sample->graph, few->tensors);
  const auto all = sample->spread(few->tensors, sample->inputs);
  return {*sample->spread(*outputs, sample->outputs), *runtime::interpret(whole, *all)};
}

void expect_same(const Both& both) {
  ASSERT_EQ(both.over_again.size(), both.of_batch.size());
  for (std::size_t i = 0; i < both.of_batch.size(); ++i)
    EXPECT_TRUE(same_tensor(both.over_again[i], both.of_batch[i])) << "output " << i;
}

// Exporters compute a view's extents from the batch; folding makes numbers of them.
constexpr const char* kShapesFromTheBatch =
    "(%x: f32[7,2,6]) { %s: i64[3] = Shape(%x) \"s\" %z: i64[1] = constant dense(0) "
    "%n: i64[1] = Gather(%s, %z) {axis = 0} \"n\" %m: i64[1] = constant dense(12) "
    "%to: i64[2] = Concat(%n, %m) {axis = 0} \"to\" %f: f32[7,12] = Reshape(%x, %to) \"f\" "
    "%y: f32[7,12] = Softmax(%f) {axis = 1} \"y\" return %y }";

TEST(BatchSample, GivesTheRowsOfTheBatch) {
  expect_same(both_ways(parsed("(%x: f32[7,4], %w: f32[4,3]) { %p: f32[7,3] = MatMul(%x, %w) \"p\" "
                               "%t: f32[3,7] = Transpose(%p) {perm = [1, 0]} \"t\" return %t, %p }"),
                        3));
  expect_same(both_ways(parsed(kShapesFromTheBatch), 2));
}

TEST(BatchSample, OfModelsOfTheZooGivesWhatTheBatchGives) {
  for (const char* name : {"mobilenet_v2", "minilm"}) {
    const int64_t size = std::string(name) == "minilm" ? 8 : 32;
    const auto model = model::build_zoo_model(name, {.batch = 5, .size = size});
    ASSERT_TRUE(model.ok()) << model.error().message;
    SCOPED_TRACE(name);
    expect_same(both_ways(*model, 2));
  }
}

TEST(BatchSample, PutsItsRowsWhereOnlyARightKernelFindsThem) {
  const auto sample =
      sample_batch(parsed("(%x: f32[64,4]) { %y: f32[64,4] = Relu(%x) \"r\" return %y }"),
                   parsed("(%x: f32[64,4]) { %y: f32[64,4] = Relu(%x) \"r\" return %y }"), 4, context());
  ASSERT_TRUE(sample.ok()) << sample.error().message;
  EXPECT_EQ(sample->text(), "4 of 64 rows");
  for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(sample->at[static_cast<std::size_t>(i)], i);
  EXPECT_EQ(std::set<int64_t>(sample->at.begin() + 4, sample->at.end()), (std::set<int64_t>{0, 1, 2, 3}));
  // Rows that are so many places apart are not the same ones.
  for (std::size_t apart = 1; apart < 32; ++apart) {
    int same = 0;
    for (std::size_t i = 0; i + apart < 64; ++i) same += sample->at[i] == sample->at[i + apart] ? 1 : 0;
    EXPECT_LT(same, static_cast<int>(64 - apart)) << apart;
  }
}

TEST(BatchSample, LeavesOutNoRowsWhereTheyDependOnEachOther) {
  const auto why = [](const std::string& body) {
    const Graph model = parsed(body);
    const auto sample = sample_batch(model, folded(model), 2, context());
    return sample.ok() ? std::string("taken apart") : sample.error().message;
  };
  EXPECT_TRUE(
      why("(%x: f32[6,4], %s: f32[4], %b: f32[4], %m: f32[4], %v: f32[4]) { %y: f32[6,4], %rm: f32[4], "
          "%rv: f32[4] = BatchNormalization(%x, %s, %b, %m, %v) {training_mode = 1} \"bn\" return %y }")
          .starts_with("node 'bn' (BatchNormalization) "));
  EXPECT_NE(why("(%x: f32[6,4]) { %y: f32[1,1] = ReduceMean(%x) \"loss\" return %y }").find("node 'loss'"),
            std::string::npos);
  // A view that has the batch's number in it, which a model of a fixed batch was exported with.
  const std::string fixed =
      why("(%x: f32[6,2,2]) { %to: i64[2] = constant dense(6, 4) %y: f32[6,4] = "
          "Reshape(%x, %to) \"v\" return %y }");
  EXPECT_NE(fixed.find("node 'v'"), std::string::npos) << fixed;
}

TEST(BatchSample, HasConstantsOfItsOwnForWhatPassesMadeOfTheBatch) {
  const Graph model = parsed(kShapesFromTheBatch), whole = folded(model);
  const auto sample = sample_batch(model, whole, 2, context());
  ASSERT_TRUE(sample.ok()) << sample.error().message;
  const auto few = make_inputs(sample->graph, 3);
  EXPECT_FALSE(runtime::interpret(whole, few->tensors).ok()) << "its view is of seven rows";
  const auto for_rows = sample->for_rows(whole);
  ASSERT_TRUE(for_rows.ok()) << for_rows.error().message;
  const auto outputs = runtime::interpret(*for_rows, few->tensors);
  ASSERT_TRUE(outputs.ok()) << outputs.error().message;
  EXPECT_TRUE(same_tensor((*outputs)[0], (*runtime::interpret(sample->graph, few->tensors))[0]));
}

TEST(BatchSample, LeavesOutRowsOnlyOfWhatTakesLong) {
  const Graph model =
      parsed("(%x: f32[32,64], %w: f32[64,64]) { %y: f32[32,64] = MatMul(%x, %w) \"p\" return %y }");
  double flops = 0;
  for (const graph::Node& node : model.nodes()) flops += graph::node_cost(model, node).flops;
  EXPECT_EQ(batch_of(model), 32);
  EXPECT_EQ(rows_to_compute(model, flops), 0) << "all of them";
  EXPECT_EQ(rows_to_compute(model, flops / 4), 8);
  EXPECT_EQ(rows_to_compute(model, flops / 1000), 2) << "never one alone";
  EXPECT_EQ(rows_to_compute(parsed("(%x: f32[2,64]) { %y: f32[2,64] = Relu(%x) \"r\" return %y }"), 1), 0);
}

}  // namespace
}  // namespace hone::lab

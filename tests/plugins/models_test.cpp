// Models with operators of plugins, read, folded and written: which version of an operator they get, and what passes may do.
#include <map>

#include "tests/cli/run_program.h"
#include "tests/cli/test_models.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/text.h"
#include "lab/prepared.h"
#include "lab/where_it_runs.h"
#include "model/onnx/reader.h"
#include "model/onnx/test_model.h"
#include "model/onnx/writer.h"
#include "passes/pipeline.h"
#include "plugin/testing/affine_plugin.h"
#include "runtime/execute.h"
#include "runtime/make_provider.h"

namespace hone::testing_support {
namespace {

using namespace model::testing;
using plugin::testing::AffinePlugin;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// x: f32[2,3] → test.Affine of a constant, of x, of x again → the sum of all.
std::string affine_model(int64_t version) {
  TestGraph graph;
  const std::vector<Proto> alpha = {attribute("alpha", 3.0F)};
  graph.initializers = {float_tensor("c", {2, 3}, {1, 2, 3, 4, 5, 6})};
  graph.nodes = {node("Affine", {"c"}, {"k"}, alpha, "of_constant", "test"),
                 node("Affine", {"x"}, {"a"}, alpha, "first", "test"),
                 node("Affine", {"x"}, {"b"}, alpha, "second", "test"),
                 node("Sum", {"k", "a", "b"}, {"y"}, {}, "sum")};
  graph.inputs = {value_info("x", {2, 3})};
  graph.outputs = {value_info("y", {2, 3})};
  Proto proto;
  proto.integer(1, 10).message(7, graph.to_proto()).message(8, opset_import("", 21));
  return proto.message(8, opset_import("test", version)).text();
}

int count_affine(const graph::Graph& graph) {
  int count = 0;
  for (const graph::Node& node : graph.nodes()) count += node.op == "test.Affine" ? 1 : 0;
  return count;
}

graph::Graph optimised_model(const AffinePlugin& plugin) {
  auto graph = model::read_onnx_bytes(affine_model(1), {.operators = *plugin.describe()});
  if (!graph.ok()) throw std::logic_error(graph.error().message);
  const auto provider = runtime::make_provider("cpu", {.threads = 1});
  auto optimised = lab::optimise(*std::move(graph), **provider, {});
  if (!optimised.ok()) throw std::logic_error(optimised.error().message);
  return *std::move(optimised);
}

TEST(PluginsInModels, AreComputedBeforehandAndMergedOnlyIfTheyArePure) {
  AffinePlugin plugin;
  EXPECT_EQ(count_affine(optimised_model(plugin)), 1) << graph::print(optimised_model(plugin));
  plugin.affine.flags = 0;
  EXPECT_EQ(count_affine(optimised_model(plugin)), 3) << graph::print(optimised_model(plugin));
}

TEST(PluginsInModels, GetTheNewestVersionThatTheModelImportsAndKeepItWhereTheyAreWritten) {
  AffinePlugin old_one, new_one;
  new_one.affine.since_version = 3;
  auto operators = *old_one.describe();
  operators.push_back((*new_one.describe())[0]);
  const TemporaryFolder folder;
  const auto version_in = [&](std::string_view bytes) {
    auto graph = model::read_onnx_bytes(bytes, {.operators = operators});
    EXPECT_TRUE(graph.ok()) << graph.error().message;
    return graph->nodes()[0].custom->since_version;
  };
  for (const auto& [imported, meant] : std::map<int64_t, int64_t>{{1, 1}, {2, 1}, {3, 3}, {9, 3}}) {
    const std::string bytes = affine_model(imported);
    EXPECT_EQ(version_in(bytes), meant) << imported;
    const Status written =
        model::write_onnx(*model::read_onnx_bytes(bytes, {.operators = operators}), folder / "m.onnx");
    ASSERT_TRUE(written.ok()) << written.error().message;
    EXPECT_EQ(version_in(read_text(folder / "m.onnx")), meant) << imported;
  }
}

TEST(PluginsInModels, WithoutAKernelAreSaidToRunNowhere) {
  AffinePlugin plugin;
  plugin.affine.reference = &plugin.rows;
  plugin.affine.cpu_kernel_count = 0;
  const graph::Graph graph = plugin::testing::affine_graph(plugin, 3, 4);
  const auto provider = runtime::make_provider("cpu", {.threads = 1});
  const lab::WhereItRuns where = lab::where_it_runs(graph, **provider);
  EXPECT_TRUE(where.reference.empty());
  EXPECT_THAT(
      lab::where_texts(where),
      ElementsAre(
          "1 of 1 operators cannot run on this device: test.Affine 'affine' (plugin affine 1.0 has no "
          "kernel for it)"));
}

// Branches are interpreted: by the operator's reference.
TEST(PluginsInModels, RunWithinBranches) {
  const AffinePlugin plugin;
  TestGraph then_branch, else_branch, graph;
  then_branch.nodes = {node("Affine", {"x"}, {"t"}, {attribute("alpha", 4.0F)}, "inner", "test")};
  then_branch.outputs = {value_info("t", {2, 3})};
  else_branch.nodes = {node("Neg", {"x"}, {"e"}, {}, "neg")};
  else_branch.outputs = {value_info("e", {2, 3})};
  graph.inputs = {value_info("x", {2, 3}), value_info("c", {}, 9)};
  graph.nodes = {node("If", {"c"}, {"y"},
                      {graph_attribute("then_branch", then_branch.to_proto()),
                       graph_attribute("else_branch", else_branch.to_proto())},
                      "branch")};
  graph.outputs = {value_info("y", {2, 3})};
  Proto proto;
  proto.integer(1, 10).message(7, graph.to_proto()).message(8, opset_import("", 21));
  const std::string bytes = proto.message(8, opset_import("test", 1)).text();
  const auto read = model::read_onnx_bytes(bytes, {.operators = *plugin.describe()});
  ASSERT_TRUE(read.ok()) << read.error().message;
  const auto provider = runtime::make_provider("cpu", {.threads = 1});
  Tensor yes(DType::kBool, {});
  *static_cast<uint8_t*>(yes.data()) = 1;
  const std::vector<Tensor> inputs = {Tensor::f32({2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6}), yes};
  const auto ran = runtime::execute(*read, **provider, inputs);
  ASSERT_TRUE(ran.ok()) << ran.error().message;
  EXPECT_EQ(ran->outputs[0].at(5), 24);
}

TEST(PluginsInModels, AreUnknownToModelsThatAreReadWithoutThem) {
  const AffinePlugin plugin;
  ASSERT_TRUE(model::read_onnx_bytes(affine_model(1), {.operators = *plugin.describe()}).ok());
  const auto without = model::read_onnx_bytes(affine_model(1));
  ASSERT_FALSE(without.ok());
  EXPECT_THAT(without.error().message, HasSubstr("unsupported: test.Affine (opset 1)"));
}

}  // namespace
}  // namespace hone::testing_support

// ONNX's own tests of the operators that can be spelled out, for a GPU that is not there: what the pipeline makes of each has kernels
// for all its nodes, and gives what ONNX expects. HONE_ONNX_TESTS names the folder of tests (onnx/backend/test/data/node of the onnx
// package, 1.22 or before; later ones make theirs): without it this is not run.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/specialise.h"
#include "graph/spelled_out/spelled_out.h"
#include "lab/experiment/target.h"
#include "model/conformance/cases.h"
#include "model/onnx/reader.h"
#include "passes/pipeline.h"
#include "runtime/execute.h"
#include "runtime/interpreter.h"
#include "runtime/testing/providers.h"

namespace hone::backends {
namespace {

// Inputs that are parameters: models have constants there, ONNX's tests have inputs.
const std::map<std::string, std::set<std::size_t>, std::less<>> kParameters = {
    {"AffineGrid", {1}}, {"CenterCropPad", {1}}, {"Col2Im", {1, 2}},
    {"DFT", {1, 2}},     {"MaxUnpool", {2}},     {"STFT", {1, 3}}};

// The only node of the graph that can be spelled out as a part of a model; null where there is none.
const graph::Node* tested_node(const graph::Graph& graph) {
  const graph::Node* found = nullptr;
  for (const graph::Node& node : graph.nodes())
    if (graph::spells_out(node) == graph::SpellOut::kWithKernels) found = &node;
  return found;
}

struct Known {
  graph::Graph graph;
  std::vector<Tensor> inputs;
};

Result<Known> with_parameters(const graph::Graph& graph, const std::vector<Tensor>& inputs) {
  const graph::Node& node = *tested_node(graph);
  std::vector<graph::InputFact> facts(graph.inputs().size());
  Known known;
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
    const auto row = kParameters.find(node.op);
    const bool parameter = row != kParameters.end() && std::ranges::any_of(row->second, [&](std::size_t k) {
                             return node.has_input(k) && node.inputs[k] == graph.inputs()[i];
                           });
    facts[i].type = graph::tensor_type(inputs[i].dtype(), inputs[i].shape());
    if (parameter)
      facts[i].constant = inputs[i];
    else
      known.inputs.push_back(inputs[i]);
  }
  HONE_ASSIGN(known.graph, graph::specialise(graph, facts));
  return known;
}

// As numpy.testing.assert_allclose.
void expect_close_to_onnx(const Tensor& got, const Tensor& want, const model::ConformanceCase& test) {
  ASSERT_EQ(got.dtype(), want.dtype());
  ASSERT_EQ(got.shape(), want.shape());
  for (int64_t i = 0; i < want.size(); ++i)
    ASSERT_LE(std::abs(got.at(i) - want.at(i)), test.atol + test.rtol * std::abs(want.at(i)))
        << "element " << i << " is " << got.at(i) << ", not " << want.at(i);
}

void expect_case_in_parts(const model::ConformanceCase& test, const graph::Graph& graph,
                          const runtime::Provider& provider) {
  const std::string op = tested_node(graph)->op;
  const auto data = model::load_conformance_data(test, 0, graph);
  ASSERT_TRUE(data.ok()) << data.error().message;
  const auto known = with_parameters(graph, data->inputs);
  ASSERT_TRUE(known.ok()) << known.error().message;
  const auto optimised = passes::run_pipeline(
      known->graph, passes::PassContext{runtime::interpret_node, nullptr, lab::pass_target(provider)});
  ASSERT_TRUE(optimised.ok()) << optimised.error().message;
  for (const graph::Node& node : optimised->graph.nodes()) {
    EXPECT_NE(node.op, op);
    EXPECT_TRUE(provider.runs(optimised->graph, node)) << node.op << " " << node.name;
  }
  runtime::PlanOptions options;
  options.autotune = false;
  const auto run = runtime::execute(optimised->graph, provider, known->inputs, options);
  ASSERT_TRUE(run.ok()) << run.error().message;
  for (std::size_t i = 0; i < data->outputs.size(); ++i)
    expect_close_to_onnx(run->outputs[i], data->outputs[i], test);
}

TEST(SpelledOutConformance, NothingOfOnnxsTestsIsLeftToTheHost) {
  const char* const folder = std::getenv("HONE_ONNX_TESTS");
  if (folder == nullptr) GTEST_SKIP() << "NOT RUN: HONE_ONNX_TESTS names no folder of ONNX's tests";
  const auto cases = model::find_conformance_cases(folder);
  ASSERT_TRUE(cases.ok()) << cases.error().message;
  std::map<std::string, int> tested;
  for (const char* const name : {runtime::testing::kCudaOnHost, "cpu"}) {
    const auto provider = runtime::testing::provider_named(name, 1);
    for (const model::ConformanceCase& test : *cases) {
      SCOPED_TRACE(test.name + " on " + name);
      const auto graph = model::read_onnx(test.model);
      if (!graph.ok() || tested_node(*graph) == nullptr) continue;
      if (tested_node(*graph)->op == "DeformConv" && provider->name() == "cpu")
        continue;  // without a GridSample
      ++tested[tested_node(*graph)->op];
      expect_case_in_parts(test, *graph, *provider);
    }
  }
  for (const char* const op : {"AffineGrid", "CausalConvWithState", "CenterCropPad", "Col2Im", "DFT",
                               "DeformConv", "Det", "Hardmax", "LRN", "LinearAttention", "LpNormalization",
                               "LpPool", "MaxUnpool", "MeanVarianceNormalization", "RotaryEmbedding", "STFT"})
    EXPECT_GT(tested[op], 0) << op;
}

}  // namespace
}  // namespace hone::backends

// Whole models through the whole road: those that PyTorch's exporters wrote (kept beside this file; see
// generate.py), and small variants of the zoo's. Judged by what PyTorch computed, and by the interpreter.
#include "model/zoo/models.h"

#include <cmath>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "tests/cli/run_program.h"
#include "tests/models/precisions.h"
#include <gmock/gmock.h>

#include "core/npy/npy.h"
#include "core/testing/source_folder.h"
#include "graph/group_kind.h"
#include "lab/conformance/conformance.h"
#include "lab/data/inputs.h"
#include "lab/experiment/target.h"
#include "lab/gate/numeric.h"
#include "lab/prepared.h"
#include "lab/where_it_runs.h"
#include "model/conformance/cases.h"
#include "model/onnx/reader.h"
#include "model/onnx/writer.h"
#include "passes/pipeline.h"
#include "runtime/execute.h"
#include "runtime/interpreter.h"
#include "runtime/testing/providers.h"

namespace hone {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

const fs::path kKept = source_folder() / "tests" / "models";

struct Run {
  graph::Graph graph;
  std::vector<Tensor> outputs;
  std::string how;
  bool planned = false;
};

// The graph as `hone lab` would run it: through the pipeline, then as a plan.
Result<Run> run_optimised(graph::Graph graph, std::span<const Tensor> inputs) {
  const auto provider = runtime::testing::cpu_provider();
  const passes::PassContext context{runtime::interpret_node, nullptr, lab::pass_target(*provider)};
  HONE_ASSIGN(passes::PipelineResult optimised, passes::run_pipeline(std::move(graph), context));
  for (const graph::Node& node : optimised.graph.nodes())
    EXPECT_TRUE(!graph::is_group(node) || provider->runs(optimised.graph, node))
        << "no kernel takes the group " << node.name;
  runtime::PlanOptions options;
  options.autotune = false;
  HONE_ASSIGN(runtime::Execution execution, runtime::execute(optimised.graph, *provider, inputs, options));
  return Run{std::move(optimised.graph), std::move(execution.outputs), execution.how, execution.planned};
}

void expect_same(std::span<const Tensor> outputs, std::span<const Tensor> expected, const std::string& what,
                 DType computed_in = DType::kF32) {
  ASSERT_EQ(outputs.size(), expected.size()) << what;
  std::vector<lab::ComparedOutput> compared;
  for (std::size_t i = 0; i < expected.size(); ++i)
    compared.push_back({"output " + std::to_string(i), outputs[i], expected[i]});
  const lab::NumericReport report = lab::compare_outputs(compared, {.computed_in = computed_in, .own = {}});
  EXPECT_TRUE(report.passed) << what << ": " << report.detail;
}

TEST(ExportedModels, ComputeWhatPyTorchComputed) {
  const auto provider = runtime::testing::cpu_provider();
  const auto report = lab::run_conformance(kKept, *provider);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->tests.size(), 10u);
  for (const lab::ConformanceTest& test : report->tests)
    EXPECT_EQ(test.status, lab::ConformanceStatus::kPassed) << test.name << ": " << test.detail;
}

// With their extents bound, every shape chain that the exporters left must fold away: a plan needs all
// shapes.
TEST(ExportedModels, BecomePlansOnceTheirExtentsAreBound) {
  const auto cases = model::find_conformance_cases(kKept);
  ASSERT_TRUE(cases.ok()) << cases.error().message;
  for (const model::ConformanceCase& test : *cases) {
    for (std::size_t set = 0; set < test.data_sets.size(); ++set) {
      const std::string what = test.name + ", " + test.data_sets[set].filename().string();
      const auto open = model::read_onnx(test.model);
      ASSERT_TRUE(open.ok()) << open.error().message;
      const auto data = model::load_conformance_data(test, set, *open);
      ASSERT_TRUE(data.ok()) << data.error().message;
      model::ReadOptions bound;
      for (std::size_t i = 0; i < data->inputs.size(); ++i)
        bound.input_shapes[open->value(open->inputs()[i]).name] = data->inputs[i].shape();
      const auto run = run_optimised(*model::read_onnx(test.model, bound), data->inputs);
      ASSERT_TRUE(run.ok()) << what << ": " << run.error().message;
      EXPECT_TRUE(run->planned) << what << ": " << run->how;
      expect_same(run->outputs, data->outputs, what);
    }
  }
}

// The operators of a graph that the CPU has no kernel for.
std::string reference_operators(const graph::Graph& graph) {
  return lab::reference_text(lab::where_it_runs(graph, *runtime::testing::cpu_provider(1)));
}

struct ZooCase {
  const char* name;
  std::function<Result<model::zoo::Built>(const model::zoo::Common&)> build;
};
void PrintTo(const ZooCase& test, std::ostream* out) { *out << test.name; }

class ZooModels : public ::testing::TestWithParam<ZooCase> {};

std::vector<Tensor> synthetic_inputs(const graph::Graph& graph) {
  std::vector<Tensor> inputs;
  for (const graph::ValueId id : graph.inputs()) {
    const graph::Value& value = graph.value(id);
    inputs.push_back(*lab::synthesise_input({value.name, value.type.dtype, value.type.shape(), 40}, 1));
  }
  return inputs;
}

bool is_convolution(const graph::Node& node) {
  return graph::is_group(node, graph::GroupKind::kConvolution) ||
         graph::product_kind(node) == graph::GroupKind::kConvolution;
}

// The convolutions that are not in the layout that the CPU prefers: the models' tests would compare nothing but
// plain layouts if they all stayed plain. An image of a few channels is read as it is.
std::string plain_convolutions(const graph::Graph& graph) {
  std::string names;
  for (const graph::Node& node : graph.nodes()) {
    if (!is_convolution(node) || graph.type(node.inputs[0]).shape()[1] <= 4) continue;
    if (graph.type(node.inputs[0]).layout == Layout::kPlain) names += node.name + " ";
  }
  return names;
}

TEST_P(ZooModels, PlansAgreeWithTheInterpreter) {
  const auto built = GetParam().build({.seed = 3, .batch = 2});
  ASSERT_TRUE(built.ok()) << built.error().message;
  const std::vector<Tensor> inputs = synthetic_inputs(built->graph);
  const auto expected = runtime::interpret(built->graph, inputs);
  ASSERT_TRUE(expected.ok()) << expected.error().message;
  const auto run = run_optimised(built->graph, inputs);
  ASSERT_TRUE(run.ok()) << run.error().message;
  EXPECT_TRUE(run->planned) << run->how;
  EXPECT_EQ(plain_convolutions(run->graph), "");
  expect_same(run->outputs, *expected, GetParam().name);
}

bool has_convolutions(const graph::Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(),
                     [](const graph::Node& node) { return node.op == "Conv"; });
}

// Nothing of a half-precision model is left to the reference, and its numbers are those of its mathematics.
TEST_P(ZooModels, HalfPrecisionRunsOnFastKernels) {
  const auto built = GetParam().build({.seed = 3, .batch = 1});
  ASSERT_TRUE(built.ok()) << built.error().message;
  for (const DType half : {DType::kF16, DType::kBF16}) {
    const graph::Graph graph = testing_support::in_half(built->graph, half);
    const std::vector<Tensor> inputs = synthetic_inputs(graph);
    const auto precise = lab::in_higher_precision(graph);
    ASSERT_TRUE(precise.ok()) << precise.error().message;
    const auto expected = runtime::interpret(*precise, inputs);
    ASSERT_TRUE(expected.ok()) << expected.error().message;
    const auto run = run_optimised(graph, inputs);
    ASSERT_TRUE(run.ok()) << run.error().message;
    EXPECT_TRUE(run->planned) << run->how;
    EXPECT_EQ(lab::coarsest_arithmetic(graph), half);
    expect_same(run->outputs, *expected, GetParam().name, half);
    EXPECT_EQ(reference_operators(run->graph), "");
  }
}

// A quantised model's rounding is part of what it means, and costs no kernel on the reference.
TEST_P(ZooModels, QuantisedModelsRunOnFastKernels) {
  const auto built = GetParam().build({.seed = 3, .batch = 1});
  ASSERT_TRUE(built.ok()) << built.error().message;
  if (!has_convolutions(built->graph)) return;
  const std::vector<Tensor> inputs = synthetic_inputs(built->graph);
  const graph::Graph graph = testing_support::quantised(built->graph, inputs);
  const auto expected = runtime::interpret(graph, inputs);
  ASSERT_TRUE(expected.ok()) << expected.error().message;
  const auto run = run_optimised(graph, inputs);
  ASSERT_TRUE(run.ok()) << run.error().message;
  EXPECT_TRUE(run->planned) << run->how;
  expect_same(run->outputs, *expected, GetParam().name, lab::coarsest_arithmetic(graph));
  EXPECT_EQ(reference_operators(run->graph), "");
}

// A different batch through the file: the symbol survives writing, and reading binds it.
TEST_P(ZooModels, RunAtAnyBatchFromTheirFile) {
  const testing_support::TemporaryFolder folder;
  const auto built = GetParam().build({.seed = 3});
  ASSERT_TRUE(built.ok()) << built.error().message;
  ASSERT_TRUE(model::write_onnx(built->graph, folder / "model.onnx").ok());
  const auto read = model::read_onnx(folder / "model.onnx", {.symbols = {{"batch", 3}}});
  ASSERT_TRUE(read.ok()) << read.error().message;
  const std::vector<Tensor> inputs = synthetic_inputs(*read);
  const auto expected = runtime::interpret(*read, inputs);
  ASSERT_TRUE(expected.ok()) << expected.error().message;
  const auto run = run_optimised(*read, inputs);
  ASSERT_TRUE(run.ok()) << run.error().message;
  EXPECT_TRUE(run->planned) << run->how;
  expect_same(run->outputs, *expected, GetParam().name);
}

TEST_P(ZooModels, KeepActivationsOfTheOrderOfOne) {
  const auto built = GetParam().build({.seed = 5, .batch = 1});
  ASSERT_TRUE(built.ok()) << built.error().message;
  const auto outputs = runtime::interpret(built->graph, synthetic_inputs(built->graph));
  ASSERT_TRUE(outputs.ok()) << outputs.error().message;
  for (const Tensor& output : *outputs) {
    double squares = 0;
    for (const float x : output.as<float>()) squares += static_cast<double>(x) * static_cast<double>(x);
    const double size = std::sqrt(squares / static_cast<double>(output.size()));
    EXPECT_GT(size, 1e-3);
    EXPECT_LT(size, 1e3);
  }
}

// A detector up to the boxes and scores that its suppression reads: which of two boxes with nearly equal scores
// stays is no matter of tolerance.
graph::Graph before_suppression(const graph::Graph& graph) {
  const auto& nodes = graph.nodes();
  const auto suppression = std::find_if(
      nodes.begin(), nodes.end(), [](const graph::Node& node) { return node.op == "NonMaxSuppression"; });
  graph::GraphBuilder builder(graph);
  builder.set_outputs({suppression->inputs[0], suppression->inputs[1]});
  return *std::move(builder).finish();
}

using model::zoo::Common;
INSTANTIATE_TEST_SUITE_P(
    Small, ZooModels,
    ::testing::Values(
        ZooCase{
            "unet",
            [](const Common& c) { return model::zoo::build_unet(c, {.size = 32, .base = 4, .levels = 2}); }},
        ZooCase{
            "resnet",
            [](const Common& c) {
              return model::zoo::build_resnet(c, {.size = 40, .base = 8, .blocks = {1, 2, 1}, .classes = 11});
            }},
        ZooCase{"mobilenet_v2",
                [](const Common& c) {
                  return model::zoo::build_mobilenet_v2(c, {.size = 36, .stages = 3, .classes = 11});
                }},
        ZooCase{"ssdlite",
                [](const Common& c) -> Result<model::zoo::Built> {
                  HONE_ASSIGN(
                      model::zoo::Built built,
                      model::zoo::build_ssdlite(c, {.size = 64, .stages = 3, .extra = 1, .classes = 5}));
                  built.graph = before_suppression(built.graph);
                  return built;
                }},
        ZooCase{"bert",
                [](const Common& c) {
                  return model::zoo::build_bert(c, "bert",
                                                {.length = 9,
                                                 .layers = 2,
                                                 .hidden = 24,
                                                 .heads = 3,
                                                 .intermediate = 40,
                                                 .vocabulary = 50,
                                                 .positions = 16});
                }},
        ZooCase{"minilm",
                [](const Common& c) {
                  model::zoo::BertSizes sizes = model::zoo::minilm_sizes();
                  sizes.length = 7;
                  sizes.layers = 1;
                  sizes.vocabulary = 50;
                  return model::zoo::build_bert(c, "minilm", sizes);
                }},
        ZooCase{"bert_mlm",
                [](const Common& c) {
                  return model::zoo::build_bert_mlm(c, {.length = 9,
                                                        .layers = 2,
                                                        .hidden = 24,
                                                        .heads = 3,
                                                        .intermediate = 40,
                                                        .vocabulary = 50,
                                                        .positions = 16,
                                                        .spelled_layer_norm = false});
                }},
        ZooCase{
            "gpt2",
            [](const Common& c) {
              return model::zoo::build_gpt2(
                  c, {.length = 9, .layers = 2, .hidden = 24, .heads = 3, .vocabulary = 50, .positions = 16});
            }},
        ZooCase{"vit",
                [](const Common& c) {
                  return model::zoo::build_vit(c, {.size = 32,
                                                   .patch = 8,
                                                   .layers = 2,
                                                   .hidden = 24,
                                                   .heads = 3,
                                                   .intermediate = 40,
                                                   .classes = 11});
                }}),
    [](const auto& test) { return test.param.name; });

TEST(RunCommand, PlansAModelWhoseShapesTheDataSettle) {
  const testing_support::TemporaryFolder folder;
  const auto cases = model::find_conformance_cases(kKept / "torchscript" / "bert");
  ASSERT_TRUE(cases.ok()) << cases.error().message;
  const model::ConformanceCase& test = cases->front();
  const auto graph = model::read_onnx(test.model);
  const auto data = model::load_conformance_data(test, 0, *graph);
  ASSERT_TRUE(data.ok()) << data.error().message;
  std::vector<std::string> arguments = {"run", test.model.string(), "--out", (folder / "out").string()};
  for (std::size_t i = 0; i < data->inputs.size(); ++i) {
    const std::string name = graph->value(graph->inputs()[i]).name;
    ASSERT_TRUE(write_npy(folder / (name + ".npy"), data->inputs[i]).ok());
    arguments.insert(arguments.end(), {"--input", name + "=" + (folder / (name + ".npy")).string()});
  }
  const auto result = testing_support::run_hone(arguments);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("plan of"));
  const std::string output = graph->value(graph->outputs()[0]).name;
  const auto written = read_npy(folder.path() / "out" / (output + ".npy"));
  ASSERT_TRUE(written.ok()) << written.error().message;
  expect_same(std::span(&*written, 1), data->outputs, "hone run");
}

TEST(ZooCommand, WritesAModelThatReadsBack) {
  const testing_support::TemporaryFolder folder;
  const std::string path = (folder / "m.onnx").string();
  const auto result = testing_support::run_hone({"zoo", "mobilenet_v2", "-o", path, "--size", "64"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const auto graph = model::read_onnx(path);
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_EQ(graph->type(graph->inputs()[0]).text(), "f32[batch,3,64,64]");
}

TEST(ZooCommand, ListsItsModels) {
  const auto result = testing_support::run_hone({"zoo", "--list"});
  EXPECT_EQ(result.exit_code, 0);
  for (const char* name :
       {"unet", "resnet50", "mobilenet_v2", "ssdlite", "bert_base", "minilm", "bert_mlm", "gpt2", "vit"})
    EXPECT_THAT(result.out, HasSubstr(name));
}

TEST(ZooCommand, SaysInOneLineWhatIsWrong) {
  using testing_support::is_one_line_error;
  using testing_support::run_hone;
  const testing_support::TemporaryFolder folder;
  const std::string path = (folder / "m.onnx").string();
  EXPECT_TRUE(is_one_line_error(run_hone({"zoo", "alexnet", "-o", path}), {"alexnet", "unet"}));
  EXPECT_TRUE(is_one_line_error(run_hone({"zoo", "unet", "-o", path, "--size", "250"}), {"multiple of 16"}));
  EXPECT_TRUE(is_one_line_error(run_hone({"zoo", "gpt2", "-o", path, "--size", "2000"}), {"2000", "1024"}));
  EXPECT_TRUE(is_one_line_error(run_hone({"zoo", "unet"}), {"-o"}));
  EXPECT_TRUE(is_one_line_error(run_hone({"zoo"}), {"--list"}));
  EXPECT_TRUE(is_one_line_error(run_hone({"zoo", "unet", "-o", path, "--batch", "-1"}), {"--batch"}));
  EXPECT_TRUE(is_one_line_error(
      run_hone({"zoo", "mobilenet_v2", "-o", (folder / "none" / "m.onnx").string()}), {"none"}));
  EXPECT_TRUE(folder.names().empty());
}

}  // namespace
}  // namespace hone

// Operators of plugins as steps of plans: on the CPU, on a device whose memory is behind a wall, and on CUDA, whose kernels
// the host runs where there is no GPU.
#include <limits>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/builder.h"
#include "plugin/testing/affine_plugin.h"
#include "runtime/execute.h"
#include "runtime/interpreter.h"
#include "runtime/plan.h"
#include "runtime/plugin_reference.h"
#include "runtime/testing/providers.h"
#include "runtime/timing_cache.h"

namespace hone::runtime {
namespace {

using plugin::testing::affine_graph;
using plugin::testing::AffinePlugin;
using plugin::testing::try_custom;
using ::testing::AllOf;
using ::testing::HasSubstr;

Tensor affine_values(Shape shape, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Tensor values(DType::kF32, std::move(shape));
  for (float& x : values.as<float>()) x = normal(random);
  return values;
}

// y by its formula; `bias` may be undefined.
std::vector<float> affine_of(const Tensor& x, const Tensor& bias, float alpha) {
  std::vector<float> y;
  for (int64_t i = 0; i < x.size(); ++i)
    y.push_back(alpha * x.as<float>()[static_cast<std::size_t>(i)] +
                (bias.defined() ? bias.as<float>()[static_cast<std::size_t>(i % x.shape()[1])] : 0));
  return y;
}

std::vector<float> floats_of(const Tensor& tensor) {
  return {tensor.as<float>().begin(), tensor.as<float>().end()};
}

std::string error_of_compile(const graph::Graph& graph, const Provider& provider) {
  auto plan = Plan::compile(graph, provider, {.autotune = false});
  return plan.ok() ? "" : plan.error().message;
}

class PluginKernels : public ::testing::TestWithParam<const char*> {
 protected:
  const std::shared_ptr<const Provider> provider_ = testing::provider_named(GetParam(), 2);
  AffinePlugin plugin_;
};

TEST_P(PluginKernels, GiveWhatTheOperatorMeans) {
  for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{1, 1}, {7, 33}, {129, 65}, {64, 64}}) {
    for (const bool with_bias : {true, false}) {
      const graph::Graph graph = affine_graph(plugin_, rows, columns, with_bias, -1.25F);
      auto plan = Plan::compile(graph, *provider_);
      ASSERT_TRUE(plan.ok()) << plan.error().message;
      EXPECT_FALSE((*plan)->steps()[0].reference);
      EXPECT_THAT((*plan)->steps()[0].implementation,
                  HasSubstr(provider_->name() == "null" ? "reference" : "plugin affine 1.0: "));
      for (unsigned run = 0; run < 2; ++run) {
        std::vector<Tensor> inputs = {affine_values({rows, columns}, run)};
        if (with_bias) inputs.push_back(affine_values({columns}, run + 7));
        const auto found = (*plan)->run(inputs);
        ASSERT_TRUE(found.ok()) << found.error().message;
        EXPECT_EQ(floats_of((*found)[0]), affine_of(inputs[0], with_bias ? inputs[1] : Tensor(), -1.25F))
            << rows << " " << columns;
      }
    }
  }
}

TEST_P(PluginKernels, ReportErrorsInTheDataWithTheNode) {
  plugin_.affine.cpu_kernel_count = 1;  // one that looks at its data
  plugin_.cpu[0] = &plugin_.plain;
  const graph::Graph graph = affine_graph(plugin_, 4, 5);
  auto plan = Plan::compile(graph, *provider_);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  std::vector<Tensor> inputs = {affine_values({4, 5}, 1), affine_values({5}, 2)};
  EXPECT_TRUE((*plan)->run(inputs).ok());
  inputs[0].as<float>()[13] = 1e9F;
  const auto failed = (*plan)->run(inputs);
  ASSERT_FALSE(failed.ok());
  EXPECT_THAT(failed.error().message,
              AllOf(HasSubstr("'affine'"),
                    HasSubstr(provider_->name() == "cuda" ? "x is too large" : "x[13] is 1e+09")));
  inputs[0].as<float>()[13] = 1;
  EXPECT_TRUE((*plan)->run(inputs).ok());
}

INSTANTIATE_TEST_SUITE_P(All, PluginKernels, ::testing::Values("cpu", "null", testing::kCudaOnHost),
                         [](const auto& test) { return std::string(test.param); });
INSTANTIATE_TEST_SUITE_P(Gpu, PluginKernels, ::testing::ValuesIn(testing::gpu_providers()),
                         [](const auto& test) { return std::string(test.param); });

TEST(PluginsOnTheCpu, AreMeasuredAgainstEachOtherAndRememberedByTheLibrary) {
  const AffinePlugin plugin;
  const auto provider = testing::cpu_provider(2);
  TimingCache cache;
  const graph::Graph graph = affine_graph(plugin, 30, 40);
  auto plan = Plan::compile(graph, *provider, {.cache = &cache});
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_THAT((*plan)->steps()[0].choice, HasSubstr("fastest of 2"));
  EXPECT_EQ(cache.size(), 1U);
  plan = Plan::compile(graph, *provider, {.cache = &cache});
  EXPECT_THAT((*plan)->steps()[0].choice, HasSubstr("remembered"));

  // A library of other bytes has other kernels, whatever it calls them.
  graph::Node rebuilt = graph.nodes()[0];
  rebuilt.custom = (*plugin.describe("built again"))[0];
  EXPECT_NE(node_signature(graph, rebuilt), node_signature(graph, graph.nodes()[0]));
}

TEST(PluginsOnTheCpu, GetTheirThreadsAndScratchAndNoNodesThatTheyRefuse) {
  const AffinePlugin plugin;
  const auto provider = testing::cpu_provider(2);
  auto plan = Plan::compile(affine_graph(plugin, 50, 100), *provider);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ((*plan)->steps()[0].choice, "only candidate") << "the other takes 64 columns at most";
  EXPECT_EQ((*plan)->steps()[0].scratch_bytes, 2U * 100 * 4);
  ASSERT_TRUE((*plan)->run().ok());
  EXPECT_EQ(AffinePlugin::seen().threads, 2);
}

TEST(PluginsOnTheCpu, GetNoScratchThatNoMachineHas) {
  AffinePlugin plugin;
  plugin.rows.scratch_bytes = [](const hone_node*, int32_t) {
    return std::numeric_limits<std::size_t>::max();
  };
  EXPECT_THAT(
      error_of_compile(affine_graph(plugin, 3, 65), *testing::cpu_provider()),
      AllOf(HasSubstr("plugin affine 1.0"), HasSubstr("asks for 18446744073709551615 bytes of scratch")));
}

TEST(PluginsWithoutAKernel, AreUnsupportedAndNeverTheReference) {
  AffinePlugin plugin;
  plugin.affine.cpu_kernel_count = 1;
  plugin.cpu[0] = &plugin.plain;
  EXPECT_THAT(error_of_compile(affine_graph(plugin, 3, 65), *testing::cpu_provider()),
              AllOf(HasSubstr("node 'affine' (test.Affine)"), HasSubstr("unsupported: test.Affine"),
                    HasSubstr("plugin affine 1.0 (libaffine.so)"), HasSubstr("device cpu"),
                    HasSubstr("'plain' does not take it: more than 64 columns")));
  plugin.affine.cuda_kernel_count = 0;
  EXPECT_THAT(error_of_compile(affine_graph(plugin, 3, 5), *testing::provider_named(testing::kCudaOnHost)),
              AllOf(HasSubstr("unsupported: test.Affine: plugin affine 1.0"), HasSubstr("for device cuda")));
  // A reference alone is nothing to run by.
  AffinePlugin only;
  only.affine.reference = &only.plain;
  only.affine.cpu_kernel_count = 0;
  EXPECT_THAT(error_of_compile(affine_graph(only, 3, 5), *testing::cpu_provider()),
              HasSubstr("no kernel for device cpu"));
}

TEST(PluginsWithoutAGpusCompiler, SayThatTheirKernelsCannotBeCompiled) {
  const AffinePlugin plugin;
  EXPECT_THAT(
      error_of_compile(affine_graph(plugin, 3, 5), *testing::provider_named(testing::kCudaWithoutGpu)),
      HasSubstr("there is no NVRTC"));
}

// What plan() of a plugin gives is refused with, on CUDA.
std::string refused_plan(int (*plan)(const hone_node*, const hone_gpu*, hone_cuda_plan*, hone_error*)) {
  AffinePlugin plugin;
  plugin.gpu.plan = plan;
  return error_of_compile(affine_graph(plugin, 3, 5), *testing::provider_named(testing::kCudaOnHost));
}

using Plan_ = hone_cuda_plan*;

TEST(PluginsOnCuda, ArePlannedOnlyAsCudaCanLaunch) {
  using N = const hone_node*;
  using G = const hone_gpu*;
  using E = hone_error*;
  EXPECT_THAT(refused_plan([](N, G, Plan_, E) { return 0; }), HasSubstr("launches 0 kernels"));
  EXPECT_THAT(refused_plan([](N, G, Plan_ plan, E) {
                for (int i = 0; i < 12; ++i) hone_add_launch(plan, "affine_add", 1, 1);
                return 0;
              }),
              HasSubstr("launches 12 kernels"));
  EXPECT_THAT(refused_plan([](N, G, Plan_, E error) { return hone_fail(error, "no plan"); }),
              AllOf(HasSubstr("plugin affine 1.0: two launches"), HasSubstr("no plan")));
  EXPECT_THAT(refused_plan([](N, G, Plan_ plan, E) {
                hone_add_launch(plan, "affine_add", 0, 1);
                return 0;
              }),
              HasSubstr("0 blocks along axis 0"));
  EXPECT_THAT(refused_plan([](N, G, Plan_ plan, E) {
                hone_add_launch(plan, "affine_add", 1, 64)->block[1] = 32;
                return 0;
              }),
              HasSubstr("blocks of 64 × 32 × 1 threads"));
  EXPECT_THAT(refused_plan([](N, G, Plan_ plan, E) {
                hone_add_launch(plan, "affine_add", 1, 64)->block[2] = 0;
                return 0;
              }),
              HasSubstr("64 × 1 × 0 threads"));
  EXPECT_THAT(refused_plan([](N, G, Plan_ plan, E) {
                hone_add_launch(plan, "affine_add", 1, 64)->shared_bytes = 1 << 20;
                return 0;
              }),
              HasSubstr("shared memory"));
  EXPECT_THAT(refused_plan([](N, G, Plan_ plan, E) {
                hone_add_launch(plan, nullptr, 1, 64);
                return 0;
              }),
              HasSubstr("names no entry"));
  EXPECT_THAT(refused_plan([](N, G, Plan_ plan, E) {
                hone_input_argument(hone_add_launch(plan, "affine_add", 1, 64), 2);
                return 0;
              }),
              AllOf(HasSubstr("launch 0: argument 0"), HasSubstr("input 2, which the node does not have")));
  EXPECT_THAT(refused_plan([](N, G, Plan_ plan, E) {
                hone_output_argument(hone_add_launch(plan, "affine_add", 1, 64), -1);
                return 0;
              }),
              HasSubstr("output -1"));
  EXPECT_THAT(refused_plan([](N, G, Plan_ plan, E) {
                hone_add_argument(hone_add_launch(plan, "affine_add", 1, 64), HONE_ARGUMENT_SCRATCH, 0, 0, 0);
                return 0;
              }),
              HasSubstr("byte 0 of 0 bytes of scratch"));
  EXPECT_THAT(refused_plan([](N, G, Plan_ plan, E) {
                hone_add_argument(hone_add_launch(plan, "affine_add", 1, 64), 77, 0, 0, 0);
                return 0;
              }),
              HasSubstr("kind 77"));
  EXPECT_THAT(refused_plan([](N, G, Plan_ plan, E) {
                hone_launch* const launch = hone_add_launch(plan, "affine_add", 1, 64);
                for (int i = 0; i < 40; ++i) hone_integer_argument(launch, i);
                return 0;
              }),
              HasSubstr("40 arguments"));
  EXPECT_THAT(refused_plan([](N, G, Plan_ plan, E) {
                for (int i = 0; i < 20; ++i) hone_add_define(plan, "A", i);
                hone_add_launch(plan, "affine_add", 1, 64);
                return 0;
              }),
              HasSubstr("20 defines"));
}

TEST(PluginsOnCuda, SayWhatTheCompilerSays) {
  AffinePlugin plugin;
  plugin.gpu.source = "extern \"C\" __global__ void affine_scale() { no_such_thing(); }";
  EXPECT_THAT(error_of_compile(affine_graph(plugin, 3, 5), *testing::provider_named(testing::kCudaOnHost)),
              AllOf(HasSubstr("test.Affine (plugin affine 1.0)"), HasSubstr("no_such_thing")));
}

TEST(PluginsReference, IsTheOneItBringsOrElseItsCpuKernelAndThatIsSaid) {
  AffinePlugin plugin;
  const graph::Graph graph = affine_graph(plugin, 3, 4);
  EXPECT_THAT(plugin_notes(graph).without_references,
              ::testing::ElementsAre(AllOf(HasSubstr("test.Affine has no reference kernel"),
                                           HasSubstr("plugin affine 1.0 (libaffine.so)"))));
  EXPECT_THAT(plugin_notes(graph).origins,
              ::testing::ElementsAre(HasSubstr("test.Affine is of plugin affine 1.0 ")));
  hone_cpu_kernel zero = {"zero", nullptr, nullptr,
                          [](const hone_node* node, const hone_cpu_call*, hone_error*) {
                            auto* const y = static_cast<float*>(node->outputs[0]->data);
                            for (int64_t i = 0; i < hone_count(node->outputs[0]); ++i) y[i] = 0;
                            return 0;
                          }};
  plugin.affine.reference = &zero;
  const graph::Graph with_reference = affine_graph(plugin, 3, 4);
  EXPECT_THAT(plugin_notes(with_reference).without_references, ::testing::IsEmpty());
  const std::vector<Tensor> inputs = {affine_values({3, 4}, 1), affine_values({4}, 2)};
  EXPECT_EQ(floats_of((*interpret(with_reference, inputs))[0]), std::vector<float>(12, 0.0F));
  plugin.affine.reference = nullptr;
  EXPECT_EQ(floats_of((*interpret(affine_graph(plugin, 3, 4), inputs))[0]),
            affine_of(inputs[0], inputs[1], 2.5F));
}

// y: as many zeros as the number that n holds.
int infer_zeros(const hone_node* node, hone_tensor_type* outputs, hone_error*) {
  outputs[0] = {.dtype = HONE_F32, .rank = 1, .shape = {-1}};
  if (node->inputs[0]->data != nullptr)
    outputs[0].shape[0] = *static_cast<const int64_t*>(node->inputs[0]->data);
  return 0;
}

TEST(PluginsWithShapesThatDependOnData, RunOnTheHost) {
  AffinePlugin plugin;
  plugin.affine.infer = infer_zeros;
  plugin.affine.cost = nullptr;
  plugin.affine.cpu_kernel_count = 1;
  plugin.rows.scratch_bytes = nullptr;
  plugin.rows.run = [](const hone_node* node, const hone_cpu_call*, hone_error*) {
    auto* const y = static_cast<float*>(node->outputs[0]->data);
    for (int64_t i = 0; i < hone_count(node->outputs[0]); ++i) y[i] = 3;
    return 0;
  };
  graph::GraphBuilder builder("zeros");
  builder.output(*try_custom(builder, plugin.described(),
                             {builder.input("n", graph::tensor_type(DType::kI64, Shape{}))}));
  const graph::Graph graph = *std::move(builder).finish();
  const std::vector<Tensor> five = {Tensor::scalar_i64(5)};
  const auto ran = execute(graph, *testing::cpu_provider(), five);
  ASSERT_TRUE(ran.ok()) << ran.error().message;
  EXPECT_EQ(floats_of(ran->outputs[0]), std::vector<float>(5, 3.0F));
  EXPECT_THAT(ran->how, HasSubstr("on the host"));
  const auto negative = execute(graph, *testing::cpu_provider(), std::vector<Tensor>{Tensor::scalar_i64(-4)});
  ASSERT_FALSE(negative.ok());
  EXPECT_THAT(negative.error().message, AllOf(HasSubstr("'affine'"), HasSubstr("extent -4 is negative")));
}

}  // namespace
}  // namespace hone::runtime

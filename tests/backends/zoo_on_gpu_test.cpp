// The models of the zoo on the CUDA provider, without a GPU: which operators it has kernels for, and a whole model by
// kernels that the host runs thread by thread.
#include <algorithm>
#include <memory>
#include <set>

#include "cuda/testing/described_gpus.h"
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/group_kind.h"
#include "lab/experiment/target.h"
#include "lab/prepared.h"
#include "model/zoo/zoo.h"
#include "passes/pipeline.h"
#include "runtime/interpreter.h"
#include "runtime/plan.h"
#include "runtime/testing/providers.h"
#include "runtime/timing_cache.h"

namespace hone {
namespace {

using ::testing::IsEmpty;

class ZooOnGpu : public ::testing::TestWithParam<const char*> {};

// As optimised for it.
TEST_P(ZooOnGpu, NeedsNoReference) {
  const auto provider = runtime::testing::provider_named(runtime::testing::kCudaOnHost);
  auto graph = model::build_zoo_model(GetParam(), {.batch = 1});
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  const auto optimised = lab::optimise(*std::move(graph), *provider, {});
  ASSERT_TRUE(optimised.ok()) << optimised.error().message;
  std::set<std::string> without;
  for (const graph::Node& node : optimised->nodes()) {
    if (provider->runs(*optimised, node)) continue;
    std::string types;
    for (const graph::ValueId input : node.inputs) {
      if (input.valid()) types += " " + optimised->type(input).text();
    }
    without.insert(node.op + types);
  }
  EXPECT_THAT(without, IsEmpty());
}

// Null where NVIDIA's cuDNN is not installed.
std::unique_ptr<const runtime::CudaProvider> provider_with_nvidias_cudnn() {
  const auto cudnn = cuda::testing::real_cudnn_for(cuda::testing::kH100);
  if (cudnn == nullptr) return nullptr;
  const cuda::ContextPointer context = cuda::testing::fake_context();
  runtime::cuda_kernels::GpuKernels kernels{.device = std::make_shared<runtime::CudaDevice>(context),
                                            .cache = cuda::testing::kernels_of_the_host(),
                                            .products = cuda::testing::fake_products(context)};
  kernels.cudnn = std::make_shared<runtime::JudgedGraphs>(cudnn);
  return std::make_unique<const runtime::CudaProvider>(std::move(kernels));
}

// The same by NVIDIA's cuDNN, where it is installed, for an H100 that is described to it: it judges what we make of each
// convolution, without a GPU.
TEST_P(ZooOnGpu, HasKernelsOfNvidiasForItsConvolutions) {
  const auto provider = provider_with_nvidias_cudnn();
  if (provider == nullptr) return;
  const auto optimised = lab::optimise(*model::build_zoo_model(GetParam(), {.batch = 1}), *provider, {});
  ASSERT_TRUE(optimised.ok()) << optimised.error().message;
  int fused = 0;
  for (const graph::Node& node : optimised->nodes()) {
    const bool group = graph::is_group(node, graph::GroupKind::kConvolution);
    fused += group ? 1 : 0;
    const bool convolves = group || node.op == "Conv" || node.op == "ConvTranspose";
    EXPECT_TRUE(!convolves || provider->runs(*optimised, node)) << node.name;
  }
  EXPECT_GE(fused, std::string(GetParam()) == "resnet50" ? 40 : 0);
}

struct ChosenAmong {
  std::size_t nodes = 0, timed = 0, own = 0;  // equal nodes count once
  std::size_t most = 0;                       // of one node
};

ChosenAmong chosen_among(const graph::Graph& graph, const runtime::Provider& provider) {
  ChosenAmong found;
  std::set<std::string> signatures;
  for (const graph::Node& node : graph.nodes()) {
    if (!signatures.insert(runtime::node_signature(graph, node)).second) continue;
    const auto candidates = provider.candidates(graph, node, runtime::Share::kDevice);
    if (!candidates.ok()) continue;
    ++found.nodes;
    found.most = std::max(found.most, candidates->size());
    found.timed += candidates->size() > 1 ? candidates->size() : 0;
    found.own += static_cast<std::size_t>(
        std::count_if(candidates->begin(), candidates->end(), [](const runtime::Candidate& candidate) {
          return !candidate.reference && candidate.name.starts_with("hone");
        }));
  }
  return found;
}

// What choosing kernels has to make and time, before and after the passes. A model of many shapes (mobilenet_v2: convolutions of
// each channel alone in ten of them) must not take a multiple of the others.
TEST_P(ZooOnGpu, IsChosenAmongABoundedNumberOfKernels) {
  const auto provider = provider_with_nvidias_cudnn();
  if (provider == nullptr) return;
  const passes::PassContext context{runtime::interpret_node, nullptr, lab::pass_target(*provider)};
  passes::PipelineOptions fold;
  fold.only = {"fold_constants"};
  const auto given = passes::run_pipeline(*model::build_zoo_model(GetParam(), {.batch = 1}), context, fold);
  ASSERT_TRUE(given.ok()) << given.error().message;
  const auto optimised = lab::optimise(given->graph, *provider, {});
  ASSERT_TRUE(optimised.ok()) << optimised.error().message;
  for (const graph::Graph* graph : {&given->graph, &*optimised}) {
    const ChosenAmong found = chosen_among(*graph, *provider);
    SCOPED_TRACE(
        fmt::format("{} nodes, {} kernels timed, {} of our own", found.nodes, found.timed, found.own));
    EXPECT_LE(found.most, 18U);  // cuDNN's engines, our own, the reference
    EXPECT_LE(found.timed, 360U);
    EXPECT_LE(found.own, 60U);
  }
}

INSTANTIATE_TEST_SUITE_P(All, ZooOnGpu,
                         ::testing::Values("unet", "resnet50", "mobilenet_v2", "bert_base", "minilm", "gpt2",
                                           "vit"),
                         [](const auto& test) { return std::string(test.param); });

struct WholeModel {
  const char* name;
  int64_t size;
};

// Every operator on the way: embeddings, norms, heads of attention, softmax, activations, the pooler; convolutions with
// channels last, what follows them, pooling, images made larger and joined.
class ModelOnGpu : public ::testing::TestWithParam<WholeModel> {};
INSTANTIATE_TEST_SUITE_P(All, ModelOnGpu,
                         ::testing::Values(WholeModel{"minilm", 9}, WholeModel{"unet", 32},
                                           WholeModel{"resnet50", 33}, WholeModel{"mobilenet_v2", 33}),
                         [](const auto& model) { return std::string(model.param.name); });

TEST_P(ModelOnGpu, IsAsInterpreted) {
  const auto provider = runtime::testing::provider_named(runtime::testing::kCudaOnHost);
  const auto graph = model::build_zoo_model(GetParam().name, {.batch = 1, .size = GetParam().size});
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  const auto inputs = lab::make_inputs(*graph, 0, {});
  ASSERT_TRUE(inputs.ok()) << inputs.error().message;
  const auto optimised = lab::optimise(*graph, *provider, {});
  ASSERT_TRUE(optimised.ok()) << optimised.error().message;
  runtime::PlanOptions options;
  options.autotune = false;
  auto plan = runtime::Plan::compile(*optimised, *provider, options);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  for (const runtime::PlanStep& step : (*plan)->steps())
    EXPECT_THAT(step.implementation, ::testing::Not(::testing::HasSubstr("reference"))) << step.op;
  const auto found = (*plan)->run(inputs->tensors);
  ASSERT_TRUE(found.ok()) << found.error().message;
  const auto wanted = runtime::interpret(*graph, inputs->tensors);
  ASSERT_TRUE(wanted.ok()) << wanted.error().message;
  for (std::size_t k = 0; k < wanted->size(); ++k) {
    double error = 0, norm = 0;
    for (int64_t i = 0; i < (*wanted)[k].size(); ++i) {
      const double difference = (*found)[k].at(i) - (*wanted)[k].at(i);
      error += difference * difference;
      norm += (*wanted)[k].at(i) * (*wanted)[k].at(i);
    }
    EXPECT_LE(error, 1e-10 * norm) << "output " << k;
  }
}

}  // namespace
}  // namespace hone

// The steps of the recipes that ship, on the CUDA provider, without a GPU: which operators it has kernels for.
#include <map>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/testing/source_folder.h"
#include "graph/group_kind.h"
#include "lab/training/program.h"
#include "lab/training/session.h"
#include "runtime/testing/providers.h"

namespace hone {
namespace {

using ::testing::IsEmpty;

struct ShippedRecipe {
  const char* name;
  std::vector<data::Field> fields;     // of its data, which do not ship with it
  std::vector<std::string> overrides;  // what is only large
};

std::vector<data::Field> tokens(int64_t length) {
  return {{"tokens", DType::kI64, {length}}, {"next", DType::kI64, {length}}};
}
std::vector<data::Field> pictures(int64_t size) {
  return {{"image", DType::kF32, {3, size, size}}, {"label", DType::kI64, {}}};
}

std::vector<ShippedRecipe> shipped_recipes() {
  return {{"cells_unet", {{"image", DType::kF32, {1, 64, 64}}, {"mask", DType::kF32, {1, 64, 64}}}, {}},
          {"digits_cnn", {{"image", DType::kF32, {1, 28, 28}}, {"label", DType::kI64, {}}}, {}},
          {"gpt2_tiny", tokens(64), {}},
          {"gpt2_124m",
           tokens(1024),
           {"data.path=/", "model.sizes.layers=2", "model.sizes.vocabulary=2049", "train.batch=2",
            "train.accumulate=2"}},
          {"resnet50", pictures(224), {"data.path=/", "train.batch=16", "train.accumulate=2"}},
          {"vit_b16",
           pictures(224),
           {"data.path=/", "model.sizes.layers=2", "train.batch=16", "train.accumulate=2"}}};
}

class RecipesOnGpu : public ::testing::TestWithParam<ShippedRecipe> {
 protected:
  // Training and judging, as optimised for `provider_`.
  Result<lab::SessionGraphs> graphs(const std::string& precision, const std::string& weights = "f32") const {
    std::vector<std::string> overrides = GetParam().overrides;
    overrides.push_back("train.precision=" + precision);
    overrides.push_back("train.weights=" + weights);
    HONE_ASSIGN(
        const model::Recipe recipe,
        model::read_recipe(source_folder() / "recipes" / fmt::format("{}.toml", GetParam().name), overrides));
    HONE_ASSIGN(const lab::TrainingProgram program, lab::make_program(recipe, GetParam().fields, 10, 4));
    return lab::optimised_graphs(program, *provider_, {}, precision);
  }
  // Operators that it has no kernel for, with their types.
  std::map<std::string, int> without_kernels(const lab::SessionGraphs& graphs) const {
    std::map<std::string, int> without;
    for (const graph::Graph* graph : {&graphs.step, &graphs.evaluation}) {
      for (const graph::Node& node : graph->nodes()) {
        if (provider_->runs(*graph, node)) continue;
        std::string types;
        for (const graph::ValueId input : node.inputs)
          types += " " + (input.valid() ? graph->type(input).text() : std::string("none"));
        ++without[node.op + types.substr(0, 300) + " " + node.attributes.text("reduction", "")];
      }
    }
    return without;
  }

  const std::shared_ptr<const runtime::Provider> provider_ =
      runtime::testing::provider_named(runtime::testing::kCudaOnHost);
};

TEST_P(RecipesOnGpu, NeedNoReference) {
  const auto optimised = graphs("f32");
  ASSERT_TRUE(optimised.ok()) << optimised.error().message;
  EXPECT_THAT(without_kernels(*optimised), IsEmpty());
}

// What is converted between types and layouts are weights, their gradients and the batch: no activation.
TEST_P(RecipesOnGpu, InBf16NeitherNeedReferenceNorConvertActivations) {
  const auto optimised = graphs("bf16");
  ASSERT_TRUE(optimised.ok()) << optimised.error().message;
  EXPECT_THAT(without_kernels(*optimised), IsEmpty());
  const graph::Graph& step = optimised->step;
  std::vector<std::string> converted;
  for (const graph::Node& node : step.nodes()) {
    if (node.op != "Cast" && node.op != "hone.Reorder") continue;
    const graph::TensorType& type = step.type(node.outputs[0]);
    if (type.rank() != 4) continue;
    const bool of_weights = node.name.find(".weight.") != std::string::npos || type.shape().back() == 1;
    const bool of_batch = node.name.starts_with("micro.") || node.name.starts_with("data.");
    if (!of_weights && !of_batch && element_count(type.shape()) > 100'000)
      converted.push_back(fmt::format("{} {} {}", node.op, node.name, type.text()));
  }
  EXPECT_LE(converted.size(), 2U) << ::testing::PrintToString(converted);  // to and from rows of positions
}

// Weights that are kept in bf16 are read as they lie: what is converted are vectors beside f32 statistics.
TEST_P(RecipesOnGpu, WithWeightsOfBf16NeitherNeedReferenceNorConvertMatrices) {
  const auto optimised = graphs("bf16", "bf16");
  ASSERT_TRUE(optimised.ok()) << optimised.error().message;
  EXPECT_THAT(without_kernels(*optimised), IsEmpty());
  const graph::Graph& step = optimised->step;
  int weights = 0;
  for (const graph::ValueId input : step.inputs()) weights += step.type(input).dtype == DType::kBF16;
  EXPECT_GT(weights, 4);
  for (const graph::Node& node : step.nodes()) {
    if (node.op == "Cast" && step.type(node.inputs[0]).dtype == DType::kBF16 &&
        !step.value(node.inputs[0]).producer.valid()) {
      EXPECT_LE(step.type(node.outputs[0]).storage_bytes(), 32'768)
          << node.name << " " << step.type(node.inputs[0]).text();
    }
  }
}

// A step in bf16 keeps attention and its gradient as operators, and no matrix of queries × keys.
TEST(RecipesInHalves, KeepAttention) {
  const auto provider = runtime::testing::provider_named(runtime::testing::kCudaOnHost);
  const ShippedRecipe gpt2 = shipped_recipes()[3];
  const auto recipe = model::read_recipe(source_folder() / "recipes/gpt2_124m.toml", gpt2.overrides);
  ASSERT_TRUE(recipe.ok()) << recipe.error().message;
  const auto program = lab::make_program(*recipe, gpt2.fields, 10, 4);
  ASSERT_TRUE(program.ok()) << program.error().message;
  const auto graphs = lab::optimised_graphs(*program, *provider, {}, "bf16");
  ASSERT_TRUE(graphs.ok()) << graphs.error().message;
  std::map<std::string, int> count;
  for (const graph::Node& node : graphs->step.nodes()) {
    EXPECT_TRUE(provider->runs(graphs->step, node)) << node.op << " " << node.name;
    ++count[node.op];
    if (node.has_input(0) && graphs->step.type(node.inputs[0]).dtype == DType::kBF16)
      ++count[node.op + " of halves"];
    if (graph::is_group(node))
      for (const graph::Node& inner : node.bodies[0]->nodes()) ++count[inner.op + " in a group"];
    for (const graph::ValueId output : node.outputs) {
      if (!output.valid() || !graphs->step.type(output).is_static()) continue;
      const Shape shape = graphs->step.type(output).shape();
      const bool product = node.op == "Gemm" || node.op == "MatMul";
      EXPECT_FALSE(product && shape.back() % 8 != 0) << node.name;  // of 2,049 classes, too
      EXPECT_FALSE(shape.size() > 2 && shape.back() == 1024 && shape[shape.size() - 2] == 1024)
          << node.op << " " << node.name;
    }
  }
  // In groups with the splits before and the joins behind them, which then copy nothing.
  EXPECT_GE(count["hone.AttentionWithSums in a group"], 2);  // a layer each, in each part of the batch
  EXPECT_EQ(count["hone.AttentionGradient in a group"], count["hone.AttentionWithSums in a group"]);
  EXPECT_EQ(count["Concat in a group"], count["hone.AttentionGradient in a group"]);
  for (const char* const op : {"Attention", "hone.AttentionWithSums", "hone.AttentionGradient",
                               "Split of halves", "Concat of halves"})
    EXPECT_EQ(count[op], 0) << op;
}

// The derivative of Gelu meets the gradient in one kernel: neither is written by itself.
TEST(RecipesInHalves, MultiplyByTheSlopeOfGeluWhereItIsComputed) {
  const auto provider = runtime::testing::provider_named(runtime::testing::kCudaOnHost);
  for (const std::size_t which : {3U, 5U}) {
    const ShippedRecipe shipped = shipped_recipes()[which];
    SCOPED_TRACE(shipped.name);
    const auto recipe = model::read_recipe(source_folder() / "recipes" / fmt::format("{}.toml", shipped.name),
                                           shipped.overrides);
    ASSERT_TRUE(recipe.ok()) << recipe.error().message;
    const auto program = lab::make_program(*recipe, shipped.fields, 10, 4);
    ASSERT_TRUE(program.ok()) << program.error().message;
    const auto graphs = lab::optimised_graphs(*program, *provider, {}, "bf16");
    ASSERT_TRUE(graphs.ok()) << graphs.error().message;
    int with_gradient = 0, alone = 0;
    for (const graph::Node& node : graphs->step.nodes()) {
      const bool row =
          node.op == "Add" && std::ranges::any_of(node.inputs, [&](graph::ValueId input) {
            return graphs->step.type(input).rank() == 1 && graphs->step.type(node.outputs[0]).rank() > 1;
          });
      EXPECT_FALSE(row) << node.name << " adds a bias in a kernel of its own";
      alone += node.op == "hone.GeluSlope" ? 1 : 0;
      if (!graph::is_group(node)) continue;
      int slopes = 0, products = 0;
      for (const graph::Node& inner : node.bodies[0]->nodes()) {
        slopes += inner.op == "hone.GeluSlope" ? 1 : 0;
        products += inner.op == "Mul" ? 1 : 0;
      }
      with_gradient += slopes > 0 && products > 0 ? 1 : 0;
      alone += slopes > 0 && products == 0 ? 1 : 0;
    }
    EXPECT_EQ(alone, 0);
    EXPECT_EQ(with_gradient, 2 * 2);  // layers, parts of the batch
  }
}

// Each linear layer's bias gradient is summed by the product of its weights' gradient, in each part of the batch: four layers a
// block of GPT-2; six of ViT, whose queries, keys and values are apart, and its head.
TEST(RecipesInHalves, SumBiasGradientsInTheProductsOfTheirWeights) {
  const auto provider = runtime::testing::provider_named(runtime::testing::kCudaOnHost);
  for (const auto& [which, layers] : {std::pair(3U, 2 * 4), std::pair(5U, 2 * 6 + 1)}) {
    for (const int parts : {1, 2}) {
      const ShippedRecipe shipped = shipped_recipes()[which];
      SCOPED_TRACE(fmt::format("{} in {} parts", shipped.name, parts));
      std::vector<std::string> overrides = shipped.overrides;
      overrides.back() = fmt::format("train.accumulate={}", parts);
      const auto recipe =
          model::read_recipe(source_folder() / "recipes" / fmt::format("{}.toml", shipped.name), overrides);
      ASSERT_TRUE(recipe.ok()) << recipe.error().message;
      const auto program = lab::make_program(*recipe, shipped.fields, 10, 4);
      ASSERT_TRUE(program.ok()) << program.error().message;
      const auto graphs = lab::optimised_graphs(*program, *provider, {}, "bf16");
      ASSERT_TRUE(graphs.ok()) << graphs.error().message;
      int joined = 0, in_f32 = 0;
      for (const graph::Node& node : graphs->step.nodes()) {
        if (!graph::is_group(node, graph::GroupKind::kBiasGradient)) continue;
        ++joined;
        in_f32 += graphs->step.type(node.outputs[1]).dtype == DType::kF32 ? 1 : 0;
        EXPECT_TRUE(provider->runs(graphs->step, node)) << node.name;
      }
      EXPECT_EQ(joined, layers * parts);
      EXPECT_EQ(in_f32, joined) << "a sum was rounded to bf16";
    }
  }
}

// Gradients of GPT-2 are narrow but for sums (of tokens and positions, which a residual stream of f32 gives, biases, scales),
// and nobody converts any for the update.
TEST(RecipesInHalves, UpdateByGradientsAsTheyCome) {
  const auto provider = runtime::testing::provider_named(runtime::testing::kCudaOnHost);
  const ShippedRecipe gpt2 = shipped_recipes()[3];
  std::vector<std::string> overrides = gpt2.overrides;
  overrides.back() = "train.accumulate=1";
  const auto recipe = model::read_recipe(source_folder() / "recipes/gpt2_124m.toml", overrides);
  ASSERT_TRUE(recipe.ok()) << recipe.error().message;
  const auto program = lab::make_program(*recipe, gpt2.fields, 10, 4);
  ASSERT_TRUE(program.ok()) << program.error().message;
  const auto graphs = lab::optimised_graphs(*program, *provider, {}, "bf16");
  ASSERT_TRUE(graphs.ok()) << graphs.error().message;
  const graph::Graph& step = graphs->step;
  int narrow = 0, wide = 0;
  std::vector<std::string> converted;
  for (const graph::Node& node : step.nodes()) {
    if (node.op != "hone.AdamW") continue;
    const std::size_t tensors = (node.inputs.size() - 3) / 4;
    for (std::size_t i = 3 + tensors; i < 3 + 2 * tensors; ++i) {
      const graph::Value& gradient = step.value(node.inputs[i]);
      ++(gradient.type.dtype == DType::kBF16 ? narrow : wide);
      if (gradient.producer.valid() && step.node(gradient.producer).op == "Cast")
        converted.push_back(gradient.name);
    }
  }
  EXPECT_GE(narrow, 2 * 4) << "matrices of two layers";
  EXPECT_GT(wide, 0) << "or this shows nothing";
  EXPECT_THAT(converted, IsEmpty());
}

// The residual stream of a transformer is f32 between products of bf16, and no kernel only converts it: sums belong to products,
// to the gradients of normalisations or to pointwise kernels, conversions to those and to the normalisations themselves.
TEST(RecipesInHalves, KeepTheResidualStreamInF32AndConvertItNowhere) {
  const auto provider = runtime::testing::provider_named(runtime::testing::kCudaOnHost);
  const int64_t length = 64, stream = 16 * length * 64;  // batch, positions, hidden
  const std::vector<data::Field> masked = {{"tokens", DType::kI64, {length}},
                                           {"labels", DType::kI64, {length}}};
  for (const auto& [name, fields] : {std::pair("gpt2_tiny", tokens(length)), std::pair("bert_mlm", masked)}) {
    for (const char* const residual : {"f32", "narrow"}) {
      SCOPED_TRACE(fmt::format("{} {}", name, residual));
      const auto recipe =
          model::read_recipe(source_folder() / "recipes" / fmt::format("{}.toml", name),
                             {"train.precision=bf16", std::string("train.residual=") + residual});
      ASSERT_TRUE(recipe.ok()) << recipe.error().message;
      const auto program = lab::make_program(*recipe, fields, 10, 16);
      ASSERT_TRUE(program.ok()) << program.error().message;
      const auto graphs = lab::optimised_graphs(*program, *provider, {}, "bf16");
      ASSERT_TRUE(graphs.ok()) << graphs.error().message;
      const graph::Graph& step = graphs->step;
      std::vector<std::string> conversions;
      int sums_of_products = 0, stored_narrow = 0, gradients = 0;
      for (const graph::Node& node : step.nodes()) {
        EXPECT_TRUE(provider->runs(step, node)) << node.op << " " << node.name;
        if (node.op == "Cast" && element_count(step.type(node.outputs[0]).shape()) == stream)
          conversions.push_back(node.name);
        if (!graph::is_group(node)) continue;
        const auto& nodes = node.bodies[0]->nodes();
        const bool to_f32 = nodes.size() > 2 && nodes[1].op == "Cast" && nodes[2].op == "Add";
        sums_of_products += graph::is_group(node, graph::GroupKind::kMatmul) && to_f32 ? 1 : 0;
        if (!graph::is_group(node, graph::GroupKind::kNormalization)) continue;
        ++(nodes[0].op == "LayerNormalization" ? stored_narrow : gradients);
      }
      EXPECT_THAT(conversions, IsEmpty());
      const bool wide = residual == std::string("f32");
      // Two in each of two layers; in GPT-2 a view stands between product and sum, which is a pointwise kernel's.
      EXPECT_GE(sums_of_products, wide && name == std::string("bert_mlm") ? 2 * 2 : 0);
      EXPECT_GE(stored_narrow, wide ? 2 * 2 : 0);
      EXPECT_GE(gradients, wide ? 2 * 2 : 0);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, RecipesOnGpu, ::testing::ValuesIn(shipped_recipes()),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace hone

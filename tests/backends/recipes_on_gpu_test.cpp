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
           {"data.path=/", "model.sizes.layers=2", "model.sizes.vocabulary=2048", "train.batch=2",
            "train.accumulate=2"}},
          {"resnet50", pictures(224), {"data.path=/", "train.batch=16", "train.accumulate=2"}},
          {"vit_b16",
           pictures(224),
           {"data.path=/", "model.sizes.layers=2", "train.batch=16", "train.accumulate=2"}}};
}

class RecipesOnGpu : public ::testing::TestWithParam<ShippedRecipe> {};

// As optimised for it: training and judging.
TEST_P(RecipesOnGpu, NeedNoReference) {
  const auto provider = runtime::testing::provider_named(runtime::testing::kCudaOnHost);
  const auto recipe = model::read_recipe(
      source_folder() / "recipes" / fmt::format("{}.toml", GetParam().name), GetParam().overrides);
  ASSERT_TRUE(recipe.ok()) << recipe.error().message;
  const auto program = lab::make_program(*recipe, GetParam().fields, 10, 4);
  ASSERT_TRUE(program.ok()) << program.error().message;
  const auto graphs = lab::optimised_graphs(*program, *provider);
  ASSERT_TRUE(graphs.ok()) << graphs.error().message;
  std::map<std::string, int> without;
  for (const graph::Graph* graph : {&graphs->step, &graphs->evaluation}) {
    for (const graph::Node& node : graph->nodes()) {
      if (provider->runs(*graph, node)) continue;
      std::string types;
      for (const graph::ValueId input : node.inputs)
        types += " " + (input.valid() ? graph->type(input).text() : std::string("none"));
      ++without[node.op + types.substr(0, 300) + " " + node.attributes.text("reduction", "")];
    }
  }
  EXPECT_THAT(without, IsEmpty());
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

INSTANTIATE_TEST_SUITE_P(All, RecipesOnGpu, ::testing::ValuesIn(shipped_recipes()),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace hone

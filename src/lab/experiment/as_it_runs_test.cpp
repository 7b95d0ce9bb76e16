#include "lab/experiment/as_it_runs.h"

#include <algorithm>
#include <stdexcept>

#include <gtest/gtest.h>

#include "core/testing/source_folder.h"
#include "lab/experiment/target.h"
#include "lab/training/setup.h"
#include "model/recipe/recipe.h"
#include "passes/pipeline.h"
#include "runtime/interpreter.h"
#include "runtime/testing/providers.h"

namespace hone::lab {
namespace {

template <typename T>
T needed(Result<T> result) {
  if (!result.ok()) throw std::runtime_error(result.error().message);
  return *std::move(result);
}

int64_t count_of(const graph::Graph& graph, std::string_view op) {
  return std::ranges::count_if(graph.nodes(), [&](const graph::Node& node) { return node.op == op; });
}

// A GPU's gradient of attention is of half types alone.
class AsItRuns : public ::testing::Test {
 protected:
  graph::Graph after(const graph::Graph& graph, const std::string& group, DType narrows_to) const {
    passes::PassContext context = context_;
    context.narrows_to = narrows_to;
    passes::PipelineOptions only;
    only.only = {group};
    only.lossy = {"bf16"};
    return needed(passes::run_pipeline(graph, context, only)).graph;
  }

  const std::shared_ptr<const runtime::Provider> gpu_ =
      runtime::testing::provider_named(runtime::testing::kCudaOnHost);
  const passes::PassContext context_{runtime::interpret_node, nullptr, pass_target(*gpu_)};
  const model::Recipe recipe_ = needed(model::read_recipe(
      source_folder() / "recipes/gpt2_tiny.toml",
      {"train.batch=2", "data.path=\"" + (source_folder() / "README.md").string() + "\""}));
  const graph::Graph step_ = after(needed(open_training(recipe_)).program.step, "fold_constants", {});
};

TEST_F(AsItRuns, SpellsOutTheGradientsThatADeviceHasNoKernelFor) {
  ASSERT_EQ(count_of(step_, "hone.AttentionGradient"), 2);
  const graph::Graph runs = needed(as_it_runs(step_, context_));
  EXPECT_EQ(count_of(runs, "hone.AttentionGradient"), 0);
  EXPECT_EQ(count_of(runs, "Range"), 0) << "of the causal mask: known";
}

// The lab's group "widen" comes before the one that narrows.
TEST_F(AsItRuns, LeavesThemToThePassThatNarrowsThem) {
  const graph::Graph widened = after(step_, "widen", narrow_type_of({"bf16"}));
  EXPECT_EQ(count_of(widened, "hone.AttentionGradient"), 2);
  const graph::Graph narrow = after(widened, "bf16", DType::kUndefined);
  EXPECT_EQ(count_of(narrow, "hone.AttentionGradient"), 2);
  EXPECT_EQ(count_of(needed(as_it_runs(narrow, context_)), "hone.AttentionGradient"), 2);
}

TEST_F(AsItRuns, KnowsTheTypeThatGroupsNarrowTo) {
  EXPECT_EQ(narrow_type_of({"bf16"}), DType::kBF16);
  EXPECT_EQ(narrow_type_of({"tf32", "fp16"}), DType::kF16);
  EXPECT_EQ(narrow_type_of({"tf32"}), DType::kUndefined);
}

}  // namespace
}  // namespace hone::lab

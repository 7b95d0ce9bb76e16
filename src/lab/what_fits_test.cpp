#include "lab/what_fits.h"

#include <gmock/gmock.h>

#include "graph/builder.h"
#include "runtime/plan.h"
#include "runtime/testing/providers.h"

namespace hone::lab {
namespace {

using ::testing::HasSubstr;

// So many rows of 64 MiB, and `beside` MiB that any batch needs. Products alone: what runs by the reference takes memory of the
// host's to be planned.
Result<graph::Graph> rows(int64_t batch, int64_t beside = 0) {
  graph::GraphBuilder b("rows");
  const auto product = [&](const std::string& name, int64_t count, int64_t length) {
    const graph::ValueId x = b.input(name, graph::tensor_type(DType::kF32, Shape{count, length}));
    const graph::ValueId w = b.input(name + ".w", graph::tensor_type(DType::kF32, Shape{length, 4}));
    b.output(b.add("MatMul", {x, w}));
  };
  product("x", batch, 1 << 24);
  if (beside > 0) product("y", beside, 1 << 18);
  return std::move(b).finish();
}

// The GPU that is not there has 20 of its 80 GiB free.
TEST(WhatFits, IsTheLargestBatchThatHasRoom) {
  const auto provider = runtime::testing::provider_named(runtime::testing::kCudaWithProducts);
  const auto graph_of = [](int64_t batch) { return rows(batch); };
  const std::string text = what_would_fit(graph_of, 1000, *provider);
  ASSERT_THAT(text, ::testing::MatchesRegex("a batch of [0-9]+ would fit \\([0-9.]+ GiB\\)"));
  const int64_t found = std::stoll(text.substr(std::string("a batch of ").size()));
  const auto taken = [&](int64_t batch) {
    runtime::PlanOptions options;
    options.autotune = false;
    return runtime::Plan::forecast(*rows(batch), *provider, options)->memory.arena_bytes;
  };
  EXPECT_LE(taken(found), provider->device()->available());
  EXPECT_GT(taken(found + 1), provider->device()->available());
}

TEST(WhatFits, SaysWhereOneSampleIsTooMany) {
  const auto provider = runtime::testing::provider_named(runtime::testing::kCudaWithProducts);
  const auto graph_of = [](int64_t batch) { return rows(batch, 25'000); };
  EXPECT_THAT(what_would_fit(graph_of, 64, *provider),
              ::testing::AllOf(HasSubstr("a batch of 1 needs "), HasSubstr("where 20.0 GiB are free")));
}

TEST(WhatFits, IsNothingWhereMemoryIsNotWhatIsLacking) {
  const auto provider = runtime::testing::provider_named(runtime::testing::kCudaWithProducts);
  EXPECT_EQ(what_would_fit([](int64_t batch) { return rows(batch); }, 4, *provider), "");
  EXPECT_EQ(what_would_fit([](int64_t) -> Result<graph::Graph> { return invalid("no"); }, 4, *provider), "");
  EXPECT_EQ(
      what_would_fit([](int64_t batch) { return rows(batch); }, 1000, *runtime::testing::cpu_provider()), "");
}

}  // namespace
}  // namespace hone::lab

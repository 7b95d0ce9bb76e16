#include "lab/operator_probe.h"

#include <gtest/gtest.h>

#include "runtime/make_provider.h"

namespace hone::lab {
namespace {

bool is_in_parts_on_a_cpu(std::string_view op) {
  const auto provider = runtime::make_provider("cpu");
  const graph::OpEntry* const entry = graph::op_table().find(op);
  return provider.ok() && entry != nullptr && runs_in_parts(*entry, **provider);
}

TEST(OperatorProbe, PartsRunWhereAllOfThemHaveKernels) {
  EXPECT_TRUE(is_in_parts_on_a_cpu("RotaryEmbedding"));
  EXPECT_TRUE(is_in_parts_on_a_cpu("LinearAttention"));
  EXPECT_FALSE(is_in_parts_on_a_cpu("DeformConv")) << "it would need GridSample, which the reference runs";
  EXPECT_FALSE(is_in_parts_on_a_cpu("Relu"));
}

TEST(OperatorProbe, EveryOperatorThatHasPartsHasAnExample) {
  const auto provider = runtime::make_provider("cpu");
  ASSERT_TRUE(provider.ok());
  for (const graph::OpEntry* const entry : graph::op_table().entries())
    EXPECT_NO_THROW((void)runs_in_parts(*entry, **provider)) << entry->name;
}

}  // namespace
}  // namespace hone::lab

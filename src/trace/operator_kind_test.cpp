#include "trace/operator_kind.h"

#include <set>

#include <gtest/gtest.h>

#include "trace/trace.h"

namespace hone::trace {
namespace {

TEST(OperatorKinds, AreToldByTheFrameworksName) {
  EXPECT_EQ(operator_kind("aten::add"), OperatorKind::kAdd);
  EXPECT_EQ(operator_kind("aten::addmm"), OperatorKind::kAddmm) << "no addition of two tensors";
  EXPECT_EQ(operator_kind("aten::zero_"), OperatorKind::kFill);
  EXPECT_EQ(operator_kind("aten::_scaled_dot_product_flash_attention_backward"), OperatorKind::kAttention);
  EXPECT_EQ(operator_kind("aten::_log_softmax_backward_data"), OperatorKind::kSoftmax);
  EXPECT_EQ(operator_kind("aten::slow_conv_transpose2d"), OperatorKind::kTransposedConvolution);
  EXPECT_EQ(operator_kind("aten::scatter_add_"), OperatorKind::kScatter);
  EXPECT_EQ(operator_kind("triton_poi_fused_gelu_0"), OperatorKind::kGenerated);
  EXPECT_EQ(operator_kind("triton_per_fused__softmax_0"), OperatorKind::kSoftmax);
  EXPECT_EQ(operator_kind("fsdp::split_with_sizes_copy"), OperatorKind::kOtherCopy);
  EXPECT_EQ(operator_kind("Conv"), OperatorKind::kOther);
}

TEST(OperatorKinds, UpdatesAreNotAllThatTakesLists) {
  EXPECT_EQ(operator_kind("aten::_fused_adamw_"), OperatorKind::kUpdate);
  EXPECT_EQ(operator_kind("aten::_foreach_addcdiv_"), OperatorKind::kLists);
  EXPECT_EQ(operator_kind("aten::_foreach_copy_"), OperatorKind::kListCopy);
  EXPECT_EQ(operator_kind("aten::_fused_rms_norm"), OperatorKind::kFused);
}

TEST(OperatorKinds, AreARowsFromWhenItIsAdded) {
  Trace trace;
  Operator op;
  op.kind = "aten::mul_";
  const OperatorId row = trace.add_operator(op);
  EXPECT_EQ(trace.operators[row.index].what, OperatorKind::kMul);
  EXPECT_TRUE(trace.operators[row.index].in_place);
}

TEST(OperatorKinds, EveryRowCanDecideAndEveryKindHasOne) {
  EXPECT_EQ(unreachable_rows(operator_kind_table()), std::vector<std::string_view>());
  std::set<OperatorKind> named = {OperatorKind::kOther};
  for (const NamePattern<OperatorKind>& row : operator_kind_table()) named.insert(row.value);
  EXPECT_EQ(named.size(), kOperatorKindCount);
  std::set<std::string_view> names;
  for (const OperatorKind kind : named) names.insert(operator_kind_name(kind));
  EXPECT_EQ(names.size(), kOperatorKindCount);
}

TEST(NamePatterns, ARowBehindOneThatMatchesAllOfItIsFound) {
  constexpr NamePattern<int> kTable[] = {
      {"gemm", 1}, {"sgemm", 2}, {"a::", 3, At::kFront}, {"a::b", 4, At::kWhole}, {"a::", 5}};
  EXPECT_EQ(unreachable_rows(std::span(kTable)), (std::vector<std::string_view>{"sgemm", "a::b"}));
}

}  // namespace
}  // namespace hone::trace

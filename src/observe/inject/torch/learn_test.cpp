#include "observe/inject/torch/learn.h"

#include <gtest/gtest.h>

#include "observe/inject/torch/testing/fake_torch.h"

namespace hone::observe::torch {
namespace {

template <typename Version>
void expect_found_where_it_is() {
  FakeTorch<Version> torch;
  const Layout found = learn_from(torch), is = torch.layout();
  EXPECT_EQ(found.callback.flags, is.callback.flags);
  EXPECT_EQ(found.callback.probability, is.callback.probability);
  EXPECT_EQ(found.callback.function, is.callback.function);
  EXPECT_EQ(found.callback.user_scope, is.callback.user_scope);
  EXPECT_EQ(found.callback.needs_inputs, is.callback.needs_inputs);
  EXPECT_EQ(found.inputs, is.inputs);
  EXPECT_EQ(found.sequence, is.sequence);
  EXPECT_EQ(found.value.tensor, is.value.tensor);
  EXPECT_EQ(found.value.integer, is.value.integer);
  EXPECT_EQ(found.value.real, is.value.real);
  EXPECT_EQ(found.value.boolean, is.value.boolean);
  EXPECT_EQ(found.value.list, is.value.list);
  EXPECT_EQ(found.value.list_items, is.value.list_items);
  EXPECT_EQ(found.value.list_type, is.value.list_type);
  EXPECT_EQ(found.value.list_of_tensors, is.value.list_of_tensors);
  EXPECT_EQ(found.tensor.dims, is.tensor.dims);
  EXPECT_EQ(found.tensor.sizes, is.tensor.sizes);
  EXPECT_EQ(found.tensor.inline_dims, is.tensor.inline_dims);
  EXPECT_EQ(found.tensor.dtype, is.tensor.dtype);
  EXPECT_EQ(found.dtypes, is.dtypes);
  EXPECT_TRUE(found.has_inputs());
}

TEST(Learn, FindsWhereTodaysPyTorchKeepsWhatOperatorsAreCalledWith) {
  expect_found_where_it_is<Version211>();
}

TEST(Learn, FindsItWhereverItIs) { expect_found_where_it_is<VersionOther>(); }

TEST(Learn, SettlesForNamesWhereNoFlagBringsInputs) {
  FakeTorch<VersionWithoutInputs> torch;
  const Layout found = learn_from(torch);
  EXPECT_TRUE(found.has_names());
  EXPECT_FALSE(found.has_inputs());
}

TEST(Learn, FindsNothingWhereCallbacksAreNeverCalled) {
  Symbols symbols = FakeTorch<Version211>::symbols();
  symbols.add_callback = +[](Callback) { return uint64_t{1}; };
  symbols.remove_callback = +[](uint64_t) {};
  Learner learner(symbols, [](Deed, int) { return int64_t{-1}; });
  EXPECT_FALSE(learner.run().has_names());
}

TEST(Learn, BelievesNothingThatTheSecondRoundContradicts) {
  FakeTorch<Version211> torch;
  Learner* of_run = nullptr;
  // A whole number comes with another tag in each round, and the sequence is wrong.
  Learner learner(torch.symbols(), [&](Deed deed, int round) -> int64_t {
    if (deed == Deed::kAdd) {
      auto number = torch.value(int64_t{3} + round);
      number.tag += static_cast<uint32_t>(round);
      const auto* any = torch.tensor("f32", {2});
      torch.call("aten::add", {torch.value(any), torch.value(any), number});
      return -1;
    }
    const int64_t result = torch.perform(*of_run, deed, round);
    return deed == Deed::kMultiply && round == 1 ? result + 1000 : result;
  });
  of_run = &learner;
  const Layout found = learner.run();
  EXPECT_EQ(found.value.integer, kUnknown);
  EXPECT_EQ(found.sequence, kUnknown);
  EXPECT_TRUE(found.has_inputs());  // shapes are known all the same
}

}  // namespace
}  // namespace hone::observe::torch

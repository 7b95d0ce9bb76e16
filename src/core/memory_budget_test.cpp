// The account of tensors' memory: what is made is charged, what goes is taken off, what is too much is
// refused.
#include "core/memory_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/tensor.h"

namespace hone {
namespace {

using testing::HasSubstr;

class MemoryBudget : public testing::Test {
 protected:
  void TearDown() override { set_memory_budget(0); }
};

TEST_F(MemoryBudget, CountsWhatTensorsOwnOnceHoweverManyCopiesShareIt) {
  const std::size_t before = memory_in_use();
  {
    const Tensor tensor = Tensor::zeros(DType::kF32, {1000});
    const std::size_t one = memory_in_use() - before;
    EXPECT_GE(one, 4000u);
    EXPECT_LT(one, 5000u);
    const Tensor copy = tensor;  // NOLINT: the copy is the point
    EXPECT_EQ(memory_in_use() - before, one);
    const Tensor borrowed = Tensor::borrowed(DType::kF32, {1000}, tensor.data(), nullptr);
    EXPECT_EQ(memory_in_use() - before, one);
  }
  EXPECT_EQ(memory_in_use(), before);
}

TEST_F(MemoryBudget, CountsStringsAndTheBooksOfTinyTensors) {
  const std::size_t before = memory_in_use();
  const Tensor words(DType::kString, {100});
  EXPECT_GE(memory_in_use() - before, 100 * sizeof(std::string));
  const std::size_t then = memory_in_use();
  const Tensor one = Tensor::scalar_f32(1);
  EXPECT_GE(memory_in_use() - then, 64u) << "a million of them take more than 4 MB";
}

TEST_F(MemoryBudget, RefusesWhatItHasNoRoomForAndGoesOnAfterwards) {
  const std::size_t before = memory_in_use();
  set_memory_budget(before + 10'000);
  const Tensor fits(DType::kU8, {8000});
  EXPECT_THROW(Tensor(DType::kU8, {8000}), OverMemoryBudget);
  const auto refused = Tensor::try_make(DType::kU8, {8000});
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("--memory"));
  EXPECT_TRUE(Tensor::try_make(DType::kU8, {100}).ok());
}

TEST_F(MemoryBudget, HasNoLimitUnlessOneIsSet) {
  EXPECT_EQ(memory_budget(), 0u);
  EXPECT_GT(available_memory(), 0u);
}

}  // namespace
}  // namespace hone

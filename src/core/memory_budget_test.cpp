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

TEST_F(MemoryBudget, RemembersTheMostThatWasTakenAtOnce) {
  restart_memory_peak();
  const std::size_t before = memory_peak();
  EXPECT_EQ(before, memory_in_use());
  { const Tensor large(DType::kU8, {5'000'000}); }
  const Tensor small(DType::kU8, {1000});
  EXPECT_GE(memory_peak(), before + 5'000'000);
  EXPECT_LT(memory_peak(), before + 5'001'000) << "the two were never there together";
  restart_memory_peak();
  EXPECT_EQ(memory_peak(), memory_in_use());
}

TEST_F(MemoryBudget, ReadsAmountsAsPeopleWriteThem) {
  EXPECT_EQ(parse_memory("1000"), 1000u);
  EXPECT_EQ(parse_memory("500M"), 500u << 20);
  for (const char* text : {"2G", "2GiB", "2 GiB", "2 GB", "2048 MiB", "2097152K"})
    EXPECT_EQ(parse_memory(text), std::size_t{2} << 30) << text;
  EXPECT_EQ(parse_memory("1.5 KiB"), 1536u);
  for (const char* text : {"", "much", "2 giga", "-3M", "0", "2G!", "G", "1e30G", "nan", "0.5"})
    EXPECT_EQ(parse_memory(text), std::nullopt) << text;
}

TEST_F(MemoryBudget, HasNoLimitUnlessOneIsSet) {
  EXPECT_EQ(memory_budget(), 0u);
  EXPECT_GT(available_memory(), 0u);
}

}  // namespace
}  // namespace hone

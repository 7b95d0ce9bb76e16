// Tensors: who owns the buffer, who sees a write, and what every element type reads as.
#include "core/tensor.h"

#include <array>
#include <cmath>
#include <limits>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hone {
namespace {

using testing::ElementsAre;

bool is_aligned(const Tensor& tensor) {
  return reinterpret_cast<uintptr_t>(tensor.data()) % kTensorAlignment == 0;
}

TEST(Tensor, OwnsAlignedMemory) {
  for (const int64_t size : {0, 1, 7, 64, 1001}) {
    Tensor tensor(DType::kI8, {size});
    EXPECT_TRUE(is_aligned(tensor));
    EXPECT_NE(tensor.data(), nullptr);
    EXPECT_EQ(tensor.bytes(), static_cast<std::size_t>(size));
  }
}

TEST(Tensor, DefaultIsUndefined) {
  const Tensor tensor;
  EXPECT_FALSE(tensor.defined());
  EXPECT_EQ(tensor.size(), 0);
  EXPECT_TRUE(tensor.to_ints().empty());
  EXPECT_FALSE(tensor.clone().defined());
  EXPECT_FALSE(Tensor(DType::kUndefined, {3}).defined());
  EXPECT_TRUE(same_tensor(tensor, Tensor()));
}

TEST(Tensor, CopiesShareAndClonesDoNot) {
  Tensor original = Tensor::i64({3}, std::array<int64_t, 3>{1, 2, 3});
  Tensor alias = original;  // NOLINT: the copy is the point
  Tensor reshaped = original.reshaped({3, 1});
  const Tensor clone = original.clone();
  alias.as<int64_t>()[1] = 42;
  EXPECT_THAT(original.to_ints(), ElementsAre(1, 42, 3));
  EXPECT_THAT(reshaped.to_ints(), ElementsAre(1, 42, 3));
  EXPECT_THAT(clone.to_ints(), ElementsAre(1, 2, 3));
  EXPECT_EQ(reshaped.shape(), (Shape{3, 1}));
  EXPECT_THROW(original.reshaped({4}), std::logic_error);
}

TEST(Tensor, BorrowingKeepsTheOwnerAlive) {
  auto owner = std::make_shared<std::vector<float>>(std::vector<float>{1, 2, 3});
  const std::weak_ptr<std::vector<float>> watch = owner;
  {
    const Tensor tensor = Tensor::borrowed(DType::kF32, {3}, owner->data(), owner);
    owner.reset();
    EXPECT_FALSE(watch.expired());
    EXPECT_THAT(tensor.to_doubles(), ElementsAre(1, 2, 3));
    const Tensor copy = tensor;  // NOLINT: the copy is the point
    EXPECT_EQ(copy.data(), tensor.data());
  }
  EXPECT_TRUE(watch.expired());
}

TEST(Tensor, MisalignedBorrowsReadAndAlign) {
  auto owner = std::make_shared<std::array<std::byte, 33>>();
  const std::array<double, 4> values = {1.5, -2, 1e300, 0};
  std::copy_n(reinterpret_cast<const std::byte*>(values.data()), 32, owner->data() + 1);
  const Tensor tensor = Tensor::borrowed(DType::kF64, {4}, owner->data() + 1, owner);
  EXPECT_THAT(tensor.to_doubles(), ElementsAre(1.5, -2, 1e300, 0));
  const Tensor aligned = tensor.aligned();
  EXPECT_NE(aligned.data(), tensor.data());
  EXPECT_EQ(aligned.as<double>()[2], 1e300);
  EXPECT_EQ(aligned.aligned().data(), aligned.data());
  EXPECT_TRUE(same_tensor(aligned, tensor));
}

TEST(Tensor, StringsAreElements) {
  Tensor tensor = Tensor::of_strings({2, 2}, {"a", "", std::string("n\0l", 3), "ünï"});
  EXPECT_EQ(tensor.size(), 4);
  EXPECT_EQ(tensor.strings()[2].size(), 3u);
  Tensor alias = tensor;  // NOLINT: the copy is the point
  const Tensor clone = tensor.clone();
  EXPECT_TRUE(same_tensor(tensor, clone));
  alias.strings()[0] = "changed";
  EXPECT_EQ(tensor.strings()[0], "changed");
  EXPECT_FALSE(same_tensor(tensor, clone));
  EXPECT_THROW(tensor.at(0), std::logic_error);
  EXPECT_THROW(Tensor::scalar_f32(1).strings(), std::logic_error);
  EXPECT_THROW(Tensor::of_strings({3}, {"a"}), std::logic_error);
  EXPECT_EQ(Tensor(DType::kString, {3}).strings().size(), 3u);
}

TEST(Tensor, EveryNumericTypeReadsAsNumber) {
  const auto reads = [](DType dtype, auto value) {
    const std::array<decltype(value), 1> values = {value};
    return Tensor::of(dtype, {1}, std::span<const decltype(value)>(values)).at(0);
  };
  EXPECT_EQ(reads(DType::kF16, uint16_t{0x3c00}), 1);
  EXPECT_EQ(reads(DType::kBF16, uint16_t{0xbf80}), -1);
  EXPECT_EQ(reads(DType::kF32, 0.5f), 0.5);
  EXPECT_EQ(reads(DType::kF64, 1e-300), 1e-300);
  EXPECT_EQ(reads(DType::kI4, int8_t{-8}), -8);
  EXPECT_EQ(reads(DType::kU4, uint8_t{15}), 15);
  EXPECT_EQ(reads(DType::kI16, int16_t{-300}), -300);
  EXPECT_EQ(reads(DType::kU32, uint32_t{0xffffffff}), 4294967295.0);
  EXPECT_EQ(reads(DType::kBool, uint8_t{7}), 1);
  EXPECT_EQ(reads(DType::kF8E5M2, uint8_t{0x3c}), 1);
  EXPECT_EQ(reads(DType::kF4E2M1, uint8_t{0x0f}), -6);
  const std::array<float, 4> complex = {1, 2, 3, 4};
  EXPECT_EQ(Tensor::of(DType::kC64, {2}, std::span<const float>(complex)).at(1), 3);
}

TEST(Tensor, FloatsReadAsIntegersWithoutUndefinedBehaviour) {
  const std::array<float, 5> values = {1.9f, -1.9f, 1e30f, -std::numeric_limits<float>::infinity(),
                                       std::numeric_limits<float>::quiet_NaN()};
  constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
  EXPECT_THAT(Tensor::f32({5}, values).to_ints(),
              ElementsAre(1, -1, std::numeric_limits<int64_t>::max(), kLowest, kLowest));
}

TEST(Tensor, WrongElementCountIsABug) {
  const std::array<float, 2> values = {1, 2};
  EXPECT_THROW(Tensor::f32({3}, values), std::logic_error);
  EXPECT_THROW(Tensor(DType::kC128, {int64_t{1} << 61}), std::length_error);
}

TEST(Tensor, HostileShapesAreErrors) {
  EXPECT_FALSE(Tensor::try_make(DType::kF32, {-1}).ok());
  EXPECT_FALSE(Tensor::try_make(DType::kF32, {int64_t{1} << 40, int64_t{1} << 40}).ok());
  EXPECT_FALSE(Tensor::try_make(DType::kC128, {int64_t{1} << 61}).ok());
  const auto fine = Tensor::try_make(DType::kF32, {2, 3});
  ASSERT_TRUE(fine.ok());
  EXPECT_EQ(fine->shape(), (Shape{2, 3}));
}

TEST(Tensor, ZerosAreZero) {
  const Tensor zeros = Tensor::zeros(DType::kF64, {17});
  for (const double value : zeros.as<double>()) EXPECT_EQ(value, 0);
}

TEST(Tensor, SameMeansBitwise) {
  const std::array<float, 2> values = {std::numeric_limits<float>::quiet_NaN(), 0.0f};
  const std::array<float, 2> negative_zero = {values[0], -0.0f};
  EXPECT_TRUE(same_tensor(Tensor::f32({2}, values), Tensor::f32({2}, values)));
  EXPECT_FALSE(same_tensor(Tensor::f32({2}, values), Tensor::f32({2}, negative_zero)));
  EXPECT_FALSE(same_tensor(Tensor::f32({2}, values), Tensor::f32({2, 1}, values)));
  EXPECT_FALSE(same_tensor(Tensor::zeros(DType::kI32, {1}), Tensor::zeros(DType::kF32, {1})));
}

TEST(Tensor, ViewsPointIntoTheBuffer) {
  Tensor tensor = Tensor::zeros(DType::kF32, {2, 2});
  tensor.view().as<float>()[3] = 5;
  const ConstTensorView view = tensor.view();
  EXPECT_EQ(view.size(), 4);
  EXPECT_EQ(view.as<float>()[3], 5);
}

TEST(Tensor, NeverWritesWhatItHasBorrowed) {
  const std::vector<float> lent = {1, 2, 3};
  Tensor tensor = Tensor::borrowed(DType::kF32, {3}, lent.data(), nullptr);
  const Tensor reader = tensor;
  EXPECT_EQ(reader.data(), lent.data()) << "reading copies nothing";
  tensor.as<float>()[1] = 9;
  EXPECT_EQ(lent, (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(tensor.at(1), 9);
  EXPECT_EQ(reader.at(1), 2);
  Tensor other = Tensor::borrowed(DType::kF32, {3}, lent.data(), nullptr);
  static_cast<float*>(other.data())[0] = 7;
  EXPECT_EQ(lent[0], 1);
}

}  // namespace
}  // namespace hone

#include "lab/data/inputs.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <gtest/gtest.h>

namespace hone::lab {
namespace {

Tensor make(const std::string& name, DType dtype, Shape shape, std::optional<int64_t> limit = {}) {
  auto tensor = synthesise_input({name, dtype, std::move(shape), limit}, 1);
  EXPECT_TRUE(tensor.ok()) << (tensor.ok() ? "" : tensor.error().message);
  return tensor.ok() ? *tensor : Tensor();
}

TEST(Inputs, ImagesAreMicroscopyAndOtherFloatsNormal) {
  const Tensor image = make("x", DType::kF32, {1, 3, 64, 64});
  for (float value : image.as<float>()) ASSERT_TRUE(value >= 0 && value <= 1);
  EXPECT_EQ(describe_input({"x", DType::kF32, {1, 3, 64, 64}, {}}), "synthetic microscopy");

  const std::vector<double> values = make("x", DType::kF32, {4, 1000}).to_doubles();
  double sum = 0, squares = 0;
  for (double value : values) {
    sum += value;
    squares += value * value;
  }
  EXPECT_NEAR(sum / 4000, 0, 0.1);
  EXPECT_NEAR(squares / 4000, 1, 0.15);
}

TEST(Inputs, EveryFloatTypeGetsFiniteDifferentValues) {
  for (DType dtype : {DType::kF16, DType::kBF16, DType::kF32, DType::kF64, DType::kC64, DType::kC128,
                      DType::kF8E4M3FN, DType::kF8E5M2, DType::kF4E2M1}) {
    const std::vector<double> values = make("x", dtype, {100}).to_doubles();
    EXPECT_TRUE(std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); }));
    EXPECT_GT(std::set<double>(values.begin(), values.end()).size(), 3u) << dtype_name(dtype);
  }
}

TEST(Inputs, IdsStaySmallAndBelowAKnownLimit) {
  const auto ids = make("input_ids", DType::kI64, {2, 500}).to_ints();
  EXPECT_GE(*std::min_element(ids.begin(), ids.end()), 0);
  EXPECT_LT(*std::max_element(ids.begin(), ids.end()), kSafeIndexLimit);
  EXPECT_GT(*std::max_element(ids.begin(), ids.end()), kSafeIndexLimit / 2);
  const auto few = make("input_ids", DType::kI32, {2, 500}, 3).to_ints();
  EXPECT_EQ(std::set<int64_t>(few.begin(), few.end()), (std::set<int64_t>{0, 1, 2}));
  const auto none = make("input_ids", DType::kI64, {5}, 0).to_ints();
  EXPECT_EQ(none, std::vector<int64_t>(5, 0));
  const auto narrow = make("i", DType::kI8, {500}, 1000).to_ints();
  EXPECT_GE(*std::min_element(narrow.begin(), narrow.end()), 0);
}

TEST(Inputs, NamesSayWhatIntegersMean) {
  EXPECT_EQ(make("attention_mask", DType::kI64, {1, 3}).to_ints(), (std::vector<int64_t>{1, 1, 1}));
  EXPECT_EQ(make("Token_Type_Ids", DType::kI64, {1, 3}).to_ints(), (std::vector<int64_t>{0, 0, 0}));
  EXPECT_EQ(make("position_ids", DType::kI64, {2, 3}).to_ints(), (std::vector<int64_t>{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(make("position_ids", DType::kI64, {1, 3}, 2).to_ints(), (std::vector<int64_t>{0, 1, 0}));
  EXPECT_EQ(make("length", DType::kI64, {}).to_ints(), (std::vector<int64_t>{1}));
  EXPECT_EQ(make("keep", DType::kBool, {2}).to_ints(), (std::vector<int64_t>{1, 1}));
}

TEST(Inputs, BytesUseTheirWholeRange) {
  const auto signed_bytes = make("x", DType::kI8, {5000}).to_ints();
  EXPECT_EQ(*std::min_element(signed_bytes.begin(), signed_bytes.end()), -128);
  EXPECT_EQ(*std::max_element(signed_bytes.begin(), signed_bytes.end()), 127);
  const auto bytes = make("x", DType::kU8, {5000}).to_ints();
  EXPECT_EQ(*std::min_element(bytes.begin(), bytes.end()), 0);
  EXPECT_EQ(*std::max_element(bytes.begin(), bytes.end()), 255);
}

TEST(Inputs, AreDeterministicInSeedAndName) {
  const InputSpec spec = {"a", DType::kF32, {10}, {}};
  EXPECT_TRUE(same_tensor(*synthesise_input(spec, 1), *synthesise_input(spec, 1)));
  EXPECT_FALSE(same_tensor(*synthesise_input(spec, 1), *synthesise_input(spec, 2)));
  EXPECT_FALSE(same_tensor(*synthesise_input(spec, 1), *synthesise_input({"b", DType::kF32, {10}, {}}, 1)));
}

TEST(Inputs, StringsAndBrokenShapesAreRefusedByName) {
  const auto text = synthesise_input({"text", DType::kString, {1}, {}}, 1);
  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(text.error().message.find("'text'"), std::string::npos);
  EXPECT_FALSE(synthesise_input({"x", DType::kF32, {-1, 4}, {}}, 1).ok());
}

TEST(Inputs, EmptyTensorsAreEmpty) {
  EXPECT_EQ(make("x", DType::kF32, {0, 3, 64, 64}).size(), 0);
  EXPECT_EQ(make("x", DType::kI64, {0}).size(), 0);
}

}  // namespace
}  // namespace hone::lab

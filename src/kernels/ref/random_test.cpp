#include <bit>
#include <numeric>

#include "kernels/ref/test_call.h"

namespace hone::kernels::ref {
namespace {

Tensor seed_of(double onnx_seed) { return Tensor::scalar_i64(std::bit_cast<int64_t>(onnx_seed)); }
Tensor offset_of(int64_t offset) { return Tensor::scalar_i64(offset); }

TEST(RefRandom, ASeedAsAValueGivesTheNumbersOfTheSameSeedAsAnAttribute) {
  const Attributes shape = {{"shape", Ints{2, 5}}};
  const Attributes seeded = {{"shape", Ints{2, 5}}, {"seed", 3.0F}};
  EXPECT_EQ(values("hone.RandomNormal", {seed_of(3), offset_of(0)}, shape),
            values("RandomNormal", {}, seeded));
  EXPECT_EQ(values("hone.RandomUniform", {seed_of(3), offset_of(0), kMatrix}),
            values("RandomUniformLike", {kMatrix}, {{"seed", 3.0F}}));
  const Tensor half = floats({8}, {.5, .5, .5, .5, .5, .5, .5, .5});
  EXPECT_EQ(values("hone.Bernoulli", {half, seed_of(3), offset_of(0)}),
            values("Bernoulli", {half}, {{"seed", 3.0F}}));
  EXPECT_EQ(values("hone.Multinomial", {kMatrix, seed_of(3), offset_of(0)}, {{"sample_size", int64_t{9}}}),
            values("Multinomial", {kMatrix}, {{"seed", 3.0F}, {"sample_size", int64_t{9}}}));
  const Tensor training = narrow(DType::kBool, {}, std::vector<int64_t>{1});
  EXPECT_EQ(values("hone.Dropout", {half, seed_of(3), offset_of(0), floats({}, {.25})}),
            values("Dropout", {half, floats({}, {.25}), training}, {{"seed", int64_t{3}}}));
}

TEST(RefRandom, TheOffsetIsAPlaceInOneStream) {
  const auto whole = values("hone.RandomUniform", {seed_of(1), offset_of(0)}, {{"shape", Ints{10}}});
  const auto tail = values("hone.RandomUniform", {seed_of(1), offset_of(7)}, {{"shape", Ints{3}}});
  EXPECT_EQ(tail, Doubles(whole.begin() + 7, whole.end()));
}

TEST(RefRandom, WithoutASeedThereAreNoNumbers) {
  const auto drawn = run("RandomNormal", {}, {{"shape", Ints{2}}});
  ASSERT_FALSE(drawn.ok());
  EXPECT_NE(drawn.error().message.find("has no seed; give it one"), std::string::npos)
      << drawn.error().message;
  EXPECT_TRUE(fails("hone.RandomNormal", {kMatrix, offset_of(0)}, {{"shape", Ints{2}}}));
  EXPECT_FALSE(fails("Dropout", {kMatrix})) << "it does not train: it draws nothing";
}

TEST(RefRandom, DropoutKeepsTheMeanAndAppliedToAGradientDropsTheSame) {
  Tensor ones(DType::kF32, {10000});
  for (float& x : ones.as<float>()) x = 1;
  const auto kept = values("hone.Dropout", {ones, seed_of(5), offset_of(40), floats({}, {.2})});
  EXPECT_NEAR(std::accumulate(kept.begin(), kept.end(), 0.0) / 10000, 1, 0.02);
  EXPECT_EQ(kept, values("hone.Dropout", {ones, seed_of(5), offset_of(40), floats({}, {.2})}));
  EXPECT_NE(kept, values("hone.Dropout", {ones, seed_of(5), offset_of(10040), floats({}, {.2})}));
}

}  // namespace
}  // namespace hone::kernels::ref

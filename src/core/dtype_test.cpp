// Element types. Conversions are checked at every code, at every midpoint between neighbouring codes and one
// float to either side of it, against the definition of round-to-nearest-even rather than a second encoder.
#include "core/dtype.h"

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace hone {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

uint32_t bits_of(float value) { return std::bit_cast<uint32_t>(value); }

TEST(DType, NamesAreUniqueAndReadBack) {
  for (int i = 1; i <= static_cast<int>(DType::kString); ++i) {
    const auto dtype = static_cast<DType>(i);
    ASSERT_EQ(dtype_from_name(dtype_name(dtype)), dtype) << dtype_name(dtype);
  }
  EXPECT_EQ(dtype_name(DType::kBF16), "bf16");
  EXPECT_EQ(dtype_name(DType::kF8E4M3FN), "f8e4m3fn");
  EXPECT_FALSE(dtype_from_name("float"));
  EXPECT_FALSE(dtype_from_name("undefined"));
  EXPECT_FALSE(dtype_from_name(""));
}

TEST(DType, SizesAndClasses) {
  EXPECT_EQ(dtype_size(DType::kC128), 16u);
  EXPECT_EQ(dtype_size(DType::kI4), 1u);
  EXPECT_EQ(dtype_bits(DType::kI4), 4);
  EXPECT_EQ(dtype_size(DType::kString), 0u);
  EXPECT_EQ(dtype_size(static_cast<DType>(250)), 0u);
  EXPECT_TRUE(is_float(DType::kF4E2M1));
  EXPECT_FALSE(is_float(DType::kC64));
  EXPECT_TRUE(is_integer(DType::kU2));
  EXPECT_FALSE(is_integer(DType::kBool));
  EXPECT_TRUE(is_signed(DType::kI4));
  EXPECT_TRUE(is_signed(DType::kBF16));
  EXPECT_FALSE(is_signed(DType::kU8));
  EXPECT_FALSE(is_signed(DType::kF8E8M0));
}

TEST(F16, KnownValues) {
  EXPECT_EQ(f32_to_f16(1.0f), 0x3c00);
  EXPECT_EQ(f32_to_f16(-2.0f), 0xc000);
  EXPECT_EQ(f32_to_f16(65504.0f), 0x7bff);
  EXPECT_EQ(f32_to_f16(65519.996f), 0x7bff);
  EXPECT_EQ(f32_to_f16(65520.0f), 0x7c00);
  EXPECT_EQ(f32_to_f16(0x1p-24f), 0x0001);
  EXPECT_EQ(f32_to_f16(0x1p-25f), 0x0000);  // a tie, to the even zero
  EXPECT_EQ(f32_to_f16(std::nextafter(0x1p-25f, 1.0f)), 0x0001);
  EXPECT_EQ(f32_to_f16(-0.0f), 0x8000);
  EXPECT_EQ(f32_to_f16(std::numeric_limits<float>::denorm_min()), 0x0000);
  EXPECT_EQ(f16_to_f32(0x3555), 0.333251953125f);
  EXPECT_EQ(f16_to_f32(0x0001), 0x1p-24f);
  EXPECT_EQ(f16_to_f32(0x03ff), 1023 * 0x1p-24f);
}

TEST(F16, EveryCodeReadsBack) {
  for (uint32_t code = 0; code < 0x10000; ++code) {
    const float value = f16_to_f32(static_cast<uint16_t>(code));
    if ((code & 0x7fff) > 0x7c00) {
      ASSERT_TRUE(std::isnan(value)) << code;
      ASSERT_EQ(f32_to_f16(value), code | 0x200) << code;  // payload and sign kept, made quiet
    } else {
      ASSERT_EQ(f32_to_f16(value), code);
    }
  }
}

TEST(F16, RoundsToNearestEven) {
  for (uint32_t code = 0; code < 0x7bff; ++code) {
    const double low = f16_to_f32(static_cast<uint16_t>(code));
    const double high = f16_to_f32(static_cast<uint16_t>(code + 1));
    const auto middle = static_cast<float>((low + high) / 2);  // exact: one more bit than f16 has
    ASSERT_EQ(f32_to_f16(middle), code + (code & 1)) << code;
    ASSERT_EQ(f32_to_f16(std::nextafter(middle, 0.0f)), code) << code;
    ASSERT_EQ(f32_to_f16(std::nextafter(middle, kInfinity)), code + 1) << code;
    ASSERT_EQ(f32_to_f16(-middle), 0x8000 | (code + (code & 1))) << code;
  }
}

TEST(BF16, EveryCodeReadsBackAndRoundsToNearestEven) {
  for (uint32_t code = 0; code < 0x10000; ++code) {
    const float value = bf16_to_f32(static_cast<uint16_t>(code));
    if (std::isnan(value)) {
      ASSERT_EQ(f32_to_bf16(value), code | 0x40) << code;
      continue;
    }
    ASSERT_EQ(f32_to_bf16(value), code);
    if (std::isinf(value)) continue;
    const uint32_t middle = (code << 16) | 0x8000;
    ASSERT_EQ(f32_to_bf16(std::bit_cast<float>(middle)), code + (code & 1)) << code;
    ASSERT_EQ(f32_to_bf16(std::bit_cast<float>(middle - 1)), code) << code;
    ASSERT_EQ(f32_to_bf16(std::bit_cast<float>(middle + 1)), code + 1) << code;
  }
  EXPECT_EQ(f32_to_bf16(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_TRUE(std::isnan(bf16_to_f32(f32_to_bf16(std::bit_cast<float>(0x7f800001u)))));
}

struct NarrowCase {
  DType dtype;
  float largest;
  float smallest;      // the smallest subnormal
  uint8_t sign;        // the sign bit
  uint8_t last_code;   // magnitude code of the largest finite value
  bool negative_zero;  // whether -0 exists
};

class Narrow : public testing::TestWithParam<NarrowCase> {};

TEST_P(Narrow, EveryFiniteCodeReadsBack) {
  const NarrowCase& type = GetParam();
  for (int code = 0; code <= type.last_code; ++code) {
    const auto bits = static_cast<uint8_t>(code);
    const float value = narrow_to_f32(type.dtype, bits);
    ASSERT_TRUE(std::isfinite(value)) << code;
    ASSERT_EQ(f32_to_narrow(type.dtype, value), bits);
    if (code == 0) continue;
    ASSERT_GT(value, narrow_to_f32(type.dtype, static_cast<uint8_t>(code - 1))) << code;
    ASSERT_EQ(f32_to_narrow(type.dtype, -value), type.sign | bits);
    ASSERT_EQ(narrow_to_f32(type.dtype, type.sign | bits), -value);
  }
  EXPECT_EQ(narrow_to_f32(type.dtype, type.last_code), type.largest);
  EXPECT_EQ(narrow_to_f32(type.dtype, 1), type.smallest);
}

TEST_P(Narrow, RoundsToNearestEven) {
  const NarrowCase& type = GetParam();
  for (int code = 0; code < type.last_code; ++code) {
    const float low = narrow_to_f32(type.dtype, static_cast<uint8_t>(code));
    const float high = narrow_to_f32(type.dtype, static_cast<uint8_t>(code + 1));
    const float middle = (low + high) / 2;
    ASSERT_EQ(f32_to_narrow(type.dtype, middle), code + (code & 1)) << code;
    ASSERT_EQ(f32_to_narrow(type.dtype, std::nextafter(middle, 0.0f)), code) << code;
    ASSERT_EQ(f32_to_narrow(type.dtype, std::nextafter(middle, kInfinity)), code + 1) << code;
  }
}

TEST_P(Narrow, OverflowSaturatesWhereAsked) {
  const NarrowCase& type = GetParam();
  for (const float value : {type.largest * 2, kInfinity, std::numeric_limits<float>::max()}) {
    EXPECT_EQ(f32_to_narrow(type.dtype, value), type.last_code);
    EXPECT_EQ(f32_to_narrow(type.dtype, -value), type.sign | type.last_code);
  }
}

TEST_P(Narrow, ZeroKeepsItsSignWhereTheFormatHasOne) {
  const NarrowCase& type = GetParam();
  EXPECT_EQ(f32_to_narrow(type.dtype, 0.0f), 0);
  const uint8_t negative_zero = type.negative_zero ? type.sign : 0;
  EXPECT_EQ(f32_to_narrow(type.dtype, -0.0f), negative_zero);
  EXPECT_EQ(f32_to_narrow(type.dtype, -std::numeric_limits<float>::denorm_min()), negative_zero);
}

INSTANTIATE_TEST_SUITE_P(Formats, Narrow,
                         testing::Values(NarrowCase{DType::kF8E4M3FN, 448, 0x1p-9f, 0x80, 0x7e, true},
                                         NarrowCase{DType::kF8E4M3FNUZ, 240, 0x1p-10f, 0x80, 0x7f, false},
                                         NarrowCase{DType::kF8E5M2, 57344, 0x1p-16f, 0x80, 0x7b, true},
                                         NarrowCase{DType::kF8E5M2FNUZ, 57344, 0x1p-17f, 0x80, 0x7f, false},
                                         NarrowCase{DType::kF4E2M1, 6, 0.5f, 0x08, 0x07, true}),
                         [](const auto& p) { return std::string(dtype_name(p.param.dtype)); });

TEST(NarrowSpecials, NanAndInfinityFollowTheFormat) {
  EXPECT_EQ(f32_to_narrow(DType::kF8E4M3FN, kNan), 0x7f);
  EXPECT_EQ(f32_to_narrow(DType::kF8E4M3FN, -kNan), 0xff);
  EXPECT_EQ(f32_to_narrow(DType::kF8E4M3FN, 465.0f, false), 0x7f);  // rounds past 448
  EXPECT_EQ(f32_to_narrow(DType::kF8E4M3FN, 464.0f, false), 0x7e);  // a tie, to the even 448
  EXPECT_EQ(f32_to_narrow(DType::kF8E4M3FNUZ, kNan), 0x80);
  EXPECT_EQ(f32_to_narrow(DType::kF8E4M3FNUZ, -kInfinity, false), 0x80);
  EXPECT_EQ(f32_to_narrow(DType::kF8E5M2, -kInfinity, false), 0xfc);
  EXPECT_EQ(f32_to_narrow(DType::kF8E5M2, 1e6f, false), 0x7c);
  EXPECT_EQ(f32_to_narrow(DType::kF8E5M2FNUZ, kInfinity, false), 0x80);
  EXPECT_EQ(narrow_to_f32(DType::kF8E5M2, 0xfc), -kInfinity);
  for (const int code : {0x7d, 0x7e, 0x7f, 0xfd, 0xfe, 0xff})
    EXPECT_TRUE(std::isnan(narrow_to_f32(DType::kF8E5M2, static_cast<uint8_t>(code)))) << code;
  EXPECT_TRUE(std::isnan(narrow_to_f32(DType::kF8E4M3FN, 0xff)));
  EXPECT_TRUE(std::isnan(narrow_to_f32(DType::kF8E5M2FNUZ, 0x80)));
  EXPECT_EQ(f32_to_narrow(DType::kF4E2M1, kNan), 0);
  EXPECT_EQ(f32_to_narrow(DType::kF4E2M1, kInfinity, false), 0x07);
}

TEST(E8M0, EveryPowerOfTwoReadsBack) {
  for (int code = 0; code < 0xff; ++code) {
    const float value = narrow_to_f32(DType::kF8E8M0, static_cast<uint8_t>(code));
    ASSERT_EQ(value, std::ldexp(1.0f, code - 127));
    for (const auto rounding : {E8M0Rounding::kUp, E8M0Rounding::kDown, E8M0Rounding::kNearest})
      ASSERT_EQ(f32_to_e8m0(value, rounding), code);
  }
  EXPECT_TRUE(std::isnan(narrow_to_f32(DType::kF8E8M0, 0xff)));
}

TEST(E8M0, RoundsAsAsked) {
  EXPECT_EQ(f32_to_e8m0(1.25f, E8M0Rounding::kUp), 128);
  EXPECT_EQ(f32_to_e8m0(1.25f, E8M0Rounding::kDown), 127);
  EXPECT_EQ(f32_to_e8m0(1.25f, E8M0Rounding::kNearest), 127);
  EXPECT_EQ(f32_to_e8m0(1.5f, E8M0Rounding::kNearest), 128);
  EXPECT_EQ(f32_to_narrow(DType::kF8E8M0, 1.25f), 128);
  EXPECT_EQ(f32_to_e8m0(0.0f, E8M0Rounding::kUp), 0);
  EXPECT_EQ(f32_to_e8m0(0.0f, E8M0Rounding::kNearest, false), 0xff);
  EXPECT_EQ(f32_to_e8m0(kInfinity, E8M0Rounding::kUp), 0xfe);
  EXPECT_EQ(f32_to_e8m0(std::numeric_limits<float>::max(), E8M0Rounding::kUp), 0xfe);
  EXPECT_EQ(f32_to_e8m0(std::numeric_limits<float>::max(), E8M0Rounding::kUp, false), 0xff);
  EXPECT_EQ(f32_to_e8m0(kNan, E8M0Rounding::kUp), 0xff);
}

TEST(NarrowSpecials, ATypeThatIsNotNarrowGivesNan) {
  EXPECT_TRUE(std::isnan(narrow_to_f32(DType::kF32, 1)));
  EXPECT_EQ(bits_of(f16_to_f32(0x8000)), 0x80000000u);
}

}  // namespace
}  // namespace hone

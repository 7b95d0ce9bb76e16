// Element types: the table of names and sizes, and the conversions of narrow floating-point types.
#include "core/dtype.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace hone {
namespace {

enum class Class : uint8_t { kNone, kFloat, kSigned, kUnsigned, kBool, kComplex };

struct DTypeInfo {
  DType dtype;
  std::string_view name;
  uint8_t size;  // bytes in memory
  uint8_t bits;  // information content
  Class kind;
};

constexpr std::array kTable = {
    DTypeInfo{DType::kUndefined, "undefined", 0, 0, Class::kNone},
    DTypeInfo{DType::kF16, "f16", 2, 16, Class::kFloat},
    DTypeInfo{DType::kBF16, "bf16", 2, 16, Class::kFloat},
    DTypeInfo{DType::kF32, "f32", 4, 32, Class::kFloat},
    DTypeInfo{DType::kF64, "f64", 8, 64, Class::kFloat},
    DTypeInfo{DType::kI8, "i8", 1, 8, Class::kSigned},
    DTypeInfo{DType::kI16, "i16", 2, 16, Class::kSigned},
    DTypeInfo{DType::kI32, "i32", 4, 32, Class::kSigned},
    DTypeInfo{DType::kI64, "i64", 8, 64, Class::kSigned},
    DTypeInfo{DType::kU8, "u8", 1, 8, Class::kUnsigned},
    DTypeInfo{DType::kU16, "u16", 2, 16, Class::kUnsigned},
    DTypeInfo{DType::kU32, "u32", 4, 32, Class::kUnsigned},
    DTypeInfo{DType::kU64, "u64", 8, 64, Class::kUnsigned},
    DTypeInfo{DType::kBool, "bool", 1, 8, Class::kBool},
    DTypeInfo{DType::kC64, "c64", 8, 64, Class::kComplex},
    DTypeInfo{DType::kC128, "c128", 16, 128, Class::kComplex},
    DTypeInfo{DType::kF8E4M3FN, "f8e4m3fn", 1, 8, Class::kFloat},
    DTypeInfo{DType::kF8E4M3FNUZ, "f8e4m3fnuz", 1, 8, Class::kFloat},
    DTypeInfo{DType::kF8E5M2, "f8e5m2", 1, 8, Class::kFloat},
    DTypeInfo{DType::kF8E5M2FNUZ, "f8e5m2fnuz", 1, 8, Class::kFloat},
    DTypeInfo{DType::kF8E8M0, "f8e8m0", 1, 8, Class::kFloat},
    DTypeInfo{DType::kI4, "i4", 1, 4, Class::kSigned},
    DTypeInfo{DType::kU4, "u4", 1, 4, Class::kUnsigned},
    DTypeInfo{DType::kF4E2M1, "f4e2m1", 1, 4, Class::kFloat},
    DTypeInfo{DType::kI2, "i2", 1, 2, Class::kSigned},
    DTypeInfo{DType::kU2, "u2", 1, 2, Class::kUnsigned},
    DTypeInfo{DType::kString, "string", 0, 0, Class::kNone},
};

constexpr bool table_is_in_order() {
  for (std::size_t i = 0; i < kTable.size(); ++i)
    if (static_cast<std::size_t>(kTable[i].dtype) != i) return false;
  return true;
}
static_assert(table_is_in_order(), "kTable is indexed by DType");

const DTypeInfo& info(DType dtype) {
  const auto index = static_cast<std::size_t>(dtype);
  return kTable[index < kTable.size() ? index : 0];
}

// A narrow format with sign, exponent and mantissa. Codes of the magnitude grow with the value, which is why
// encoding can count in steps of the last place and let the carry run into the exponent.
struct NarrowFormat {
  int mantissa_bits;
  int bias;
  uint8_t sign_bit;
  uint8_t max_code;  // magnitude code of the largest finite value
  bool has_infinity;
  bool has_nan;
  bool unsigned_zero;  // FNUZ: the code of -0 is the only NaN, and there are no infinities
};

constexpr NarrowFormat kE4M3FN{3, 7, 0x80, 0x7e, false, true, false};
constexpr NarrowFormat kE4M3FNUZ{3, 8, 0x80, 0x7f, false, true, true};
constexpr NarrowFormat kE5M2{2, 15, 0x80, 0x7b, true, true, false};
constexpr NarrowFormat kE5M2FNUZ{2, 16, 0x80, 0x7f, false, true, true};
constexpr NarrowFormat kE2M1{1, 1, 0x08, 0x07, false, false, false};

const NarrowFormat* narrow_format(DType dtype) {
  switch (dtype) {
    case DType::kF8E4M3FN:
      return &kE4M3FN;
    case DType::kF8E4M3FNUZ:
      return &kE4M3FNUZ;
    case DType::kF8E5M2:
      return &kE5M2;
    case DType::kF8E5M2FNUZ:
      return &kE5M2FNUZ;
    case DType::kF4E2M1:
      return &kE2M1;
    default:
      return nullptr;
  }
}

float decode(const NarrowFormat& format, uint8_t bits) {
  const bool negative = (bits & format.sign_bit) != 0;
  const int code = bits & (format.sign_bit - 1);
  const float sign = negative ? -1.0f : 1.0f;
  if (format.unsigned_zero && negative && code == 0) return std::numeric_limits<float>::quiet_NaN();
  if (code > format.max_code) {
    if (format.has_infinity && code == format.max_code + 1)
      return sign * std::numeric_limits<float>::infinity();
    return std::copysign(std::numeric_limits<float>::quiet_NaN(), sign);
  }
  const int exponent = code >> format.mantissa_bits;
  const int mantissa = code & ((1 << format.mantissa_bits) - 1);
  const int significand = exponent == 0 ? mantissa : mantissa + (1 << format.mantissa_bits);
  return sign * std::ldexp(static_cast<float>(significand),
                           std::max(exponent, 1) - format.bias - format.mantissa_bits);
}

uint8_t encode_nan(const NarrowFormat& format, uint8_t sign) {
  if (format.unsigned_zero) return format.sign_bit;
  if (!format.has_nan) return 0;  // the format cannot say NaN
  return static_cast<uint8_t>(sign | (format.sign_bit - 1));
}

uint8_t encode_overflow(const NarrowFormat& format, uint8_t sign, bool saturate) {
  if (saturate || !format.has_nan) return static_cast<uint8_t>(sign | format.max_code);
  if (format.has_infinity) return static_cast<uint8_t>(sign | (format.max_code + 1));
  return encode_nan(format, sign);
}

uint8_t encode(const NarrowFormat& format, float value, bool saturate) {
  const uint8_t sign = std::signbit(value) ? format.sign_bit : uint8_t{0};
  if (std::isnan(value)) return encode_nan(format, sign);
  if (std::isinf(value)) return encode_overflow(format, sign, saturate);
  const double magnitude = std::fabs(static_cast<double>(value));
  const int lowest = 1 - format.bias;  // exponent of the smallest normal number, shared by the subnormals
  const int exponent = magnitude == 0 ? lowest : std::max(std::ilogb(magnitude), lowest);
  // In units of the last place, exact in a double; nearbyint rounds ties to even.
  const double steps = std::nearbyint(std::ldexp(magnitude, format.mantissa_bits - exponent));
  const double code = std::ldexp(static_cast<double>(exponent - lowest), format.mantissa_bits) + steps;
  if (code > format.max_code) return encode_overflow(format, sign, saturate);
  if (code == 0 && format.unsigned_zero) return 0;
  return static_cast<uint8_t>(sign | static_cast<uint8_t>(code));
}

}  // namespace

std::string_view dtype_name(DType dtype) { return info(dtype).name; }

std::optional<DType> dtype_from_name(std::string_view name) {
  for (const DTypeInfo& row : kTable)
    if (row.name == name && row.dtype != DType::kUndefined) return row.dtype;
  return std::nullopt;
}

std::size_t dtype_size(DType dtype) { return info(dtype).size; }
int dtype_bits(DType dtype) { return info(dtype).bits; }

bool is_float(DType dtype) { return info(dtype).kind == Class::kFloat; }
bool is_integer(DType dtype) {
  return info(dtype).kind == Class::kSigned || info(dtype).kind == Class::kUnsigned;
}
bool is_signed(DType dtype) {
  return info(dtype).kind == Class::kSigned || (is_float(dtype) && dtype != DType::kF8E8M0);
}
bool is_complex(DType dtype) { return info(dtype).kind == Class::kComplex; }

float f16_to_f32(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1fu;
  const uint32_t mantissa = bits & 0x3ffu;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
  if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
  // Subnormal: mantissa · 2^-24, exact in f32.
  const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
}

uint16_t f32_to_f16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
  if (magnitude >= 0x47800000u) return static_cast<uint16_t>(sign | 0x7c00u);  // 2^16 and above, infinity
  if (magnitude >= 0x38800000u) {                                              // 2^-14 and above: normal
    const uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
    return static_cast<uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
  }
  // Subnormal: shift the significand to units of 2^-24 and round to even.
  const uint32_t shift = 126u - (magnitude >> 23);
  if (shift > 24u) return static_cast<uint16_t>(sign);
  const uint32_t significand = (magnitude & 0x7fffffu) | 0x800000u;
  const uint32_t half = 1u << (shift - 1u);
  const uint32_t rounded = significand + (half - 1u) + ((significand >> shift) & 1u);
  return static_cast<uint16_t>(sign | (rounded >> shift));
}

float bf16_to_f32(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

uint16_t f32_to_bf16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

float narrow_to_f32(DType dtype, uint8_t bits) {
  if (dtype == DType::kF8E8M0) {
    if (bits == 0xff) return std::numeric_limits<float>::quiet_NaN();
    return std::ldexp(1.0f, static_cast<int>(bits) - 127);
  }
  const NarrowFormat* format = narrow_format(dtype);
  return format == nullptr ? std::numeric_limits<float>::quiet_NaN() : decode(*format, bits);
}

uint8_t f32_to_narrow(DType dtype, float value, bool saturate) {
  if (dtype == DType::kF8E8M0) return f32_to_e8m0(value, E8M0Rounding::kUp, saturate);
  const NarrowFormat* format = narrow_format(dtype);
  return format == nullptr ? uint8_t{0} : encode(*format, value, saturate);
}

uint8_t f32_to_e8m0(float value, E8M0Rounding rounding, bool saturate) {
  constexpr uint8_t kNan = 0xff;
  constexpr int kMaxCode = 0xfe;
  if (std::isnan(value)) return kNan;
  const float magnitude = std::fabs(value);
  if (magnitude < 0x1p-127f) return saturate ? uint8_t{0} : kNan;
  if (std::isinf(magnitude)) return saturate ? static_cast<uint8_t>(kMaxCode) : kNan;
  const int exponent = std::ilogb(magnitude);
  const float significand = std::scalbn(magnitude, -exponent);  // in [1, 2)
  const bool up = (rounding == E8M0Rounding::kUp && significand > 1.0f) ||
                  (rounding == E8M0Rounding::kNearest && significand >= 1.5f);
  const int code = exponent + 127 + (up ? 1 : 0);
  if (code > kMaxCode) return saturate ? static_cast<uint8_t>(kMaxCode) : kNan;
  return static_cast<uint8_t>(code);
}

}  // namespace hone

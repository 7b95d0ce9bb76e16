// Element types: names, sizes, classes, and conversion of the narrow floating-point types.
// Sub-byte types are stored one element a byte in a Tensor, signed ones sign-extended; files pack them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace hone {

enum class DType : uint8_t {
  kUndefined,
  kF16,
  kBF16,
  kF32,
  kF64,
  kI8,
  kI16,
  kI32,
  kI64,
  kU8,
  kU16,
  kU32,
  kU64,
  kBool,
  kC64,
  kC128,  // complex of two f32, of two f64
  kF8E4M3FN,
  kF8E4M3FNUZ,
  kF8E5M2,
  kF8E5M2FNUZ,
  kF8E8M0,
  kI4,
  kU4,
  kF4E2M1,
  kI2,
  kU2,
  kString,
};

// "f32", "bf16", "i64", "bool", "f8e4m3fn", …; the spelling of hone's text form, JSON and messages.
std::string_view dtype_name(DType dtype);
std::optional<DType> dtype_from_name(std::string_view name);

// Bytes an element takes in memory (1 for sub-byte types; 0 for kUndefined and kString).
std::size_t dtype_size(DType dtype);
// Bits that an element holds: what traffic and file sizes are counted in.
int dtype_bits(DType dtype);

bool is_float(DType dtype);    // every floating-point type, narrow ones included
bool is_integer(DType dtype);  // signed and unsigned, bool excluded
bool is_signed(DType dtype);   // signed integers and floats
bool is_complex(DType dtype);

// IEEE 754 binary16 and bfloat16; to-nearest-even, overflow to infinity, NaN kept.
float f16_to_f32(uint16_t bits);
uint16_t f32_to_f16(float value);
float bf16_to_f32(uint16_t bits);
uint16_t f32_to_bf16(float value);

// The 8- and 4-bit types of the ONNX specification ("Float stored in 8 bits"). `saturate` clamps infinity and
// finite overflow to the largest finite value; otherwise they become infinity or NaN as the format has it.
// f4e2m1 has neither: overflow always clamps, NaN becomes 0. f8e8m0 rounds up, the ONNX default.
float narrow_to_f32(DType dtype, uint8_t bits);
uint8_t f32_to_narrow(DType dtype, float value, bool saturate = true);

// The power-of-two scale type of the OCP microscaling formats; the sign is dropped, ties of kNearest go up.
enum class E8M0Rounding : uint8_t { kUp, kDown, kNearest };
uint8_t f32_to_e8m0(float value, E8M0Rounding rounding, bool saturate = true);

}  // namespace hone

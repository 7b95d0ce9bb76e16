// One instruction over one tile: what the pointwise interpreter runs. Internal to this folder.
#pragma once

#include <bit>
#include <cstdint>

#include "kernels/pointwise/program.h"

namespace hone::kernels::internal {

inline constexpr int64_t kTile = 1024;      // elements: a handful of f32 tiles stay in a 32 KiB L1 cache
inline constexpr int64_t kSplatBytes = 64;  // one full vector of the same value

// The elements of a value in this tile: data[i] where mask is -1, data[0] for all where mask is 0 (then data
// holds kSplatBytes of copies).
struct TileOperand {
  const void* data = nullptr;
  int64_t mask = -1;
};

struct TileStep {
  PointwiseOp op = PointwiseOp::kAdd;
  DType type = DType::kF32;    // of operand a (of b for kWhere), as held
  DType second = DType::kF32;  // of operand b, as held: kPow
  DType to = DType::kF32;      // kCast: the dtype asked for
  float alpha = 0, beta = 0;
  TileOperand a = {}, b = {}, c = {};
  void* result = nullptr;
};

// Runs one step on n elements; n <= kTile. `result` may be the very data of an operand of the same element
// size.
void run_f32_step(const TileStep& step, int64_t n) noexcept;    // f32, f32 to bool, or where
void run_typed_step(const TileStep& step, int64_t n) noexcept;  // everything else
bool is_f32_step(PointwiseOp op, DType type);

// core's f32_to_bf16 in line, and back.
inline uint16_t to_bf16(float x) noexcept {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  return static_cast<uint16_t>(x == x ? rounded : (bits >> 16) | 0x40u);
}

inline float from_bf16(uint16_t x) noexcept { return std::bit_cast<float>(static_cast<uint32_t>(x) << 16); }
// The same for many; `from` and `to` may be one.
void narrow_to_bf16(const float* from, uint16_t* to, int64_t n) noexcept;
void widen_bf16(const uint16_t* from, float* to, int64_t n) noexcept;
void round_to_bf16(const float* from, float* to, int64_t n) noexcept;

// n elements of memory of `dtype`, `stride` elements apart, to held values, and back.
void load_held(const void* from, DType dtype, int64_t stride, void* to, int64_t n) noexcept;
void store_held(const void* from, DType dtype, void* to, int64_t n) noexcept;
void fill_held(const void* from, DType held, void* to, int64_t n) noexcept;  // n copies of one held value

// Folds n held elements into `accumulator` (a double, or an int64_t for integers).
void reduce_f32(ReduceOp op, const float* from, int64_t n, double* accumulator) noexcept;
void reduce_held(ReduceOp op, DType held, const void* from, int64_t n, void* accumulator) noexcept;

}  // namespace hone::kernels::internal

// Parameters of bf16 as optimizers update them: widened to f32, and rounded stochastically behind the update
// (core/stochastic_rounding.h), both exactly as scalar code would. Internal to kernels/cpu/optimizer.
#pragma once

#include <cstdint>

namespace hone::kernels {

// Elements that are rounded together; random bits are drawn for all of them.
inline constexpr int64_t kRoundedTile = 256;

void widen_bf16(const uint16_t* from, float* to, int64_t count) noexcept;

// Elements [first, first + count) of a parameter, within one tile: first / kRoundedTile is (first + count - 1) / kRoundedTile.
// `stream`: RoundingBits::stream() of the parameter and the update.
void round_stochastically(const float* from, int64_t first, int64_t count, uint64_t seed, uint64_t stream,
                          uint16_t* to) noexcept;

}  // namespace hone::kernels

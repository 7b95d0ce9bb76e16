// Inputs for a model that comes without any: random values that are safe for what the input seems to be.
// Timing needs no more; accuracy needs the user's own data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/result.h"
#include "core/tensor.h"

namespace hone::lab {

struct InputSpec {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;  // concrete: symbols are the caller's to fill
  std::optional<int64_t>
      index_limit;  // for integers: what they index has this many rows, where that is known
};

inline constexpr int64_t kSafeIndexLimit = 64;  // ids below it exist in any real vocabulary

// What synthesise_input() will make, in words for the report: "synthetic microscopy", "ids below 64", "ones
// (a mask)", …
std::string describe_input(const InputSpec& spec);

// Deterministic in (seed, name). By dtype, shape and name:
// - f32 [N, 1 to 4, H ≥ 32, W ≥ 32]: synthetic microscopy; other floats and complex: standard normal;
// - integers named like masks: ones; like token types or segments: zeros; like positions: 0, 1, 2, … along
//   the last axis, below the limit; of one element (lengths, counts): one; u8 and i8 without a limit: their whole
//   range (image and quantised data); else uniform in [0, limit);
// - bool: true. `unsupported` for strings.
Result<Tensor> synthesise_input(const InputSpec& spec, uint64_t seed);

}  // namespace hone::lab

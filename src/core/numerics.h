// What a change does to the numbers that a model computes: the class that every pass states and the gate
// checks.
#pragma once

#include <cstdint>
#include <string_view>

namespace hone {

enum class Numerics : uint8_t {
  kExact,          // bitwise the same results
  kReassociating,  // the same mathematics in another order: other rounding
  kLossy,          // other mathematics (precision, quantisation, pruning): the user asks for it
};

constexpr std::string_view numerics_name(Numerics numerics) {
  switch (numerics) {
    case Numerics::kExact:
      return "exact";
    case Numerics::kReassociating:
      return "reassociating";
    case Numerics::kLossy:
      return "lossy";
  }
  return "unknown";
}

}  // namespace hone

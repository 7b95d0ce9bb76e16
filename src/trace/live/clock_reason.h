// Why a GPU's clocks are below their maximum: the driver's "clocks event reasons", one row each.
#pragma once

#include <cstdint>
#include <span>

namespace hone::trace::live {

enum class ClockReason : uint8_t {
  kIdle,
  kApplicationClocks,
  kPowerCap,
  kHardwareSlowdown,
  kSyncBoost,
  kSoftwareThermal,
  kHardwareThermal,
  kPowerBrake,
  kDisplayClocks,
};

struct ClockReasonRow {
  ClockReason reason;
  const char* name;   // JSON
  const char* words;  // for people
  // Work runs slower than the machine was bought for; the others are settings, or nothing to do.
  bool holds_back;
};

// In the order of the enumeration.
std::span<const ClockReasonRow> clock_reasons();
const ClockReasonRow& row_of(ClockReason reason);

}  // namespace hone::trace::live

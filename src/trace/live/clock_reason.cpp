#include "trace/live/clock_reason.h"

#include <array>
#include <cstddef>

namespace hone::trace::live {
namespace {

constexpr std::array kClockReasons = {
    ClockReasonRow{ClockReason::kIdle, "idle", "nothing to run", false},
    ClockReasonRow{ClockReason::kApplicationClocks, "application_clocks",
                   "limited by the application clocks that were set", false},
    ClockReasonRow{ClockReason::kPowerCap, "power_cap", "at the power limit", true},
    ClockReasonRow{ClockReason::kHardwareSlowdown, "hardware_slowdown",
                   "slowed down by the hardware (heat, or too little power)", true},
    ClockReasonRow{ClockReason::kSyncBoost, "sync_boost", "held to the slowest GPU of its sync boost group",
                   true},
    ClockReasonRow{ClockReason::kSoftwareThermal, "software_thermal", "too hot: the driver lowers the clocks",
                   true},
    ClockReasonRow{ClockReason::kHardwareThermal, "hardware_thermal",
                   "too hot: the hardware halves the clocks", true},
    ClockReasonRow{ClockReason::kPowerBrake, "power_brake", "the power supply asks for less (power brake)",
                   true},
    ClockReasonRow{ClockReason::kDisplayClocks, "display_clocks", "limited by the display's clocks", false},
};

}  // namespace

std::span<const ClockReasonRow> clock_reasons() { return kClockReasons; }

const ClockReasonRow& row_of(ClockReason reason) { return kClockReasons[static_cast<std::size_t>(reason)]; }

}  // namespace hone::trace::live

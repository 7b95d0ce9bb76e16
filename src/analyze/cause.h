// The fixed vocabulary of causes: every row of a ledger and every verdict names one of these. Their meaning
// is in docs/concepts.md; what hone says about each, and what it advises, is in rules.h.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace hone::analyze {

// What was recorded: a plan of our own on this host, or a foreign program, without or with a device. The same
// cause has other fixes in each.
enum class Subject { kPlan, kHostProgram, kDeviceProgram };

// In the order in which ledgers list them: what the hardware needed, then busy time, then idle time, then
// waiting for other devices.
enum class Cause : uint8_t {
  kFloor,
  kPrecision,
  kLayout,
  kAvoidableTraffic,
  kKernelInefficiency,
  kUnjudged,  // busy with operators whose cost is not known
  kLaunch,
  kHostSync,
  kInput,
  kIo,
  kHostCopy,
  kAllocator,
  kCompile,
  kHostOther,
  kComm,
  kStraggler,
  kBubble,
};
inline constexpr int kCauseCount = 17;

std::string_view cause_name(Cause cause);   // "avoidable_traffic": JSON, CLI, tests
std::string_view cause_label(Cause cause);  // "avoidable traffic": for people
std::string_view cause_title(Cause cause);  // "Avoidable traffic": at the start of a sentence
std::optional<Cause> cause_from_name(std::string_view name);

// Whether the device was busy with work of its own: `floor` to `unjudged`.
constexpr bool is_busy(Cause cause) { return cause <= Cause::kUnjudged; }

constexpr std::array<Cause, kCauseCount> all_causes() {
  std::array<Cause, kCauseCount> causes{};
  for (int i = 0; i < kCauseCount; ++i) causes[static_cast<std::size_t>(i)] = static_cast<Cause>(i);
  return causes;
}

}  // namespace hone::analyze

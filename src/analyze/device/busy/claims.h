// What finders return, and who keeps a work that several claim.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analyze/cause.h"
#include "analyze/device/rules/tables.h"

namespace hone::analyze::device {

inline constexpr int kBusyCauses = 6;  // floor to unjudged, as in Cause

constexpr double kGone = -1;  // the work is not launched at all

// A work in a claim.
struct ClaimedWork {
  uint32_t work = 0;
  double target_ns = kGone;  // what it takes once the rule's fix is made; kGone
  // The share of its time that its operator needs; the rest is the rule's cause's. None: the work only goes
  // along with the fix, and its time stays divided as it would be without the claim; so it does for rules
  // whose cause is none of busy time.
  std::optional<double> floor_share = {};
  double slack_share = 0;  // the share of its time that stays as inefficiency after the fix
};

// Works that a rule claims together. Their cause, and who goes before whom, is in the rule's row.
struct Claim {
  Rule rule = Rule::kFloor;
  std::vector<ClaimedWork> works;
};
using Claims = std::vector<Claim>;

// A work that the fix removes, and all of whose time is the rule's cause's.
inline ClaimedWork removed(uint32_t work) { return {work, kGone, 0.0}; }
// A work that the fix removes or shortens, and whose time is of no cause of busy time, or stays where it is.
inline ClaimedWork along(uint32_t work, double target_ns = kGone) { return {work, target_ns, std::nullopt}; }

// What became of one work: its time divided over the causes of busy time, and the rule that keeps it.
struct WorkSplit {
  std::array<double, kBusyCauses> share = {1, 0, 0, 0, 0, 0};  // of the work's time; they add up to 1
  Rule rule = Rule::kFloor;
  double target_ns = 0;  // what the work takes once that rule's fix is made; kGone

  Cause cause() const { return row_of(rule).cause; }
  double of(Cause which) const { return share[static_cast<std::size_t>(which)]; }
};

// Gives each of so many works to one rule: where several claim it, to that of the higher Precedence, or of
// equal ones to the first. A claim of a rule that is `whole` falls where another rule keeps one of its works.
// O(n log n) in the claims, linear in the claimed works.
std::vector<WorkSplit> resolve(std::size_t works, std::span<const Claims> claims);

}  // namespace hone::analyze::device

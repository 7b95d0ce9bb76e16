#include "analyze/device/busy/claims.h"

#include <algorithm>

namespace hone::analyze::device {
namespace {

constexpr std::size_t at(Cause cause) { return static_cast<std::size_t>(cause); }

// The highest first; of equal ones in the order in which they were made.
std::vector<const Claim*> by_precedence(std::span<const Claims> claims) {
  std::vector<const Claim*> order;
  for (const Claims& some : claims)
    for (const Claim& claim : some) order.push_back(&claim);
  std::stable_sort(order.begin(), order.end(), [](const Claim* a, const Claim* b) {
    return row_of(a->rule).precedence > row_of(b->rule).precedence;
  });
  return order;
}

// Without the claims that must have all of their works and do not.
std::vector<const Claim*> standing(std::size_t works, const std::vector<const Claim*>& order) {
  std::vector<const Claim*> stand, keeper(works, nullptr);
  for (const Claim* claim : order) {
    const bool falls = row_of(claim->rule).whole &&
                       std::any_of(claim->works.begin(), claim->works.end(), [&](const ClaimedWork& row) {
                         return keeper[row.work] != nullptr && keeper[row.work]->rule != claim->rule;
                       });
    if (falls) continue;
    stand.push_back(claim);
    for (const ClaimedWork& row : claim->works)
      if (keeper[row.work] == nullptr) keeper[row.work] = claim;
  }
  return stand;
}

void give(const Claim& claim, const ClaimedWork& row, WorkSplit& split) {
  split.rule = claim.rule;
  split.target_ns = row.target_ns;
  if (!row.floor_share || !is_busy(split.cause())) return;
  const double floor = std::clamp(*row.floor_share, 0.0, 1.0);
  split.share = {floor, 0, 0, 0, 0, 0};
  split.share[at(split.cause())] += 1 - floor - row.slack_share;
  split.share[at(Cause::kKernelInefficiency)] += row.slack_share;
}

}  // namespace

std::vector<WorkSplit> resolve(std::size_t works, std::span<const Claims> claims) {
  std::vector<WorkSplit> splits(works);
  const std::vector<const Claim*> order = standing(works, by_precedence(claims));
  for (auto claim = order.rbegin(); claim != order.rend(); ++claim)
    for (const ClaimedWork& row : (*claim)->works) give(**claim, row, splits[row.work]);
  return splits;
}

}  // namespace hone::analyze::device

#include "analyze/difference.h"

#include <algorithm>
#include <cmath>

#include "analyze/estimate.h"
#include "core/statistics.h"

namespace hone::analyze {
namespace {

constexpr double kLikelyChance = 0.10;  // three steps against three
constexpr double kRounding = 1e-9;
constexpr double kFarApart = 2;

bool are_apart(std::span<const double> a, std::span<const double> b) {
  if (a.empty() || b.empty()) return false;
  const auto [a_low, a_high] = std::minmax_element(a.begin(), a.end());
  const auto [b_low, b_high] = std::minmax_element(b.begin(), b.end());
  return *a_low > *b_high || *b_low > *a_high;
}

// That n and m samples of one distribution come apart by chance: two of the C(n + m, n) orders do.
double chance_of_apart(std::size_t n, std::size_t m) {
  double orders = 1;
  for (std::size_t i = 1; i <= n; ++i) orders *= static_cast<double>(m + i) / static_cast<double>(i);
  return std::min(1.0, 2 / orders);
}

// The width of what most steps of a recording lie within, halved.
double spread(std::span<const double> samples) {
  return samples.empty() ? 0 : (quantile(samples, 0.9) - quantile(samples, 0.1)) / 2;
}

bool host_sets_pace(const Analysis& analysis) {
  if (analysis.subject != Subject::kDeviceProgram) return analysis.subject == Subject::kHostProgram;
  double waiting = 0;
  for (const LedgerRow& row : analysis.ledger)
    if (row.cause >= Cause::kLaunch && row.cause <= Cause::kHostOther) waiting += row.share;
  return waiting >= kHostSetsPace;
}

// Whether every step of the one takes twice as long as any step of the other. However unequal its own steps
// are, what one recording shows among itself is less.
bool are_far_apart(std::span<const double> a, std::span<const double> b) {
  if (a.empty() || b.empty()) return false;
  const auto [a_low, a_high] = std::minmax_element(a.begin(), a.end());
  const auto [b_low, b_high] = std::minmax_element(b.begin(), b.end());
  return *a_low > kFarApart * *b_high || *b_low > kFarApart * *a_high;
}

Certainty certainty_of(const Difference& row, double least_ms) {
  if (row.chance > kLikelyChance + kRounding) return Certainty::kTooFew;
  if (std::abs(row.change_ms.median) < least_ms) return Certainty::kNone;
  if (row.sure) return Certainty::kSure;
  return row.apart ? Certainty::kLikely : Certainty::kNone;
}

}  // namespace

std::string_view certainty_name(Certainty certainty) {
  switch (certainty) {
    case Certainty::kTooFew:
      return "too few steps";
    case Certainty::kLikely:
      return "likely";
    case Certainty::kSure:
      return "sure";
    case Certainty::kNone:
      break;
  }
  return "none";
}

double drift(const Analysis& a, const Analysis& b) {
  return host_sets_pace(a) || host_sets_pace(b) ? kHostDrift : kDeviceDrift;
}

Difference difference(std::span<const double> a, std::span<const double> b, double least_ms) {
  const Shift shift = shift_estimate(a, b);
  Difference result{shift.change, shift.sure, are_apart(a, b), chance_of_apart(a.size(), b.size()),
                    Certainty::kNone};
  const double among_themselves = are_far_apart(a, b) ? 0 : std::max(spread(a), spread(b));
  result.certainty = certainty_of(result, std::max(least_ms, among_themselves));
  return result;
}

int steps_to_be_sure() {
  int steps = 1;
  while (chance_of_apart(static_cast<std::size_t>(steps), static_cast<std::size_t>(steps)) > 1 - kConfidence)
    ++steps;
  return steps;
}

}  // namespace hone::analyze

#include "trace/link/waits.h"

#include <algorithm>
#include <cmath>

namespace hone::trace::link {
namespace {

constexpr std::size_t kFewestIntervals = 3;
constexpr double kAlikeIntervals = 0.05;  // launches may differ by so much from one wait to the next,
constexpr double kOutOfTurn = 0.15;       // but for this share of all

}  // namespace

WaitPeriod find_wait_period(std::span<const uint32_t> places, std::span<const uint32_t> breaks) {
  WaitPeriod found;
  for (const uint32_t place : places)
    if (found.places.empty() || place > found.places.back()) found.places.push_back(place);
  std::vector<double> intervals;
  for (std::size_t i = 1; i < found.places.size(); ++i) {
    // A break at the very place of a wait lies behind it.
    const auto at = std::lower_bound(breaks.begin(), breaks.end(), found.places[i - 1]);
    if (at == breaks.end() || *at >= found.places[i])
      intervals.push_back(found.places[i] - found.places[i - 1]);
  }
  if (intervals.size() < kFewestIntervals) return {};
  const auto middle = intervals.begin() + static_cast<std::ptrdiff_t>(intervals.size() / 2);
  std::nth_element(intervals.begin(), middle, intervals.end());
  const double median = *middle;
  const auto out_of_turn = std::count_if(intervals.begin(), intervals.end(), [&](double interval) {
    return std::abs(interval - median) > kAlikeIntervals * median;
  });
  if (median < 2 || static_cast<double>(out_of_turn) > kOutOfTurn * static_cast<double>(intervals.size()))
    return {};
  found.length = median;
  return found;
}

}  // namespace hone::trace::link

#include "analyze/stalls.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "core/statistics.h"

namespace hone::analyze {
namespace {

constexpr int kFewestStalls = 3;        // twice may be chance
constexpr double kMatters = 0.1;        // of all time
constexpr double kMattersAgain = 0.05;  // of all time, without the longest of them

}  // namespace

Stalls find_stalls(std::span<const double> times_ms, std::span<const char> follows) {
  Stalls stalls;
  const double middle = median({times_ms.begin(), times_ms.end()});
  const double longest_alike = kMuchLonger * middle;
  std::size_t first = 0;
  while (first < times_ms.size() && times_ms[first] > longest_alike) ++first;
  std::vector<double> times, costs;
  for (std::size_t k = first; k < times_ms.size(); ++k) {
    if (!follows.empty() && follows[k] == 0) continue;
    stalls.counted.push_back(k);
    times.push_back(times_ms[k]);
    if (times_ms[k] > longest_alike) costs.push_back(times_ms[k] - middle);
  }
  if (times.empty()) return stalls;
  const double whole = std::reduce(times.begin(), times.end());
  const double cost = std::reduce(costs.begin(), costs.end());
  stalls.count = static_cast<int>(costs.size());
  stalls.typical_ms = median(times);
  stalls.mean_ms = whole / static_cast<double>(times.size());
  stalls.recur = stalls.count >= kFewestStalls && cost >= kMatters * whole &&
                 cost - *std::max_element(costs.begin(), costs.end()) >= kMattersAgain * whole &&
                 stalls.mean_ms > stalls.typical_ms;
  return stalls;
}

}  // namespace hone::analyze

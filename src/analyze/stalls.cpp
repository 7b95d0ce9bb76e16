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
  while (stalls.first < times_ms.size() && times_ms[stalls.first] > longest_alike) ++stalls.first;
  std::vector<double> counted, costs;
  for (std::size_t k = stalls.first; k < times_ms.size(); ++k) {
    if (!follows.empty() && follows[k] == 0) continue;
    counted.push_back(times_ms[k]);
    if (times_ms[k] > longest_alike) costs.push_back(times_ms[k] - middle);
  }
  if (counted.empty()) return stalls;
  const double whole = std::reduce(counted.begin(), counted.end());
  const double cost = std::reduce(costs.begin(), costs.end());
  stalls.count = static_cast<int>(costs.size());
  stalls.steps = static_cast<int>(counted.size());
  stalls.typical_ms = median(counted);
  stalls.mean_ms = whole / static_cast<double>(counted.size());
  stalls.recur = stalls.count >= kFewestStalls && cost >= kMatters * whole &&
                 cost - *std::max_element(costs.begin(), costs.end()) >= kMattersAgain * whole &&
                 stalls.mean_ms > stalls.typical_ms;
  return stalls;
}

}  // namespace hone::analyze

#include "analyze/beaten.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/units.h"

namespace hone::analyze {
namespace {

constexpr double kClearly = 1.05;     // times as fast as the roof allows: more than roofs spread
constexpr double kLeastShare = 0.02;  // of the step
constexpr std::size_t kNamed = 3;

}  // namespace

std::vector<BeatenRoof> beaten_roofs(const trace::Trace& trace, const StepProfile& profile) {
  std::vector<BeatenRoof> beaten;
  for (const OperatorProfile& entry : profile.operators) {
    const trace::Operator& op = trace.operators[entry.op];
    const double least = entry.roof.ms();
    if (op.op_class == trace::OperatorClass::kLayout || entry.ms.median < kLeastShare * profile.step_ms)
      continue;
    if (least < kClearly * entry.ms.median || least < entry.ms.high) continue;
    BeatenRoof row;
    row.name = op.name;
    row.roof = roof_name(op, entry.roof);
    row.dtype = op.dtype;
    if (entry.roof.memory_bound()) row.memory_level = entry.roof.memory_level;
    row.ms = entry.ms.median;
    row.least_ms = least;
    beaten.push_back(std::move(row));
  }
  std::stable_sort(beaten.begin(), beaten.end(),
                   [](const BeatenRoof& a, const BeatenRoof& b) { return a.factor() > b.factor(); });
  return beaten;
}

std::string beaten_warning(const std::vector<BeatenRoof>& beaten) {
  if (beaten.empty()) return {};
  std::string names;
  for (std::size_t i = 0; i < std::min(kNamed, beaten.size()); ++i)
    names +=
        fmt::format("{}{} took {}, {:.0f} % less than its {} roof allows", i > 0 ? "; " : "", beaten[i].name,
                    format_ms(beaten[i].ms), 100 * (1 - beaten[i].ms / beaten[i].least_ms), beaten[i].roof);
  if (beaten.size() > kNamed) names += fmt::format("; and {} more", beaten.size() - kNamed);
  return names +
         ": such roofs were measured too low, and so are the floors from them; "
         "measure again with `hone ceilings --refresh` when nothing else runs";
}

}  // namespace hone::analyze

#include "analyze/effort.h"

#include <array>
#include <cstddef>

namespace hone::analyze {
namespace {

struct EffortRow {
  std::string_view name;
  double weight;
};

// By order of the enumeration. What the author of a program cannot change is told last, unless it wins several times as much.
constexpr std::array<EffortRow, kEffortCount> kEfforts = {
    {{"setting", 1.0}, {"code", 0.8}, {"model", 0.6}, {"package", 0.25}}};

}  // namespace

std::string_view effort_name(Effort effort) { return kEfforts[static_cast<std::size_t>(effort)].name; }

double weight_of(Effort effort) { return kEfforts[static_cast<std::size_t>(effort)].weight; }

}  // namespace hone::analyze

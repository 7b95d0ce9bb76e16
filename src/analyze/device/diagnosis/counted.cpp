#include "analyze/device/diagnosis/counted.h"

#include <cmath>

namespace hone::analyze::device {

std::string count_text(double count) {
  if (count > 0 && count < 0.95) return fmt::format("{:.2g}", count);  // once in several steps
  return count >= 10 || std::abs(count - std::round(count)) < 0.05 ? fmt::format("{:.0f}", count)
                                                                   : fmt::format("{:.1f}", count);
}

std::string one_of(std::string_view things) {
  constexpr std::string_view kBoth = " and ";
  if (const std::size_t both = things.find(kBoth); both != std::string_view::npos)
    return one_of(things.substr(0, both)) + " or " + one_of(things.substr(both + kBoth.size()));
  if (things.ends_with("passes")) return std::string(things.substr(0, things.size() - 2));
  if (things.ends_with("ies")) return std::string(things.substr(0, things.size() - 3)) + "y";
  return std::string(things.substr(0, things.size() - 1));
}

}  // namespace hone::analyze::device

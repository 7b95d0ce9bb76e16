#include "analyze/device/diagnosis/calling_lines.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "core/units.h"

namespace hone::analyze::device {
namespace {

constexpr std::size_t kMostLines = 10;
constexpr std::size_t kToldLines = 3;

}  // namespace

std::vector<CallingLine> calling_lines(const std::vector<const AccountEntry*>& entries) {
  std::map<CodePlace, double> all;
  for (const AccountEntry* entry : entries)
    for (const auto& [place, ms] : entry->callers) all[place] += ms;
  std::vector<CallingLine> lines;
  for (const auto& [place, ms] : all)
    lines.push_back({std::string(place.first), std::string(place.second), ms});
  std::ranges::stable_sort(lines, std::greater(), &CallingLine::ms);
  if (lines.size() > kMostLines) lines.resize(kMostLines);
  return lines;
}

std::string calling_lines_text(const std::vector<CallingLine>& lines, double step_ms) {
  std::string text;
  for (std::size_t k = 0; k < std::min(kToldLines, lines.size()); ++k) {
    const CallingLine& line = lines[k];
    text += text.empty() ? "called from " : "; ";
    text += line.line;
    if (!line.package.empty()) text += (line.line.empty() ? "within " : ", within ") + line.package;
    text += ": " + fixed_ms(line.ms, step_ms);
  }
  if (lines.size() > kToldLines) text += fmt::format("; and {} more", lines.size() - kToldLines);
  return text;
}

bool are_of_packages(const std::vector<CallingLine>& lines) {
  double all = 0, packages = 0;
  for (const CallingLine& line : lines) {
    all += line.ms;
    packages += line.package.empty() ? 0 : line.ms;
  }
  return packages > all / 2;
}

}  // namespace hone::analyze::device

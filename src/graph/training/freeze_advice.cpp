#include "graph/training/freeze_advice.h"

#include <algorithm>

#include <fmt/format.h>

#include "graph/training/optimizer.h"

namespace hone::graph {
namespace {

constexpr std::size_t kMostShown = 3;

std::size_t matched_by(const std::string& pattern, std::span<const std::string> names) {
  return static_cast<std::size_t>(std::count_if(
      names.begin(), names.end(), [&](const std::string& name) { return matches_pattern(pattern, name); }));
}

// The outermost module of `name` all of whose weights are frozen, if that is more than this one.
std::string pattern_for(const std::string& name, std::span<const std::string> frozen,
                        std::span<const std::string> others) {
  for (std::size_t end = name.find_first_of("./"); end != std::string::npos;
       end = name.find_first_of("./", end + 1)) {
    const std::string pattern = name.substr(0, end + 1) + "*";
    if (matched_by(pattern, others) == 0 && matched_by(pattern, frozen) > 1) return pattern;
  }
  return name;
}

std::string counted_weights(std::size_t count) {
  return fmt::format("{} weight{}", count, count == 1 ? "" : "s");
}

}  // namespace

std::vector<std::string> freeze_patterns(std::span<const std::string> frozen,
                                         std::span<const std::string> others) {
  std::vector<std::string> patterns;
  for (const std::string& name : frozen)
    if (std::string pattern = pattern_for(name, frozen, others);
        std::find(patterns.begin(), patterns.end(), pattern) == patterns.end())
      patterns.push_back(std::move(pattern));
  return patterns;
}

std::string freeze_advice(std::span<const std::string> frozen, std::span<const std::string> others) {
  if (others.empty()) return "every weight lies before it: frozen, none would be left to train";
  const std::vector<std::string> patterns = freeze_patterns(frozen, others);
  std::string list;
  for (std::size_t i = 0; i < std::min(patterns.size(), kMostShown); ++i)
    list += fmt::format("{}\"{}\"", i == 0 ? "" : ", ", patterns[i]);
  if (patterns.size() > kMostShown) list += fmt::format(", … {} more", patterns.size() - kMostShown);
  return fmt::format("freeze what lies before it, with [model] freeze = [{}] ({}; {} left to train)", list,
                     counted_weights(frozen.size()), others.size());
}

}  // namespace hone::graph

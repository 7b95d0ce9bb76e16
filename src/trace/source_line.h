// The line of a program's source that an operator came from, where a recording says it: an entry of
// Operator::provenance of its own form, "at train.py:31", beside the names in the user's model.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hone::trace {

inline constexpr std::string_view kSourceLine = "at ";

inline bool is_source_line(std::string_view provenance) { return provenance.starts_with(kSourceLine); }

// "train.py:31"; empty: not said.
inline std::string_view source_line(const std::vector<std::string>& provenance) {
  for (const std::string& entry : provenance)
    if (is_source_line(entry)) return std::string_view(entry).substr(kSourceLine.size());
  return {};
}

}  // namespace hone::trace

// The lines of source that an operator came from, where a recording says it: entries of Operator::provenance of their own
// form beside the names in the user's model: of the program, "at train.py:31", and of the package that it called for it,
// "within torchvision/ops/boxes.py:11".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hone::trace {

inline constexpr std::string_view kSourceLine = "at ";
inline constexpr std::string_view kPackageLine = "within ";

inline bool is_source_line(std::string_view provenance) {
  return provenance.starts_with(kSourceLine) || provenance.starts_with(kPackageLine);
}

// What follows the first entry that begins so; empty: none does.
inline std::string_view entry_after(std::string_view beginning, const std::vector<std::string>& provenance) {
  for (const std::string& entry : provenance)
    if (entry.starts_with(beginning)) return std::string_view(entry).substr(beginning.size());
  return {};
}

// "train.py:31"; empty: not said.
inline std::string_view source_line(const std::vector<std::string>& provenance) {
  return entry_after(kSourceLine, provenance);
}
// "torchvision/ops/boxes.py:11"; empty: not said, or the program calls the operator itself.
inline std::string_view package_line(const std::vector<std::string>& provenance) {
  return entry_after(kPackageLine, provenance);
}

}  // namespace hone::trace

// Names of files for what a model names: any text at all, of which two may differ in nothing that a file's
// name keeps.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hone {

// One name for each, all different, also where letters' case does not count: other characters than
// A-Za-z0-9_.- become
// _, long names are cut, and what would then be equal gets a number ("a/b", "a_b" → "a_b-2.npy", "a_b.npy").
// The first of equal names keeps it, and a name that needs no change comes before one that does.
std::vector<std::string> file_names(const std::vector<std::string>& names, std::string_view extension);

}  // namespace hone

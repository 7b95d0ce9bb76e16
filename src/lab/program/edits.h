// What a person would write into a program to have a change: insertions into its files, put together to one diff.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/result.h"

namespace hone::lab {

// One insertion into the text of a line, or a line of its own before it.
struct Insertion {
  int line = 0;    // from 1
  int column = 0;  // in characters of the line, from 0; -1: `text` is a line of its own, before that line
  std::string text;
  int removed = 0;  // characters of the line from there on that the text stands for

  bool operator==(const Insertion&) const = default;
};

struct Edit {
  std::string file;
  std::vector<Insertion> insertions;

  bool operator==(const Edit&) const = default;
};

// The text with all of them made; those at one place stand in the order in which they are given.
std::string with_insertions(const std::string& text, const std::vector<Insertion>& insertions);

// The folder that the paths of a patch begin in, so that no path is absolute or leads out of it, which `patch` refuses: the one that
// the program was started in, or, with a file outside of that, the innermost that all of them are in.
std::filesystem::path patch_folder(const std::vector<Edit>& edits, const std::filesystem::path& started_in);

// As git writes it, for `patch -p1` and `git apply` in `folder`, a hunk for lines near each other. Errors: a file cannot be read.
Result<std::string> unified_diff(const std::vector<Edit>& edits, const std::filesystem::path& folder);

}  // namespace hone::lab

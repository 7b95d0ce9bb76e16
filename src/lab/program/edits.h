// What a person would write into a program to have a change: insertions into its files, put together to one diff.
#pragma once

#include <string>
#include <vector>

#include "core/result.h"

namespace hone::lab {

// One insertion into the text of a line, or a line of its own before it.
struct Insertion {
  int line = 0;    // from 1
  int column = 0;  // in characters of the line, from 0; -1: `text` is a line of its own, before that line
  std::string text;

  bool operator==(const Insertion&) const = default;
};

struct Edit {
  std::string file;
  std::vector<Insertion> insertions;

  bool operator==(const Edit&) const = default;
};

// The text with all of them made; those at one place stand in the order in which they are given.
std::string with_insertions(const std::string& text, const std::vector<Insertion>& insertions);

// As `diff -u`, a hunk for lines near each other. Errors: a file cannot be read.
Result<std::string> unified_diff(const std::vector<Edit>& edits);

}  // namespace hone::lab

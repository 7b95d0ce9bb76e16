// The period of a sequence of symbols that repeats with small variations and nested repeats: the steps of a
// program, read from the names of what it launched. Knows nothing of time and traces.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hone::trace::link {

struct Period {
  double length = 0;     // symbols from one repetition to the next; 0: none found
  double explained = 0;  // share of the sequence that repeats at that distance
  // Where the anchor stands, a piece of the sequence that occurs once in each repetition. The anchor whose
  // first occurrence is earliest.
  std::vector<uint32_t> anchors;

  bool found() const { return length > 0; }
};

// Pieces of the sequence (1 symbol or several in a row) that recur at one distance throughout vote for that
// distance. Nested repeats (the layers of a model) do not: from the last layer of one step to the first of
// the next is farther than from layer to layer. O(n).
Period find_period(std::span<const uint32_t> symbols);

}  // namespace hone::trace::link

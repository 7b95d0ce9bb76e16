// "Did you mean": the known word that is nearest to one that was typed.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace hone {

// The nearest of `known` by letters left out, added, exchanged or swapped with their neighbour
// (Damerau-Levenshtein, restricted), or one that begins with `typed`; empty where none is near: at most one
// slip in three letters.
std::string nearest_word(std::string_view typed, std::span<const std::string> known);

// "; did you mean 'bench'?", or nothing.
std::string suggestion(std::string_view typed, std::span<const std::string> known);

}  // namespace hone

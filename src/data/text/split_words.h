// How GPT-2 cuts text before merging: its regular expression
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
// by hand, over Unicode's categories. Internal to data/text.
#pragma once

#include <cstddef>
#include <string_view>

namespace hone::data {

// The length in bytes of the piece that `text`, which is not empty, begins with. Bytes that are no UTF-8 count as
// symbols, one by one.
std::size_t word_length(std::string_view text);

}  // namespace hone::data

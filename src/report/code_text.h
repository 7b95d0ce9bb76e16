// What in a sentence is code: calls, dotted and underscored names, settings. Forms set it in code type and do
// not break it, so that a reader can copy it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hone::report {

struct TextPart {
  std::string_view text;
  bool code = false;
};

// The parts of `text` in order; together they are all of it. Code are words with a "_", "::" or "=" inside or
// a dot before a letter, and calls with all their arguments: "torch.autocast("cuda", dtype=torch.bfloat16)".
std::vector<TextPart> code_parts(std::string_view text);
// With a capital where it begins with a word, for text that is set apart; code stays as it is.
std::string capitalised(std::string text);

}  // namespace hone::report

// What BERT's tokenizer does to a text before it cuts words into pieces, as the library "tokenizers" does it; categories
// are those of utf8proc, whose Unicode is newer than that library's. Internal to data/text.
#pragma once

#include <string>
#include <string_view>

namespace hone::data {

struct BertNormaliser {
  bool clean_text = true;     // no control and format characters, and every white space ' '
  bool chinese_chars = true;  // a space on both sides of each CJK ideograph
  bool strip_accents = true;  // decomposed (NFD), and no marks that take no room (Mn)
  bool lowercase = true;

  // Valid UTF-8. Bytes that are none count as U+FFFD, one by one.
  std::string operator()(std::string_view text) const;
};

// The word that `text` begins with, behind white space, cut off it: characters between white space and punctuation
// marks, each of which is a word of its own. Empty: there are no more.
std::string_view take_bert_word(std::string_view& text);

}  // namespace hone::data

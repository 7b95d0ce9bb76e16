#include "data/text/bert_text.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <new>

#include <utf8proc.h>

#include "data/text/characters.h"

namespace hone::data {
namespace {

constexpr int32_t kReplacement = 0xfffd;

bool is_ascii_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

// Control, format and private characters; line ends and tabs count as white space.
bool is_control(int32_t code) {
  if (code == '\t' || code == '\n' || code == '\r') return false;
  const utf8proc_category_t category = utf8proc_category(code);
  return category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF ||
         category == UTF8PROC_CATEGORY_CO;
}

bool is_cjk_ideograph(int32_t code) {
  struct Range {
    int32_t first, last;
  };
  // The blocks of BERT's own list, as the library "tokenizers" writes it: from 2B820 to 2B91F nothing, and that stays.
  constexpr std::array<Range, 7> kBlocks = {{{0x3400, 0x4dbf},
                                             {0x4e00, 0x9fff},
                                             {0xf900, 0xfaff},
                                             {0x20000, 0x2a6df},
                                             {0x2a700, 0x2b81f},
                                             {0x2b920, 0x2ceaf},
                                             {0x2f800, 0x2fa1f}}};
  return std::any_of(kBlocks.begin(), kBlocks.end(),
                     [&](const Range& block) { return code >= block.first && code <= block.last; });
}

bool is_punctuation(int32_t code) {
  if (code < 0x80)
    return (code >= '!' && code <= '/') || (code >= ':' && code <= '@') || (code >= '[' && code <= '`') ||
           (code >= '{' && code <= '~');
  const utf8proc_category_t category = utf8proc_category(code);
  return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO;
}

// Canonical decomposition. The text is valid UTF-8.
std::string decomposed(const std::string& text) {
  utf8proc_uint8_t* bytes = nullptr;
  const utf8proc_ssize_t size =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                   static_cast<utf8proc_ssize_t>(text.size()), &bytes, UTF8PROC_DECOMPOSE);
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(bytes, &std::free);
  if (size < 0) throw std::bad_alloc();  // what else it can fail of is text that is no UTF-8
  return {reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size)};
}

void append_lower(std::string& text, int32_t code) {
  append_character(text, utf8proc_tolower(code));
  if (code == 0x130) append_character(text, 0x307);  // the only one of two characters: I with a dot above
}

// A piece of text to which nothing outside it matters: white space stands on both sides.
void append_normalised(const BertNormaliser& options, std::string_view piece, std::string& out) {
  std::string cleaned;
  for (std::size_t at = 0; at < piece.size();) {
    const Character c = character_at(piece, at);
    at += c.bytes;
    int32_t code = c.code < 0 ? kReplacement : c.code;
    if (options.clean_text) {
      if (code == 0 || code == kReplacement || is_control(code)) continue;
      if (is_white_space(code)) code = ' ';
    }
    const bool is_alone = options.chinese_chars && is_cjk_ideograph(code);
    if (is_alone) cleaned += ' ';
    append_character(cleaned, code);
    if (is_alone) cleaned += ' ';
  }
  if (options.strip_accents && !is_ascii(cleaned)) cleaned = decomposed(cleaned);
  for (std::size_t at = 0; at < cleaned.size();) {
    const Character c = character_at(cleaned, at);
    at += c.bytes;
    if (options.strip_accents && c.code >= 0x80 && utf8proc_category(c.code) == UTF8PROC_CATEGORY_MN)
      continue;
    if (options.lowercase)
      append_lower(out, c.code);
    else
      append_character(out, c.code);
  }
}

}  // namespace

std::string BertNormaliser::operator()(std::string_view text) const {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {  // piece by piece: decomposing takes many times the text's memory
    const auto end =
        static_cast<std::size_t>(std::find_if(text.begin(), text.end(), is_ascii_space) - text.begin());
    append_normalised(*this, text.substr(0, end), out);
    text.remove_prefix(end);
    if (text.empty()) break;
    append_normalised(*this, text.substr(0, 1), out);
    text.remove_prefix(1);
  }
  return out;
}

std::string_view take_bert_word(std::string_view& text) {
  std::size_t start = 0;
  for (Character c = character_at(text, 0); c.bytes != 0 && is_white_space(c.code);
       c = character_at(text, start))
    start += c.bytes;
  text.remove_prefix(start);
  std::size_t end = 0;
  for (Character c = character_at(text, 0); c.bytes != 0; c = character_at(text, end)) {
    if (is_white_space(c.code) || (end != 0 && is_punctuation(c.code))) break;
    end += c.bytes;
    if (is_punctuation(c.code)) break;
  }
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(end);
  return word;
}

}  // namespace hone::data

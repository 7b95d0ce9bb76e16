#include "data/text/split_words.h"

#include <array>
#include <cstdint>

#include <utf8proc.h>

#include "data/text/characters.h"

namespace hone::data {
namespace {

enum class CharacterKind : uint8_t { kLetter, kNumber, kSpace, kSymbol };

// Bytes that are no UTF-8 are symbols.
CharacterKind kind_of(int32_t code) {
  if (code < 0x80) {
    const int32_t letter = code | 0x20;
    if (letter >= 'a' && letter <= 'z') return CharacterKind::kLetter;
    if (code >= '0' && code <= '9') return CharacterKind::kNumber;
    return is_white_space(code) ? CharacterKind::kSpace : CharacterKind::kSymbol;
  }
  if (is_white_space(code)) return CharacterKind::kSpace;
  const utf8proc_category_t category = utf8proc_category(code);
  if (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO) return CharacterKind::kLetter;
  if (category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO) return CharacterKind::kNumber;
  return CharacterKind::kSymbol;
}

// How far characters of one kind reach from `at`.
std::size_t end_of_run(std::string_view text, std::size_t at, CharacterKind kind) {
  for (Character c = character_at(text, at); c.bytes != 0 && kind_of(c.code) == kind;
       c = character_at(text, at))
    at += c.bytes;
  return at;
}

}  // namespace

std::size_t word_length(std::string_view text) {
  constexpr std::array<std::string_view, 7> kContractions = {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"};
  for (const std::string_view contraction : kContractions)
    if (text.starts_with(contraction)) return contraction.size();
  // A space belongs to the letters, numbers or symbols that follow it.
  const std::size_t start = text[0] == ' ' ? 1 : 0;
  const Character first = character_at(text, start);
  const CharacterKind kind = first.bytes == 0 ? CharacterKind::kSpace : kind_of(first.code);
  if (kind != CharacterKind::kSpace) return end_of_run(text, start, kind);
  // White space: all of it at the end of the text, else all but the last, which belongs to what follows or stands alone.
  const std::size_t end = end_of_run(text, 0, CharacterKind::kSpace);
  if (end == text.size()) return end;
  std::size_t last = 0;
  for (std::size_t at = 0; at < end; at += character_at(text, at).bytes) last = at;
  return last == 0 ? end : last;
}

}  // namespace hone::data

#include "data/text/split_words.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include <utf8proc.h>

namespace hone::data {
namespace {

enum class CharacterKind : uint8_t { kLetter, kNumber, kSpace, kSymbol };

struct Character {
  CharacterKind kind = CharacterKind::kSymbol;
  std::size_t bytes = 0;  // 0: the text has ended
};

// Unicode's White_Space, which is what \s means there.
bool is_white_space(utf8proc_int32_t c) {
  return (c >= 0x09 && c <= 0x0d) || c == 0x20 || c == 0x85 || c == 0xa0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f ||
         c == 0x3000;
}

Character character_at(std::string_view text, std::size_t at) {
  if (at >= text.size()) return {};
  const auto first = static_cast<unsigned char>(text[at]);
  if (first < 0x80) {
    const unsigned char letter = first | 0x20;
    if (letter >= 'a' && letter <= 'z') return {CharacterKind::kLetter, 1};
    if (first >= '0' && first <= '9') return {CharacterKind::kNumber, 1};
    return {is_white_space(first) ? CharacterKind::kSpace : CharacterKind::kSymbol, 1};
  }
  utf8proc_int32_t c = -1;
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data() + at);
  const auto most = static_cast<utf8proc_ssize_t>(std::min<std::size_t>(4, text.size() - at));
  const utf8proc_ssize_t length = utf8proc_iterate(bytes, most, &c);
  if (length <= 0 || c < 0) return {CharacterKind::kSymbol, 1};
  const auto size = static_cast<std::size_t>(length);
  if (is_white_space(c)) return {CharacterKind::kSpace, size};
  const utf8proc_category_t category = utf8proc_category(c);
  if (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO)
    return {CharacterKind::kLetter, size};
  if (category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO)
    return {CharacterKind::kNumber, size};
  return {CharacterKind::kSymbol, size};
}

// How far characters of one kind reach from `at`.
std::size_t end_of_run(std::string_view text, std::size_t at, CharacterKind kind) {
  for (Character c = character_at(text, at); c.bytes != 0 && c.kind == kind; c = character_at(text, at))
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
  if (first.bytes != 0 && first.kind != CharacterKind::kSpace) return end_of_run(text, start, first.kind);
  // White space: all of it at the end of the text, else all but the last, which belongs to what follows or stands alone.
  const std::size_t end = end_of_run(text, 0, CharacterKind::kSpace);
  if (end == text.size()) return end;
  std::size_t last = 0;
  for (std::size_t at = 0; at < end; at += character_at(text, at).bytes) last = at;
  return last == 0 ? end : last;
}

}  // namespace hone::data

#include "data/text/characters.h"

#include <algorithm>
#include <array>

#include <utf8proc.h>

namespace hone::data {

Character character_at(std::string_view text, std::size_t at) {
  if (at >= text.size()) return {};
  const auto first = static_cast<unsigned char>(text[at]);
  if (first < 0x80) return {first, 1};
  utf8proc_int32_t code = -1;
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data() + at);
  const auto most = static_cast<utf8proc_ssize_t>(std::min<std::size_t>(4, text.size() - at));
  const utf8proc_ssize_t length = utf8proc_iterate(bytes, most, &code);
  if (length <= 0 || code < 0) return {-1, 1};
  return {code, static_cast<std::size_t>(length)};
}

void append_character(std::string& text, int32_t code) {
  std::array<utf8proc_uint8_t, 4> bytes;
  const utf8proc_ssize_t length = utf8proc_encode_char(code, bytes.data());
  text.append(reinterpret_cast<const char*>(bytes.data()), static_cast<std::size_t>(length));
}

bool is_white_space(int32_t c) {
  return (c >= 0x09 && c <= 0x0d) || c == 0x20 || c == 0x85 || c == 0xa0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f ||
         c == 0x3000;
}

}  // namespace hone::data

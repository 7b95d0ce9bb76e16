// Text as Unicode's characters. Internal to data/text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace hone::data {

struct Character {
  int32_t code = -1;      // -1: its byte is no UTF-8
  std::size_t bytes = 0;  // 0: the text has ended
};
Character character_at(std::string_view text, std::size_t at);

void append_character(std::string& text, int32_t code);

// Unicode's White_Space, which is what \s means in regular expressions.
bool is_white_space(int32_t code);

}  // namespace hone::data

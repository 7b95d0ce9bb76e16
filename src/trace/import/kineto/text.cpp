#include "trace/import/kineto/text.h"

#include <charconv>
#include <cmath>

namespace hone::trace::kineto {
namespace {

constexpr int64_t kFurthest = int64_t{1} << 61;  // ns: 73 years, so that sums of two stay in range

bool is_digit(char c) { return c >= '0' && c <= '9'; }

void append_utf8(uint32_t code, std::string& to) {
  if (code < 0x80) {
    to += static_cast<char>(code);
  } else if (code < 0x800) {
    to += static_cast<char>(0xc0 | (code >> 6));
    to += static_cast<char>(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    to += static_cast<char>(0xe0 | (code >> 12));
    to += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
    to += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    to += static_cast<char>(0xf0 | (code >> 18));
    to += static_cast<char>(0x80 | ((code >> 12) & 0x3f));
    to += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
    to += static_cast<char>(0x80 | (code & 0x3f));
  }
}

// The four digits after "\u" at `at`; nothing if they are not.
std::optional<uint32_t> code_unit(std::string_view text, std::size_t at) {
  uint32_t unit = 0;
  if (at + 6 > text.size() || text[at] != '\\' || text[at + 1] != 'u') return std::nullopt;
  const char* begin = text.data() + at + 2;
  const auto [end, error] = std::from_chars(begin, begin + 4, unit, 16);
  return error == std::errc() && end == begin + 4 ? std::optional(unit) : std::nullopt;
}

// Appends what the escape at `at` stands for; returns its length, 0 for a wrong one.
std::size_t resolve(std::string_view text, std::size_t at, std::string& to) {
  if (at + 1 >= text.size()) return 0;
  constexpr std::string_view kLetters = "\"\\/bfnrt";
  constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
  if (const std::size_t i = kLetters.find(text[at + 1]); i != std::string_view::npos) {
    to += kMeanings[i];
    return 2;
  }
  const auto unit = code_unit(text, at);
  if (!unit) return 0;
  if (*unit >= 0xd800 && *unit < 0xe000) {  // half of a pair
    const auto low = code_unit(text, at + 6);
    const bool pair = *unit < 0xdc00 && low && *low >= 0xdc00 && *low < 0xe000;
    append_utf8(pair ? 0x10000 + ((*unit - 0xd800) << 10) + (*low - 0xdc00) : 0xfffd, to);
    return pair ? 12 : 6;
  }
  append_utf8(*unit, to);
  return 6;
}

}  // namespace

std::string_view unquoted(std::string_view token) {
  if (token.size() >= 2 && token.front() == '"' && token.back() == '"')
    return token.substr(1, token.size() - 2);
  return token;
}

std::string unescaped(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '\\')
      if (const std::size_t length = resolve(text, at, result); length > 0) {
        at += length;
        continue;
      }
    result += text[at++];
  }
  return result;
}

std::optional<double> number_of(std::string_view token) {
  token = unquoted(token);
  double value = 0;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), value);
  if (error != std::errc() || end != token.data() + token.size() || !std::isfinite(value))
    return std::nullopt;
  return value;
}

std::optional<int64_t> integer_of(std::string_view token) {
  token = unquoted(token);
  int64_t value = 0;
  const char* last = token.data() + token.size();
  const auto [end, error] = std::from_chars(token.data(), last, value);
  if (error == std::errc() && end == last) return value;
  uint64_t large = 0;  // ids of 64 bits without a sign
  if (const auto whole = std::from_chars(token.data(), last, large);
      whole.ec == std::errc() && whole.ptr == last)
    return static_cast<int64_t>(large);
  const auto number = number_of(token);
  if (!number || std::abs(*number) >= 9.2e18) return std::nullopt;
  return static_cast<int64_t>(*number);
}

std::optional<int64_t> nanoseconds_of(std::string_view token) {
  token = unquoted(token);
  std::size_t at = 0;
  const bool negative = at < token.size() && token[at] == '-';
  if (negative) ++at;
  const std::size_t first = at;
  int64_t value = 0;
  while (at < token.size() && at - first < 16 && is_digit(token[at]))
    value = value * 10 + (token[at++] - '0');
  if (at > first && value < kFurthest / 1000 && (at == token.size() || token[at] == '.')) {
    int digits = 0;
    if (at < token.size()) ++at;
    for (; at < token.size() && is_digit(token[at]); ++at) {
      if (digits == 3) value += token[at] >= '5' ? 1 : 0;
      if (digits < 3) value = value * 10 + (token[at] - '0');
      ++digits;
    }
    for (int i = digits; i < 3; ++i) value *= 10;
    if (at == token.size()) return negative ? -value : value;
  }
  const auto number = number_of(token);  // with an exponent, or too long
  if (!number || std::abs(*number) * 1e3 >= static_cast<double>(kFurthest)) return std::nullopt;
  return std::llround(*number * 1e3);
}

std::size_t integers_of(std::string_view list, int64_t* into, std::size_t most) {
  std::size_t count = 0;
  const char* at = list.data();
  const char* const end = at + list.size();
  while (at < end && count < most) {
    if (!is_digit(*at) && *at != '-') {
      ++at;
      continue;
    }
    const auto [next, error] = std::from_chars(at, end, into[count]);
    if (error != std::errc()) {
      at = next == at ? at + 1 : next;
      continue;
    }
    ++count;
    at = next;
  }
  return count;
}

}  // namespace hone::trace::kineto

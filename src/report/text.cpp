#include "report/text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include <fmt/format.h>

#include "core/units.h"

namespace hone::report {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

// Bytes of the UTF-8 sequence that begins `text`; 0 if none is valid (overlong, surrogate, out of range,
// cut).
std::size_t sequence_length(std::string_view text) {
  auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  unsigned char first = byte(0);
  std::size_t length = first < 0x80   ? 1
                       : first < 0xc2 ? 0
                       : first < 0xe0 ? 2
                       : first < 0xf0 ? 3
                       : first < 0xf5 ? 4
                                      : 0;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if (!continues(text[i])) return 0;
  if (first == 0xe0 && byte(1) < 0xa0) return 0;
  if (first == 0xed && byte(1) > 0x9f) return 0;
  if (first == 0xf0 && byte(1) < 0x90) return 0;
  if (first == 0xf4 && byte(1) > 0x8f) return 0;
  return length;
}

// Characters that nobody sees and that reorder or hide their neighbours: U+200B to U+200F, U+2028 to U+202E,
// U+2060 to U+2069, U+061C, U+FEFF. They are shown by their number.
uint32_t hidden_character(std::string_view sequence) {
  const auto byte = [&](std::size_t i) {
    return static_cast<uint32_t>(static_cast<unsigned char>(sequence[i]));
  };
  if (sequence.size() == 2) {
    const uint32_t code = (byte(0) & 0x1f) << 6 | (byte(1) & 0x3f);
    return code == 0x61c ? code : 0;
  }
  if (sequence.size() != 3) return 0;
  const uint32_t code = (byte(0) & 0x0f) << 12 | (byte(1) & 0x3f) << 6 | (byte(2) & 0x3f);
  const bool hidden = (code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
                      (code >= 0x2060 && code <= 0x2069) || code == 0xfeff;
  return hidden ? code : 0;
}

// The byte offset of column `column`.
std::size_t offset_of(std::string_view text, std::size_t column) {
  std::size_t i = 0;
  while (i < text.size() && column > 0) {
    ++i;
    while (i < text.size() && continues(text[i])) ++i;
    --column;
  }
  return i;
}

}  // namespace

std::string clean_utf8(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t length = sequence_length(text.substr(i));
    auto c = static_cast<unsigned char>(text[i]);
    if (c == '\n' || c == '\t' || c == '\r')
      result += ' ';
    else if (length == 0 || c < 0x20 || c == 0x7f ||
             (c == 0xc2 && static_cast<unsigned char>(text[i + 1]) < 0xa0))
      result += kReplacement;  // C0 and C1 controls move cursors and end comments
    else if (const uint32_t hidden = hidden_character(text.substr(i, length)); hidden != 0)
      result += fmt::format("<U+{:04X}>", hidden);
    else
      result += text.substr(i, length);
    i += std::max<std::size_t>(1, length);
  }
  return result;
}

std::size_t columns(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !continues(c); }));
}

std::string shortened(std::string_view text, std::size_t limit) {
  std::size_t width = columns(text);
  if (width <= limit) return std::string(text);
  if (limit == 0) return "";
  std::size_t head = (limit - 1) / 2, tail = limit - 1 - head;
  return fmt::format("{}…{}", text.substr(0, offset_of(text, head)),
                     text.substr(offset_of(text, width - tail)));
}

std::string clipped(std::string_view text, std::size_t limit) {
  if (columns(text) <= limit) return std::string(text);
  if (limit == 0) return "";
  std::string_view kept = text.substr(0, offset_of(text, limit - 1));
  kept = kept.substr(0, kept.find_last_not_of(' ') + 1);
  return fmt::format("{}…", kept);
}

std::string titled(std::string_view name, std::string_view detail, std::size_t limit) {
  constexpr std::size_t kLeastDetail = 6;
  const std::size_t used = columns(name);
  if (detail.empty() || used + 1 + std::min(kLeastDetail, columns(detail)) > limit)
    return shortened(name, limit);
  return fmt::format("{} {}", name, clipped(detail, limit - used - 1));
}

std::string bind_units(std::string_view text) {
  constexpr std::string_view kUnitStarts = "%kMGTPmnsFB\xc2";  // 0xc2 begins "µ"
  std::string bound;
  for (std::size_t i = 0; i < text.size(); ++i) {
    bool after_digit = i > 0 && text[i - 1] >= '0' && text[i - 1] <= '9';
    bool before_unit = i + 1 < text.size() && (kUnitStarts.find(text[i + 1]) != std::string_view::npos ||
                                               text.substr(i + 1).starts_with("×"));
    bound += text[i] == ' ' && after_digit && before_unit ? std::string_view("\u00a0") : text.substr(i, 1);
  }
  return bound;
}

std::string left(std::string_view text, std::size_t width) {
  std::size_t used = columns(text);
  return std::string(text) + std::string(used < width ? width - used : 0, ' ');
}

std::string right(std::string_view text, std::size_t width) {
  std::size_t used = columns(text);
  return std::string(used < width ? width - used : 0, ' ') + std::string(text);
}

std::string bar(double fraction, std::size_t width) {
  constexpr std::array<std::string_view, 9> kEighths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"};
  double clamped = std::isfinite(fraction) ? std::clamp(fraction, 0.0, 1.0) : 0;
  auto eighths = static_cast<std::size_t>(clamped * static_cast<double>(width) * 8 + 0.5);
  if (clamped > 0) eighths = std::max<std::size_t>(eighths, 1);
  std::string result;
  for (std::size_t i = 0; i < eighths / 8; ++i) result += "█";
  result += kEighths[eighths % 8];
  return left(result, width);
}

std::string ratio_text(double ratio) { return format_factor(ratio); }
std::string ratio_text(const analyze::Estimate& ratio) {
  return fmt::format("{:.2f}× ({:.2f} to {:.2f})", ratio.median, ratio.low, ratio.high);
}
std::string estimate_ms(const analyze::Estimate& ms) {
  return fmt::format("{} ({} to {})", format_ms(ms.median), format_ms(ms.low), format_ms(ms.high));
}
std::string error_text(double relative_error) {
  if (!std::isfinite(relative_error)) return "no number";
  return relative_error == 0 ? "0" : fmt::format("{:.1e}", relative_error);
}

}  // namespace hone::report

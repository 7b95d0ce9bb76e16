#include "observe/host/python_lines.h"

#include <cstddef>

namespace hone::observe {
namespace {

// Six bits a byte, the least first; the seventh says that another follows.
uint32_t variable_number(std::string_view table, std::size_t& at) {
  uint32_t value = 0;
  for (unsigned shift = 0; at < table.size() && shift < 30; shift += 6) {
    const auto byte = static_cast<uint8_t>(table[at++]);
    value |= uint32_t{byte & 0x3fu} << shift;
    if ((byte & 0x40u) == 0) break;
  }
  return value;
}

int32_t signed_variable_number(std::string_view table, std::size_t& at) {
  const uint32_t value = variable_number(table, at);
  const auto half = static_cast<int32_t>(value >> 1);
  return (value & 1) != 0 ? -half : half;
}

int32_t by_locations(std::string_view table, int32_t first_line, uint32_t instruction_bytes) {
  int32_t line = first_line;
  uint32_t end = 0;
  for (std::size_t at = 0; at < table.size();) {
    const auto entry = static_cast<uint8_t>(table[at++]);
    const uint32_t form = (entry >> 3) & 0xfu;
    end += 2 * ((entry & 7u) + 1);
    if (form >= 10 && form <= 12)
      line += static_cast<int32_t>(form - 10);
    else if (form == 13 || form == 14)
      line += signed_variable_number(table, at);
    while (at < table.size() && (static_cast<uint8_t>(table[at]) & 0x80u) == 0) ++at;  // columns
    if (instruction_bytes < end) return form == 15 ? first_line : line;
  }
  return first_line;
}

int32_t by_pairs(std::string_view table, int32_t first_line, uint32_t instruction_bytes, bool of_310) {
  constexpr int8_t kNoLine = -128;
  int32_t line = first_line;
  uint32_t address = 0;
  for (std::size_t at = 0; at + 1 < table.size(); at += 2) {
    const auto bytes = static_cast<uint8_t>(table[at]);
    const auto lines = static_cast<int8_t>(table[at + 1]);
    if (of_310) {  // what the pair says holds for the bytes that it counts
      if (lines != kNoLine) line += lines;
      address += bytes;
      if (instruction_bytes < address) return line;
    } else {  // it holds from behind them on
      address += bytes;
      if (address > instruction_bytes) return line;
      line += lines;
    }
  }
  return line;
}

}  // namespace

int32_t python_line(LineTable form, std::string_view table, int32_t first_line, uint32_t instruction_bytes) {
  if (form == LineTable::kLocations) return by_locations(table, first_line, instruction_bytes);
  return by_pairs(table, first_line, instruction_bytes, form == LineTable::kPairs310);
}

}  // namespace hone::observe

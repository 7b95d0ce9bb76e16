#include "trace/import/xplane/details.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <fmt/format.h>

namespace hone::trace::xplane {
namespace {

// The value of "key:value" between spaces; empty: there is none.
std::string_view value_of(std::string_view text, std::string_view key) {
  for (std::size_t at = text.find(key); at != std::string_view::npos; at = text.find(key, at + 1)) {
    const std::size_t colon = at + key.size();
    const bool begins = at == 0 || text[at - 1] == ' ' || text[at - 1] == '\n';
    if (!begins || colon >= text.size() || text[colon] != ':') continue;
    const std::string_view rest = text.substr(colon + 1);
    return rest.substr(0, rest.find_first_of(" \n"));
  }
  return {};
}

uint64_t number_of(std::string_view text) {
  uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

uint32_t small(uint64_t value) { return static_cast<uint32_t>(std::min<uint64_t>(value, 0xffffffff)); }

// "8,1,1"
std::array<uint32_t, 3> sizes_of_launch(std::string_view text) {
  std::array<uint32_t, 3> sizes = {};
  for (std::size_t i = 0; i < 3 && !text.empty(); ++i) {
    sizes[i] = small(number_of(text));
    const std::size_t comma = text.find(',');
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
  }
  return sizes;
}

constexpr std::pair<std::string_view, MemoryKind> kMemoryKinds[] = {
    {"pageable", MemoryKind::kPageable},      {"pinned", MemoryKind::kPinned},
    {"device", MemoryKind::kDevice},          {"array", MemoryKind::kDevice},
    {"managed", MemoryKind::kManaged},        {"device_static", MemoryKind::kDevice},
    {"managed_static", MemoryKind::kManaged},
};

MemoryKind memory_kind_of(std::string_view name) {
  for (const auto& [word, kind] : kMemoryKinds)
    if (word == name) return kind;
  return MemoryKind::kUnknown;
}

std::string_view memory_word(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::kPageable:
      return "Pageable";
    case MemoryKind::kPinned:
      return "Pinned";
    case MemoryKind::kDevice:
      return "Device";
    case MemoryKind::kManaged:
      return "Managed";
    case MemoryKind::kUnknown:
      break;
  }
  return "Unknown";
}

bool is_of_host(MemoryKind kind) { return kind == MemoryKind::kPageable || kind == MemoryKind::kPinned; }

}  // namespace

Launch kernel_details(std::string_view text) {
  Launch launch;
  launch.grid = sizes_of_launch(value_of(text, "grid"));
  launch.block = sizes_of_launch(value_of(text, "block"));
  launch.registers = small(number_of(value_of(text, "regs")));
  launch.shared_bytes = small(std::min<uint64_t>(number_of(value_of(text, "static_shared")), 1u << 30) +
                              std::min<uint64_t>(number_of(value_of(text, "dynamic_shared")), 1u << 30));
  return launch;
}

Copy memcpy_details(std::string_view text) {
  Copy copy;
  copy.from = memory_kind_of(value_of(text, "kind_src"));
  copy.to = memory_kind_of(value_of(text, "kind_dst"));
  copy.bytes = static_cast<double>(number_of(value_of(text, "size")));
  return copy;
}

Copy memset_details(std::string_view text) {
  Copy copy;
  copy.to = MemoryKind::kDevice;
  copy.bytes = static_cast<double>(number_of(value_of(text, "num_bytes")));
  return copy;
}

std::string copy_words(const Copy& copy) {
  return fmt::format("Memcpy {}to{} ({} -> {})", is_of_host(copy.from) ? 'H' : 'D',
                     is_of_host(copy.to) ? 'H' : 'D', memory_word(copy.from), memory_word(copy.to));
}

}  // namespace hone::trace::xplane

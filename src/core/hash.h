// A short name for a text, the same in every build: for keys of caches, which keep the text itself, and for
// numbers of streams. Not for hash tables and no defence against somebody who wants two texts to meet.
#pragma once

#include <cstdint>
#include <string_view>

namespace hone {

// FNV-1a, 64 bits.
constexpr uint64_t fnv1a(std::string_view text) {
  uint64_t hash = 14695981039346656037u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash;
}

}  // namespace hone

// Interned strings: a span names its kernel or operator by a 4-byte id. Not thread-safe.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/ids.h"

namespace hone::trace {

struct StringTag;
using StringId = Id<StringTag>;  // index in order of first use

class StringTable {
 public:
  StringTable() = default;
  StringTable(const StringTable& other);
  StringTable& operator=(const StringTable& other);
  StringTable(StringTable&&) = default;
  StringTable& operator=(StringTable&&) = default;

  StringId intern(std::string_view text);
  StringId find(std::string_view text) const;  // invalid if it was never interned
  std::string_view text(StringId id) const;    // empty for an invalid id
  std::size_t size() const { return texts_.size(); }

 private:
  std::deque<std::string> texts_;  // a deque, so that the views in ids_ stay valid as it grows
  std::unordered_map<std::string_view, StringId> ids_;
};

}  // namespace hone::trace

#include "trace/strings.h"

namespace hone::trace {

// Copying re-interns: the map's views must point into this table's own strings.
StringTable::StringTable(const StringTable& other) {
  for (const std::string& text : other.texts_) intern(text);
}

StringTable& StringTable::operator=(const StringTable& other) {
  if (this != &other) *this = StringTable(other);
  return *this;
}

StringId StringTable::intern(std::string_view text) {
  if (auto found = ids_.find(text); found != ids_.end()) return found->second;
  StringId id{static_cast<uint32_t>(texts_.size())};
  ids_.emplace(texts_.emplace_back(text), id);
  return id;
}

StringId StringTable::find(std::string_view text) const {
  auto found = ids_.find(text);
  return found == ids_.end() ? StringId{} : found->second;
}

std::string_view StringTable::text(StringId id) const {
  return id.index < texts_.size() ? std::string_view(texts_[id.index]) : std::string_view();
}

}  // namespace hone::trace

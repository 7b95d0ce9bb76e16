// Strong integer ids: an index that cannot be mistaken for another kind of index.
#pragma once

#include <cstdint>
#include <functional>

namespace hone {

template <typename Tag>
struct Id {
  static constexpr uint32_t kNone = 0xffffffffu;
  uint32_t index = kNone;

  bool valid() const { return index != kNone; }
  friend bool operator==(Id, Id) = default;
  friend auto operator<=>(Id, Id) = default;
};

}  // namespace hone

template <typename Tag>
struct std::hash<hone::Id<Tag>> {
  std::size_t operator()(hone::Id<Tag> id) const noexcept { return std::hash<uint32_t>{}(id.index); }
};

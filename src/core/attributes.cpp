// Attributes: lookup with defaults, and comparison.
#include "core/attributes.h"

#include <algorithm>
#include <bit>

namespace hone {
namespace {

bool same_floats(const Floats& a, const Floats& b) {  // bitwise: NaN equals itself, -0 differs from 0
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](float x, float y) {
    return std::bit_cast<uint32_t>(x) == std::bit_cast<uint32_t>(y);
  });
}

template <typename T>
T value_or(const Attribute* attribute, T otherwise) {
  const T* value = attribute == nullptr ? nullptr : std::get_if<T>(attribute);
  return value == nullptr ? std::move(otherwise) : *value;
}

}  // namespace

const Attribute* Attributes::find(std::string_view name) const {
  const auto found = map_.find(name);
  return found == map_.end() ? nullptr : &found->second;
}

Attributes& Attributes::set(std::string name, Attribute value) {
  map_.insert_or_assign(std::move(name), std::move(value));
  return *this;
}

void Attributes::erase(std::string_view name) {
  const auto found = map_.find(name);
  if (found != map_.end()) map_.erase(found);
}

int64_t Attributes::integer(std::string_view name, int64_t otherwise) const {
  return value_or<int64_t>(find(name), otherwise);
}
float Attributes::real(std::string_view name, float otherwise) const {
  return value_or<float>(find(name), otherwise);
}
std::string Attributes::text(std::string_view name, std::string otherwise) const {
  return value_or<std::string>(find(name), std::move(otherwise));
}
Ints Attributes::ints(std::string_view name, Ints otherwise) const {
  return value_or<Ints>(find(name), std::move(otherwise));
}
Floats Attributes::reals(std::string_view name, Floats otherwise) const {
  return value_or<Floats>(find(name), std::move(otherwise));
}
Strings Attributes::texts(std::string_view name, Strings otherwise) const {
  return value_or<Strings>(find(name), std::move(otherwise));
}
Tensor Attributes::tensor(std::string_view name) const { return value_or<Tensor>(find(name), Tensor()); }

bool operator==(const Attributes& a, const Attributes& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.first == y.first && same_attribute(x.second, y.second);
  });
}

bool same_attribute(const Attribute& a, const Attribute& b) {
  if (a.index() != b.index()) return false;
  return std::visit(
      [&b](const auto& x) {
        using T = std::decay_t<decltype(x)>;
        const T& y = std::get<T>(b);
        if constexpr (std::is_same_v<T, Tensor>)
          return same_tensor(x, y);
        else if constexpr (std::is_same_v<T, float>)
          return std::bit_cast<uint32_t>(x) == std::bit_cast<uint32_t>(y);
        else if constexpr (std::is_same_v<T, Floats>)
          return same_floats(x, y);
        else
          return x == y;
      },
      a);
}

}  // namespace hone

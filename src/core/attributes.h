// Typed attributes of an operator: a small map from name to value. Kernels and graph nodes both read them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/tensor.h"

namespace hone {

using Ints = std::vector<int64_t>;
using Floats = std::vector<float>;
using Strings = std::vector<std::string>;
using Attribute = std::variant<int64_t, float, std::string, Ints, Floats, Strings, Tensor>;

class Attributes {
 public:
  Attributes() = default;
  Attributes(std::initializer_list<std::pair<const std::string, Attribute>> list) : map_(list) {}

  bool has(std::string_view name) const { return map_.find(name) != map_.end(); }
  const Attribute* find(std::string_view name) const;
  Attributes& set(std::string name, Attribute value);
  void erase(std::string_view name);

  // The value, or `otherwise` where it is absent or of another type.
  int64_t integer(std::string_view name, int64_t otherwise) const;
  float real(std::string_view name, float otherwise) const;
  std::string text(std::string_view name, std::string otherwise) const;
  Ints ints(std::string_view name, Ints otherwise = {}) const;
  Floats reals(std::string_view name, Floats otherwise = {}) const;
  Strings texts(std::string_view name, Strings otherwise = {}) const;
  Tensor tensor(std::string_view name) const;

  bool empty() const { return map_.empty(); }
  auto begin() const { return map_.begin(); }
  auto end() const { return map_.end(); }
  friend bool operator==(const Attributes& a, const Attributes& b);

 private:
  std::map<std::string, Attribute, std::less<>> map_;  // ordered: printing is deterministic
};

bool same_attribute(const Attribute& a, const Attribute& b);

}  // namespace hone

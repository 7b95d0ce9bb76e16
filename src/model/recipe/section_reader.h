// Reads the keys of one table of a recipe into variables: type and range are checked, and what nobody asked for is an
// error that suggests the nearest known key.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/result.h"
#include "model/recipe/toml.h"

namespace hone::model {

struct Range {
  double low = std::numeric_limits<double>::lowest();
  double high = std::numeric_limits<double>::max();
  bool low_is_out = false;
  bool high_is_out = false;
};
inline constexpr Range kPositive{0, std::numeric_limits<double>::max(), true};
inline constexpr Range kNotNegative{0};
inline constexpr Range kShare{0, 1};
inline constexpr Range kBelowOne{0, 1, false, true};

// What may be named by text or by its number.
using TextOrNumber = std::variant<std::string, int64_t>;

// After the first error nothing more is read, and finish() returns it.
class SectionReader {
 public:
  // `section` is how people find the table: "[train]". A null table has no keys.
  SectionReader(const TomlValue* table, std::string section);

  bool has(std::string_view key) const { return table_ != nullptr && table_->find(key) != nullptr; }
  std::string place(std::string_view key) const;  // of the key, or of the section

  void read(std::string_view key, int64_t& to, Range range = {});
  void read(std::string_view key, uint64_t& to);
  void read(std::string_view key, double& to, Range range = {});
  void read(std::string_view key, bool& to);
  void read(std::string_view key, std::string& to);
  void read(std::string_view key, std::vector<std::string>& to);
  void read(std::string_view key, std::vector<int64_t>& to, Range range);
  void read(std::string_view key, std::vector<double>& to, Range range);
  void read(std::string_view key, std::map<std::string, std::string>& to);
  void read(std::string_view key, std::map<std::string, int64_t>& to, Range range = kPositive);
  void read(std::string_view key, TextOrNumber& to);  // a number is not negative
  void read(std::string_view key, std::vector<TextOrNumber>& to);
  template <typename T>
  void read(std::string_view key, std::optional<T>& to) {
    if (!has(key)) {
      known_.emplace_back(key);
      return;
    }
    T value{};
    read(key, value);
    to = value;
  }
  // One of a few names, as its number among them.
  template <typename Enum, typename Names>
  void read_name(std::string_view key, Enum& to, const Names& names) {
    to = static_cast<Enum>(name_index(key, {names.begin(), names.end()}, static_cast<std::size_t>(to)));
  }
  const TomlValue* child(std::string_view key);  // a key that its caller reads; null where it is absent

  void fail(std::string_view key, const std::string& what);  // at the key, or at the section
  // The first error, or one for a key that is not known.
  Status finish();

 private:
  const TomlValue* value_of(std::string_view key);
  std::size_t name_index(std::string_view key, const std::vector<std::string>& names, std::size_t otherwise);
  void fail_at(const TomlValue& value, const std::string& what);
  // Of a key or an element of its list; nullopt after an error.
  std::optional<int64_t> integer_of(const TomlValue& value, std::string_view key, Range range);
  std::optional<TextOrNumber> text_or_number_of(const TomlValue& value, std::string_view key);
  std::optional<double> real_of(const TomlValue& value, std::string_view key, Range range);
  template <typename T>
  const T* typed(const TomlValue* value, std::string_view key, std::string_view wanted);

  const TomlValue* table_;
  std::string section_;
  std::vector<std::string> known_;
  Status status_;
};

}  // namespace hone::model

#include "model/recipe/section_reader.h"

#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/spelling.h"

namespace hone::model {
namespace {

std::string kind_of(const TomlValue& value) {
  static constexpr std::string_view kKinds[] = {"a table",    "a list",   "text",
                                                "an integer", "a number", "true or false"};
  return std::string(kKinds[value.value.index()]);
}

bool is_within(double value, const Range& range) {
  const bool above = range.low_is_out ? value > range.low : value >= range.low;
  return above && (range.high_is_out ? value < range.high : value <= range.high);
}

std::string range_text(const Range& range) {
  const std::string low = fmt::format("{} {:g}", range.low_is_out ? "above" : "at least", range.low);
  if (range.high >= std::numeric_limits<double>::max()) return low;
  return fmt::format("{} and {} {:g}", low, range.high_is_out ? "below" : "at most", range.high);
}

// What graphs compute with: a number that f32 turns into 0 or infinity, or that leaves its range there, would be another
// than the one that was written.
bool is_held_by_f32(double value, const Range& range) {
  const auto held = static_cast<float>(value);
  return std::isfinite(held) && (value == 0 || std::isnormal(held)) && is_within(held, range);
}

}  // namespace

SectionReader::SectionReader(const TomlValue* table, std::string section)
    : table_(table), section_(std::move(section)) {
  if (table_ != nullptr && table_->table() == nullptr)
    status_ = invalid(fmt::format("{}: {} must be a table", table_->place, section_));
}

std::string SectionReader::place(std::string_view key) const {
  const TomlValue* value = table_ == nullptr ? nullptr : table_->find(key);
  if (value != nullptr) return value->place;
  return table_ == nullptr ? section_ : table_->place;
}

void SectionReader::fail_at(const TomlValue& value, const std::string& what) {
  if (status_.ok()) status_ = invalid(fmt::format("{}: {}", value.place, what));
}

void SectionReader::fail(std::string_view key, const std::string& what) {
  if (status_.ok()) status_ = invalid(fmt::format("{}: {}", place(key), what));
}

const TomlValue* SectionReader::value_of(std::string_view key) {
  known_.emplace_back(key);
  return table_ == nullptr || !status_.ok() ? nullptr : table_->find(key);
}

const TomlValue* SectionReader::child(std::string_view key) { return value_of(key); }

template <typename T>
const T* SectionReader::typed(const TomlValue* value, std::string_view key, std::string_view wanted) {
  if (value == nullptr) return nullptr;
  const T* held = std::get_if<T>(&value->value);
  if (held == nullptr) fail_at(*value, fmt::format("{} must be {}, not {}", key, wanted, kind_of(*value)));
  return held;
}

std::optional<int64_t> SectionReader::integer_of(const TomlValue& value, std::string_view key, Range range) {
  const auto* number = typed<int64_t>(&value, key, "an integer");
  if (number == nullptr) return std::nullopt;
  if (is_within(static_cast<double>(*number), range)) return *number;
  fail_at(value, fmt::format("{} is {}, must be {}", key, *number, range_text(range)));
  return std::nullopt;
}

std::optional<double> SectionReader::real_of(const TomlValue& value, std::string_view key, Range range) {
  double number = 0;
  if (const auto* integer = std::get_if<int64_t>(&value.value)) {
    number = static_cast<double>(*integer);
  } else {
    const auto* real = typed<double>(&value, key, "a number");
    if (real == nullptr) return std::nullopt;
    number = *real;
  }
  if (is_within(number, range) && is_held_by_f32(number, range)) return number;  // NaN is within none
  if (is_within(number, range))
    fail_at(value, fmt::format("{} is {}, which f32 cannot hold (it has {:g})", key, number,
                               static_cast<double>(static_cast<float>(number))));
  fail_at(value, fmt::format("{} is {:g}, must be {}", key, number, range_text(range)));
  return std::nullopt;
}

void SectionReader::read(std::string_view key, int64_t& to, Range range) {
  const TomlValue* value = value_of(key);
  if (value == nullptr) return;
  if (const auto number = integer_of(*value, key, range)) to = *number;
}

void SectionReader::read(std::string_view key, uint64_t& to) {
  auto number = static_cast<int64_t>(to);
  read(key, number, kNotNegative);
  to = static_cast<uint64_t>(number);
}

void SectionReader::read(std::string_view key, double& to, Range range) {
  const TomlValue* value = value_of(key);
  if (value == nullptr) return;
  if (const auto number = real_of(*value, key, range)) to = *number;
}

void SectionReader::read(std::string_view key, std::vector<int64_t>& to, Range range) {
  const auto* list = typed<TomlArray>(value_of(key), key, "a list of integers");
  if (list == nullptr) return;
  to.clear();
  for (const TomlValue& element : *list)
    if (const auto number = integer_of(element, key, range)) to.push_back(*number);
}

void SectionReader::read(std::string_view key, std::vector<double>& to, Range range) {
  const auto* list = typed<TomlArray>(value_of(key), key, "a list of numbers");
  if (list == nullptr) return;
  to.clear();
  for (const TomlValue& element : *list)
    if (const auto number = real_of(element, key, range)) to.push_back(*number);
}

void SectionReader::read(std::string_view key, bool& to) {
  if (const auto* flag = typed<bool>(value_of(key), key, "true or false")) to = *flag;
}

void SectionReader::read(std::string_view key, std::string& to) {
  if (const auto* text = typed<std::string>(value_of(key), key, "text")) to = *text;
}

void SectionReader::read(std::string_view key, std::vector<std::string>& to) {
  const auto* list = typed<TomlArray>(value_of(key), key, "a list of text");
  if (list == nullptr) return;
  to.clear();
  for (const TomlValue& element : *list)
    if (const auto* text = typed<std::string>(&element, key, "a list of text")) to.push_back(*text);
}

std::optional<TextOrNumber> SectionReader::text_or_number_of(const TomlValue& value, std::string_view key) {
  if (const auto* text = std::get_if<std::string>(&value.value)) return *text;
  if (std::holds_alternative<int64_t>(value.value)) return integer_of(value, key, kNotNegative);
  fail_at(value, fmt::format("{} must be text or an integer, not {}", key, kind_of(value)));
  return std::nullopt;
}

void SectionReader::read(std::string_view key, TextOrNumber& to) {
  const TomlValue* value = value_of(key);
  if (value == nullptr) return;
  if (auto read = text_or_number_of(*value, key)) to = *std::move(read);
}

void SectionReader::read(std::string_view key, std::vector<TextOrNumber>& to) {
  const auto* list = typed<TomlArray>(value_of(key), key, "a list of text or integers");
  if (list == nullptr) return;
  to.clear();
  for (const TomlValue& element : *list)
    if (auto read = text_or_number_of(element, key)) to.push_back(*std::move(read));
}

void SectionReader::read(std::string_view key, std::map<std::string, std::string>& to) {
  const auto* table = typed<TomlTable>(value_of(key), key, "a table of text");
  if (table == nullptr) return;
  for (const auto& [name, element] : *table)
    if (const auto* text = typed<std::string>(&element, key, "a table of text")) to[name] = *text;
}

void SectionReader::read(std::string_view key, std::map<std::string, int64_t>& to, Range range) {
  const auto* table = typed<TomlTable>(value_of(key), key, "a table of integers");
  if (table == nullptr) return;
  for (const auto& [name, element] : *table) {
    const auto number = integer_of(element, name, range);
    if (!number) return;
    to[name] = *number;
  }
}

std::size_t SectionReader::name_index(std::string_view key, const std::vector<std::string>& names,
                                      std::size_t otherwise) {
  const TomlValue* value = value_of(key);
  const auto* text = typed<std::string>(value, key, "text");
  if (text == nullptr) return otherwise;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == *text) return i;
  fail_at(*value, fmt::format("{} is '{}', must be one of {}{}", key, *text, fmt::join(names, ", "),
                              suggestion(*text, names)));
  return otherwise;
}

Status SectionReader::finish() {
  if (!status_.ok() || table_ == nullptr) return status_;
  for (const auto& [key, value] : *table_->table()) {
    bool is_known = false;
    for (const std::string& name : known_) is_known = is_known || name == key;
    if (is_known) continue;
    const std::string near = suggestion(key, known_);
    return invalid(
        fmt::format("{}: {} has no key '{}'{}", value.place, section_, key,
                    near.empty() ? fmt::format("; its keys are {}", fmt::join(known_, ", ")) : near));
  }
  return {};
}

}  // namespace hone::model

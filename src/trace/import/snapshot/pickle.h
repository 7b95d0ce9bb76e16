// Plain data of a Python pickle: numbers, texts, lists and dictionaries. A pickle is a program for a machine that can
// call any function of Python; this reader has no such instructions: whoever names a class or a function is refused, and
// nothing is ever run.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace hone::trace::snapshot {

enum class PickleKind : uint8_t { kNone, kBool, kInteger, kReal, kText, kList, kDict };

// One value; texts and what lists and dictionaries hold are the Pickle's.
struct PickleValue {
  int64_t number = 0;   // an integer; of a real its bits; of a text where it begins in the file
  uint32_t extent = 0;  // of a text its length; of a list or dictionary its place among the Pickle's
  PickleKind kind = PickleKind::kNone;

  bool is(PickleKind other) const { return kind == other; }
};

class Pickle {
 public:
  // `bytes` must outlive this. Errors: no pickle, cut off, or one of more than plain data. O(n) in time and memory.
  static Result<Pickle> read(std::string_view bytes);

  const PickleValue& root() const { return root_; }
  std::string_view text(const PickleValue& value) const;  // empty: no text
  // Of a list; empty: no list. Lists may hold themselves.
  const std::vector<PickleValue>& items(const PickleValue& value) const;
  // Of a dictionary; none: no dictionary, or not in it.
  PickleValue find(const PickleValue& dict, std::string_view key) const;
  int64_t integer(const PickleValue& dict, std::string_view key, int64_t otherwise = 0) const;
  // The place of a list or dictionary among all; the same again for one that is referred to twice.
  static uint32_t identity(const PickleValue& value) { return value.extent; }

 private:
  friend class PickleMachine;

  std::string_view bytes_;
  PickleValue root_;
  std::vector<std::vector<PickleValue>> containers_;  // of dictionaries keys and values in turn
};

}  // namespace hone::trace::snapshot

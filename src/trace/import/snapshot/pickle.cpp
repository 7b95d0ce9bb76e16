#include "trace/import/snapshot/pickle.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <optional>

#include <fmt/format.h>

namespace hone::trace::snapshot {
namespace {

// Instructions of Lib/pickletools.py, protocols 0 to 5, that make plain data.
enum Code : unsigned char {
  kMark = '(',
  kStop = '.',
  kPop = '0',
  kPopMark = '1',
  kDup = '2',
  kBinFloat = 'G',
  kBinInt = 'J',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kNone = 'N',
  kBinUnicode = 'X',
  kAppend = 'a',
  kDict = 'd',
  kEmptyDict = '}',
  kAppends = 'e',
  kBinGet = 'h',
  kLongBinGet = 'j',
  kList = 'l',
  kEmptyList = ']',
  kBinPut = 'q',
  kLongBinPut = 'r',
  kSetItem = 's',
  kTuple = 't',
  kEmptyTuple = ')',
  kSetItems = 'u',
  kBinBytes = 'B',
  kShortBinBytes = 'C',
  kProtocol = 0x80,
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kTrue = 0x88,
  kFalse = 0x89,
  kLong1 = 0x8a,
  kLong4 = 0x8b,
  kShortBinUnicode = 0x8c,
  kBinUnicode8 = 0x8d,
  kBinBytes8 = 0x8e,
  kEmptySet = 0x8f,
  kAddItems = 0x90,
  kFrozenSet = 0x91,
  kMemoize = 0x94,
  kFrame = 0x95,
};

Error damaged(std::size_t at) {
  return invalid(fmt::format("the pickle is cut off or damaged at byte {}; get the whole file", at));
}

}  // namespace

class PickleMachine {
 public:
  explicit PickleMachine(std::string_view bytes) : bytes_(bytes) { pickle_.bytes_ = bytes; }

  Result<Pickle> run() {
    while (at_ < bytes_.size()) {
      const std::size_t begin = at_;
      const auto code = static_cast<unsigned char>(bytes_[at_++]);
      if (code == kStop) {
        if (stack_.size() != 1 || !marks_.empty()) return damaged(begin);
        pickle_.root_ = stack_.back();
        return std::move(pickle_);
      }
      const std::optional<bool> done = step(code);
      if (!done)
        return invalid(fmt::format(
            "a Python pickle of more than plain data (instruction 0x{:02x} at byte {}); hone reads "
            "those of torch.cuda.memory._dump_snapshot and runs no others",
            code, begin));
      if (!*done) return damaged(begin);
    }
    return damaged(at_);
  }

 private:
  // Nothing: an instruction that makes no plain data. False: it lacks something.
  std::optional<bool> step(unsigned char code) {
    switch (code) {
      case kProtocol:
        return skip(1);
      case kFrame:
        return skip(8);
      case kMark:
        marks_.push_back(stack_.size());
        return true;
      case kPop:
        return pop();
      case kPopMark:
        return drop_to_mark();
      case kDup:
        return !stack_.empty() && push(PickleValue(stack_.back()));
      case kNone:
        return push({});
      case kTrue:
      case kFalse:
        return push({code == kTrue ? 1 : 0, 0, PickleKind::kBool});
      case kBinInt:
        return push_integer(4, true);
      case kBinInt1:
        return push_integer(1, false);
      case kBinInt2:
        return push_integer(2, false);
      case kBinFloat:
        return push_real();
      case kLong1:
        return push_long(take(1));
      case kLong4:
        return push_long(take(4));
      case kShortBinUnicode:
      case kShortBinBytes:
        return push_text(take(1));
      case kBinUnicode:
      case kBinBytes:
        return push_text(take(4));
      case kBinUnicode8:
      case kBinBytes8:
        return push_text(take(8));
      case kMemoize:
        return memoize(memo_.size());
      case kBinPut:
        return memoize(take(1));
      case kLongBinPut:
        return memoize(take(4));
      case kBinGet:
        return recall(take(1));
      case kLongBinGet:
        return recall(take(4));
      default:
        return step_container(code);
    }
  }

  std::optional<bool> step_container(unsigned char code) {
    switch (code) {
      case kEmptyDict:
        return push_container(PickleKind::kDict, 0);
      case kEmptyList:
      case kEmptyTuple:
      case kEmptySet:
        return push_container(PickleKind::kList, 0);
      case kTuple1:
      case kTuple2:
      case kTuple3:
        return push_container(PickleKind::kList, code - kTuple1 + std::size_t{1});
      case kTuple:
      case kList:
      case kFrozenSet:
      case kDict:
        return !marks_.empty() && marks_.back() <= stack_.size() && make_of_marked(code);
      case kAppend:
        return add(PickleKind::kList, 1);
      case kAppends:
      case kAddItems:
        return add_marked(PickleKind::kList);
      case kSetItem:
        return add(PickleKind::kDict, 2);
      case kSetItems:
        return add_marked(PickleKind::kDict);
      default:
        return std::nullopt;
    }
  }

  bool skip(std::size_t bytes) {
    if (bytes_.size() - at_ < bytes) return false;
    at_ += bytes;
    return true;
  }

  // A number of so many bytes, the lowest first; nothing: the file ends before.
  std::optional<uint64_t> take(std::size_t bytes) {
    if (bytes_.size() - at_ < bytes) return std::nullopt;
    uint64_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i)
      value |= uint64_t{static_cast<unsigned char>(bytes_[at_ + i])} << (8 * i);
    at_ += bytes;
    return value;
  }

  bool push(PickleValue value) {
    stack_.push_back(value);
    return true;
  }

  bool push_integer(std::size_t bytes, bool is_signed) {
    const auto value = take(bytes);
    if (!value) return false;
    const int64_t number = is_signed ? int64_t{static_cast<int32_t>(static_cast<uint32_t>(*value))}
                                     : static_cast<int64_t>(*value);
    return push({number, 0, PickleKind::kInteger});
  }

  // The lowest first, in two's complement: addresses above 2^63 come with a ninth byte.
  bool push_long(std::optional<uint64_t> length) {
    if (!length || bytes_.size() - at_ < *length) return false;
    uint64_t value = 0;
    const auto bytes = static_cast<std::size_t>(*length);
    for (std::size_t i = 0; i < std::min<std::size_t>(bytes, 8); ++i)
      value |= uint64_t{static_cast<unsigned char>(bytes_[at_ + i])} << (8 * i);
    if (bytes > 0 && bytes < 8 && (static_cast<unsigned char>(bytes_[at_ + bytes - 1]) & 0x80u) != 0)
      value |= ~uint64_t{0} << (8 * bytes);
    at_ += bytes;
    return push({static_cast<int64_t>(value), 0, PickleKind::kInteger});
  }

  bool push_real() {
    const auto bits = take(8);  // the highest byte first
    if (!bits) return false;
    uint64_t turned = 0;
    for (int i = 0; i < 8; ++i) turned |= (*bits >> (8 * i) & 0xff) << (8 * (7 - i));
    return push({static_cast<int64_t>(turned), 0, PickleKind::kReal});
  }

  bool push_text(std::optional<uint64_t> length) {
    if (!length || *length > 0xffffffff || bytes_.size() - at_ < *length) return false;
    push({static_cast<int64_t>(at_), static_cast<uint32_t>(*length), PickleKind::kText});
    return skip(static_cast<std::size_t>(*length));
  }

  bool pop() {
    if (!marks_.empty() && marks_.back() == stack_.size()) {
      marks_.pop_back();
      return true;
    }
    if (stack_.empty()) return false;
    stack_.pop_back();
    return true;
  }

  bool drop_to_mark() {
    if (marks_.empty() || marks_.back() > stack_.size()) return false;
    stack_.resize(marks_.back());
    marks_.pop_back();
    return true;
  }

  // With the last `count` values of the stack.
  bool push_container(PickleKind kind, std::size_t count) {
    if (stack_.size() < count || (!marks_.empty() && stack_.size() - count < marks_.back())) return false;
    const auto first = stack_.end() - static_cast<std::ptrdiff_t>(count);
    pickle_.containers_.emplace_back(first, stack_.end());
    stack_.erase(first, stack_.end());
    return push({0, static_cast<uint32_t>(pickle_.containers_.size() - 1), kind});
  }

  bool make_of_marked(unsigned char code) {
    const std::size_t count = stack_.size() - marks_.back();
    marks_.pop_back();
    if (code == kDict && count % 2 != 0) return false;
    return push_container(code == kDict ? PickleKind::kDict : PickleKind::kList, count);
  }

  // The last `count` values go into what lies below them.
  bool add(PickleKind kind, std::size_t count) {
    const std::size_t least = marks_.empty() ? 0 : marks_.back();
    if (stack_.size() < least + count + 1) return false;
    const PickleValue into = stack_[stack_.size() - count - 1];
    if (!into.is(kind) || (kind == PickleKind::kDict && count % 2 != 0)) return false;
    std::vector<PickleValue>& container = pickle_.containers_[into.extent];
    const auto first = stack_.end() - static_cast<std::ptrdiff_t>(count);
    container.insert(container.end(), first, stack_.end());
    stack_.erase(first, stack_.end());
    return true;
  }

  bool add_marked(PickleKind kind) {
    if (marks_.empty() || marks_.back() > stack_.size()) return false;
    const std::size_t count = stack_.size() - marks_.back();
    marks_.pop_back();
    return add(kind, count);
  }

  bool memoize(std::optional<uint64_t> place) {
    // Whoever writes a pickle numbers what it remembers without gaps.
    if (!place || stack_.empty() || *place > memo_.size()) return false;
    if (*place == memo_.size())
      memo_.push_back(stack_.back());
    else
      memo_[static_cast<std::size_t>(*place)] = stack_.back();
    return true;
  }

  bool recall(std::optional<uint64_t> place) {
    return place && *place < memo_.size() && push(PickleValue(memo_[static_cast<std::size_t>(*place)]));
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
  Pickle pickle_;
  std::vector<PickleValue> stack_, memo_;
  std::vector<std::size_t> marks_;  // sizes of the stack
};

Result<Pickle> Pickle::read(std::string_view bytes) {
  if (bytes.empty() || static_cast<unsigned char>(bytes.front()) != kProtocol)
    return invalid("no Python pickle of protocol 2 or later");
  return PickleMachine(bytes).run();
}

std::string_view Pickle::text(const PickleValue& value) const {
  return value.is(PickleKind::kText) ? bytes_.substr(static_cast<std::size_t>(value.number), value.extent)
                                     : std::string_view();
}

const std::vector<PickleValue>& Pickle::items(const PickleValue& value) const {
  static const std::vector<PickleValue> kEmpty;
  return value.is(PickleKind::kList) ? containers_[value.extent] : kEmpty;
}

PickleValue Pickle::find(const PickleValue& dict, std::string_view key) const {
  if (!dict.is(PickleKind::kDict)) return {};
  const std::vector<PickleValue>& pairs = containers_[dict.extent];
  for (std::size_t i = 0; i + 1 < pairs.size(); i += 2)
    if (pairs[i].is(PickleKind::kText) && text(pairs[i]) == key) return pairs[i + 1];
  return {};
}

int64_t Pickle::integer(const PickleValue& dict, std::string_view key, int64_t otherwise) const {
  const PickleValue value = find(dict, key);
  return value.is(PickleKind::kInteger) ? value.number : otherwise;
}

}  // namespace hone::trace::snapshot

// A set of texts that gives each a number, made for millions of lookups of few distinct texts by one thread:
// importers keep one a thread and merge them into the trace's StringTable at the end.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

namespace hone::trace {

class Interner {
 public:
  static constexpr uint32_t kNone = 0xffffffffu;

  Interner() : slots_(1024, Slot{0, kNone}) {}

  // Numbers count from 0 in order of first use. The text is copied when it is new.
  uint32_t intern(std::string_view text) {
    const uint64_t hash = hash_of(text);
    std::size_t at = hash & (slots_.size() - 1);
    while (slots_[at].id != kNone) {
      if (slots_[at].hash == hash && texts_[slots_[at].id] == text) return slots_[at].id;
      at = (at + 1) & (slots_.size() - 1);
    }
    const auto id = static_cast<uint32_t>(texts_.size());
    texts_.push_back(keep(text));
    slots_[at] = {hash, id};
    if (texts_.size() * 2 > slots_.size()) grow();
    return id;
  }

  std::string_view text(uint32_t id) const { return texts_[id]; }
  std::size_t size() const { return texts_.size(); }

 private:
  struct Slot {
    uint64_t hash;
    uint32_t id;
  };

  static uint64_t mix(uint64_t a, uint64_t b) {
    __extension__ using Wide = unsigned __int128;
    const auto product = static_cast<Wide>(a) * b;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  }

  // Eight bytes a multiplication; the length keeps texts apart that end in zeros.
  static uint64_t hash_of(std::string_view text) {
    constexpr uint64_t kOdd = 0x9e3779b97f4a7c15ull;
    uint64_t hash = text.size() * kOdd;
    const char* at = text.data();
    std::size_t left = text.size();
    for (; left >= 8; at += 8, left -= 8) {
      uint64_t word;
      std::memcpy(&word, at, 8);
      hash = mix(hash ^ word, kOdd);
    }
    uint64_t word = 0;
    if (left > 0) std::memcpy(&word, at, left);
    return mix(hash ^ word, 0xd6e8feb86659fd93ull);
  }

  std::string_view keep(std::string_view text) {
    if (text.empty()) return {};
    if (room_ < text.size()) {
      room_ = std::max(kBlock, text.size());
      blocks_.push_back(std::make_unique<char[]>(room_));
      next_ = blocks_.back().get();
    }
    std::memcpy(next_, text.data(), text.size());
    const std::string_view kept(next_, text.size());
    next_ += text.size();
    room_ -= text.size();
    return kept;
  }

  void grow() {
    std::vector<Slot> larger(slots_.size() * 2, Slot{0, kNone});
    for (const Slot& slot : slots_) {
      if (slot.id == kNone) continue;
      std::size_t at = slot.hash & (larger.size() - 1);
      while (larger[at].id != kNone) at = (at + 1) & (larger.size() - 1);
      larger[at] = slot;
    }
    slots_ = std::move(larger);
  }

  static constexpr std::size_t kBlock = std::size_t{64} << 10;
  std::vector<Slot> slots_;  // a power of two
  std::vector<std::string_view> texts_;
  std::vector<std::unique_ptr<char[]>> blocks_;
  char* next_ = nullptr;
  std::size_t room_ = 0;
};

}  // namespace hone::trace

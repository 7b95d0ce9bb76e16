#include "observe/inject/log/names.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace hone::observe::inject {
namespace {

constexpr uint32_t kBlockBytes = 64 << 10;
constexpr uint64_t kMostBytes = 256ull << 20;  // a program that names every step differently is cut off here

// FNV-1a over words of eight bytes: names are long, and short of the quality that a hash table of this size needs.
uint32_t hash_of(std::string_view text) {
  uint64_t hash = 14695981039346656037ull ^ text.size();
  const char* at = text.data();
  size_t left = text.size();
  for (; left >= 8; left -= 8, at += 8) {
    uint64_t word;
    std::memcpy(&word, at, 8);
    hash = (hash ^ word) * 1099511628211ull;
    hash ^= hash >> 29;
  }
  for (; left > 0; --left, ++at) hash = (hash ^ static_cast<uint8_t>(*at)) * 1099511628211ull;
  return static_cast<uint32_t>(hash ^ hash >> 32);
}

std::string_view text_of(const trace::segments::Name& name) {
  return {reinterpret_cast<const char*>(&name + 1), name.length};
}

}  // namespace

struct Names::Block {
  Block* next = nullptr;
  uint32_t capacity = 0, used = 0, written = 0;
  char* data() { return reinterpret_cast<char*>(this + 1); }
};

uint32_t Names::id(std::string_view text) {
  if (text.empty()) return trace::segments::kNoName;
  text = text.substr(0, kLongestName);
  const uint32_t hash = hash_of(text);
  Locked locked(lock_);
  if (2 * (count_ + 1) > capacity_ && !grow()) return trace::segments::kNoName;
  Entry& entry = entry_of(hash, text);
  if (!entry.name) {
    const auto* name = store(count_ + 1, text);
    if (!name) return trace::segments::kNoName;
    entry = {hash, ++count_, name};
  }
  return entry.id;
}

Names::Entry& Names::entry_of(uint32_t hash, std::string_view text) {
  uint32_t at = hash & (capacity_ - 1);
  while (entries_[at].name && (entries_[at].hash != hash || text_of(*entries_[at].name) != text)) {
    at = (at + 1) & (capacity_ - 1);
  }
  return entries_[at];
}

bool Names::grow() {
  const uint32_t capacity = std::max(1024u, 2 * capacity_);
  auto* entries = static_cast<Entry*>(std::calloc(capacity, sizeof(Entry)));
  if (!entries) return false;
  for (uint32_t i = 0; i < capacity_; ++i) {
    if (!entries_[i].name) continue;
    uint32_t at = entries_[i].hash & (capacity - 1);
    while (entries[at].name) at = (at + 1) & (capacity - 1);
    entries[at] = entries_[i];
  }
  std::free(entries_);
  entries_ = entries;
  capacity_ = capacity;
  return true;
}

const trace::segments::Name* Names::store(uint32_t id, std::string_view text) {
  const auto length = static_cast<uint32_t>(text.size());
  auto record = trace::segments::with_head(trace::segments::Name{{}, id, length}, length);
  if (bytes_ + record.head.bytes > kMostBytes) return nullptr;
  if (!last_ || last_->used + record.head.bytes > last_->capacity) {
    const uint32_t capacity = std::max<uint32_t>(kBlockBytes - sizeof(Block), record.head.bytes);
    void* memory = std::malloc(sizeof(Block) + capacity);
    if (!memory) return nullptr;
    auto* block = new (memory) Block{nullptr, capacity};
    (last_ ? last_->next : first_) = block;
    last_ = block;
  }
  char* at = last_->data() + last_->used;
  std::memset(at + record.head.bytes - 8, 0, 8);
  std::memcpy(at, &record, sizeof(record));
  std::memcpy(at + sizeof(record), text.data(), length);
  last_->used += record.head.bytes;
  bytes_ += record.head.bytes;
  return reinterpret_cast<const trace::segments::Name*>(at);
}

Names::Span Names::next_unwritten() {
  Locked locked(lock_);
  if (!unwritten_) unwritten_ = first_;
  while (unwritten_) {
    Block& block = *unwritten_;
    if (block.written < block.used) {
      const Span span = {block.data() + block.written, block.used - block.written};
      block.written = block.used;
      return span;
    }
    if (!block.next) break;
    unwritten_ = block.next;
  }
  return {nullptr, 0};
}

void Names::write_all_again() {
  for (Block* block = first_; block; block = block->next) block->written = 0;
  unwritten_ = first_;
}

}  // namespace hone::observe::inject

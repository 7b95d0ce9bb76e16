#include "trace/import/kineto/chunks.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace hone::trace::kineto {
namespace {

constexpr std::size_t kNowhere = std::string_view::npos;
constexpr std::size_t kFront = 8;  // room for what makes a chunk JSON by itself
constexpr std::size_t kMostHeader = std::size_t{64} << 20;
constexpr std::size_t kMostEvent = std::size_t{16} << 20;  // past it, text without an event is cut anywhere
constexpr std::array<std::string_view, 11> kEventKeys = {"ph", "name", "cat", "ts",   "pid", "tid",
                                                         "s",  "dur",  "id",  "args", "bp"};

// White space, and the NULs and other control characters that damage leaves between events.
bool is_blank(char c) { return static_cast<unsigned char>(c) <= ' '; }

std::size_t skip_space(std::string_view text, std::size_t at) {
  while (at < text.size() && is_blank(text[at])) ++at;
  return at;
}

// The place of the last character before `at` that is no space; npos: none.
std::size_t before(std::string_view text, std::size_t at) {
  while (at > 0)
    if (!is_blank(text[--at])) return at;
  return kNowhere;
}

// The last '{' before `end`.
std::size_t last_brace(std::string_view text, std::size_t end) {
  const void* found = ::memrchr(text.data(), '{', end);
  return found == nullptr ? kNowhere
                          : static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
}

// Whether text[at] is a '{' whose first key is one of an event's.
bool begins_event(std::string_view text, std::size_t at) {
  std::size_t key = skip_space(text, at + 1);
  if (key >= text.size() || text[key] != '"') return false;
  const std::string_view rest = text.substr(key + 1, 8);
  const std::size_t end = rest.find('"');
  if (end == kNowhere ||
      std::find(kEventKeys.begin(), kEventKeys.end(), rest.substr(0, end)) == kEventKeys.end())
    return false;
  key = skip_space(text, key + end + 2);
  return key < text.size() && text[key] == ':';
}

// After the '[' of the list of events; npos: not in `text`.
std::size_t after_list_begin(std::string_view text) {
  constexpr std::string_view kKey = "\"traceEvents\"";
  for (std::size_t at = text.find(kKey); at != kNowhere; at = text.find(kKey, at + 1)) {
    std::size_t next = skip_space(text, at + kKey.size());
    if (next >= text.size() || text[next] != ':') continue;
    next = skip_space(text, next + 1);
    if (next < text.size() && text[next] == '[') return next + 1;
  }
  return kNowhere;
}

}  // namespace

std::size_t find_event(std::string_view text, std::size_t from) {
  for (std::size_t at = text.find('{', from); at != kNowhere; at = text.find('{', at + 1)) {
    const std::size_t previous = before(text, at);
    if (previous != kNowhere && text[previous] != ',' && text[previous] != '}') continue;
    if (begins_event(text, at)) return at;
  }
  return kNowhere;
}

std::size_t find_last_cut(std::string_view text) {
  for (std::size_t at = last_brace(text, text.size()); at != kNowhere; at = last_brace(text, at)) {
    const std::size_t comma = before(text, at);
    if (comma == kNowhere) return kNowhere;
    if (text[comma] != ',' || !begins_event(text, at)) continue;
    const std::size_t brace = before(text, comma);
    if (brace != kNowhere && text[brace] == '}') return comma;
  }
  return kNowhere;
}

Result<std::size_t> ChunkReader::fill(std::vector<char>& buffer, std::size_t from) {
  const std::size_t wanted = buffer.size() - kPadding - from;
  HONE_ASSIGN(const std::size_t got, source_.read({buffer.data() + from, wanted}));
  bytes_read_ += got;
  ended_ = got < wanted;
  return got;
}

Result<bool> ChunkReader::open() {
  std::vector<char> buffer;
  std::size_t size = 0;
  while (true) {
    const std::size_t more = std::max(chunk_bytes_, size);  // all is searched again: twice as much each time
    buffer.resize(size + more + kPadding);
    HONE_ASSIGN(const std::size_t got, fill(buffer, size));
    size += got;
    const std::string_view text(buffer.data(), size);
    const std::size_t first = skip_space(text, text.starts_with("\xef\xbb\xbf") ? 3 : 0);
    list_only_ = first < size && text[first] == '[';
    const std::size_t begin = list_only_ ? first + 1 : after_list_begin(text);
    if (begin != kNowhere) {
      if (!list_only_) header_ = text.substr(first + 1, text.rfind("\"traceEvents\"", begin) - first - 1);
      carry_ = text.substr(begin);
      offset_ = begin;
      return true;
    }
    if (ended_ || size > kMostHeader || (first < size && text[first] != '{')) return false;
  }
}

Result<bool> ChunkReader::next(Chunk& chunk) {
  if (finished_) return false;
  std::size_t size = carry_.size();
  chunk.buffer.resize(std::max(chunk.buffer.size(), kFront + chunk_bytes_ + kPadding));
  if (chunk.buffer.size() < kFront + size + kPadding) chunk.buffer.resize(kFront + size + kPadding);
  std::memcpy(chunk.buffer.data() + kFront, carry_.data(), size);
  std::size_t cut = kNowhere;
  while (true) {
    if (!ended_) {
      HONE_ASSIGN(const std::size_t got, fill(chunk.buffer, kFront + size));
      size += got;
    }
    if (ended_) break;
    cut = find_last_cut({chunk.buffer.data() + kFront, size});
    if (cut != kNowhere || size > kMostEvent) break;
    chunk.buffer.resize(chunk.buffer.size() * 2);
  }
  char* events = chunk.buffer.data() + kFront;
  chunk.last = ended_;
  chunk.index = next_index_++;
  chunk.offset = offset_;
  finished_ = ended_;
  const std::size_t used = cut == kNowhere ? size : cut;
  carry_.assign(events + std::min(used + 1, size), size - std::min(used + 1, size));
  offset_ += std::min(used + 1, size);
  chunk.events = {events, used};
  const std::string_view front = chunk.last && !list_only_ ? "{\"e\":[" : "[";
  std::memcpy(events - front.size(), front.data(), front.size());
  if (!chunk.last) events[used] = ']';
  chunk.text = {events - front.size(), front.size() + used + (chunk.last ? 0 : 1)};
  return true;
}

}  // namespace hone::trace::kineto

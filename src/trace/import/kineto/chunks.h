// Cuts the text of a Chrome-style JSON trace into pieces that hold whole events, so that threads can parse
// pieces on their own and nobody holds the file. What an event says is not read here.
//
// A cut is made only before a '{' that follows "}," and begins with a key of events. Inside a string of valid
// JSON that cannot be: the quote of the key would end the string. It could be inside a list of objects
// nested in an event, which no writer of traces makes; then that one event does not parse, and is counted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "trace/import/byte_source.h"

namespace hone::trace::kineto {

// Readable bytes that stand after a text that simdjson parses.
inline constexpr std::size_t kPadding = 64;
// With simdjson's index of it, well inside a core's L2 cache.
inline constexpr std::size_t kChunkBytes = std::size_t{128} << 10;

struct Chunk {
  std::vector<char> buffer;  // owns the text, with padding
  // JSON by itself: "[event, …]"; of the last chunk {"e":[event, …], and what follows the events in the file.
  std::string_view text;
  std::string_view events;   // `text` from its first event on
  std::size_t index = 0;     // counts the chunks of a file
  std::uint64_t offset = 0;  // of `events` in the file (decompressed)
  bool last = false;
};

class ChunkReader {
 public:
  explicit ChunkReader(ByteSource& source, std::size_t chunk_bytes = kChunkBytes)
      : source_(source), chunk_bytes_(chunk_bytes) {}

  // Reads up to the first event. False: the text has no list of events.
  Result<bool> open();
  // What stands before the list of events, after the opening brace: `"schemaVersion": 1, …,`.
  const std::string& header() const { return header_; }
  // False after the last chunk. `chunk` is used again.
  Result<bool> next(Chunk& chunk);
  std::uint64_t bytes_read() const { return bytes_read_; }

 private:
  Result<std::size_t> fill(std::vector<char>& buffer, std::size_t from);

  ByteSource& source_;
  std::size_t chunk_bytes_;
  std::string header_;
  std::string carry_;  // read, and not given out yet
  std::size_t next_index_ = 0;
  std::uint64_t offset_ = 0;  // of carry_
  std::uint64_t bytes_read_ = 0;
  bool list_only_ = false;  // the file is "[event, …]"
  bool ended_ = false;      // the source has no more
  bool finished_ = false;   // the last chunk was given out
};

// The next '{' at or after `from` that begins an event: one that follows a comma or a brace and begins with a
// key of events; npos: none.
std::size_t find_event(std::string_view text, std::size_t from);
// The last comma in `text` that stands between two events; npos: none.
std::size_t find_last_cut(std::string_view text);

}  // namespace hone::trace::kineto

// The events of one chunk: JSON into EventSink. The fast path takes the whole chunk at once; from the first
// event that breaks JSON's rules on, each event is taken by itself, mended if it can be, counted if not.
#pragma once

#include <memory>
#include <string>

#include "trace/import/kineto/chunks.h"
#include "trace/import/kineto/event.h"

namespace hone::trace::kineto {

class ChunkParser {
 public:
  ChunkParser();
  ~ChunkParser();
  ChunkParser(ChunkParser&&) noexcept;
  ChunkParser& operator=(ChunkParser&&) noexcept;

  // Adds the events of `chunk` to `sink`.
  void parse(const Chunk& chunk, EventSink& sink);
  // The text after the list of events, if parse() met its end: `, "traceName": "x"}`.
  const std::string& footer() const { return footer_; }
  bool list_was_closed() const { return closed_; }

 private:
  struct State;
  // Both return the place in `chunk.events` up to which they read.
  std::size_t parse_whole(const Chunk& chunk, EventSink& sink);
  void parse_each(const Chunk& chunk, std::size_t from, EventSink& sink);
  bool parse_one(std::string_view text, uint64_t offset, EventSink& sink);
  void mend_one(std::string_view text, uint64_t offset, bool ends_file, EventSink& sink);

  std::unique_ptr<State> state_;
  std::string footer_;
  bool closed_ = false;
};

}  // namespace hone::trace::kineto

// One event of the list: its members as they stand in the text, and what they mean as rows. Knows what
// PyTorch's profiler (Kineto) writes; knows nothing of files and threads.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "trace/import/interner.h"
#include "trace/import/kineto/inputs.h"
#include "trace/import/kineto/rows.h"

namespace hone::trace::kineto {

// Members of an event; empty where the event has none. Texts are JSON tokens.
struct Event {
  std::string_view phase, category, name, pid, tid, start, duration, id;
  // of "args":
  std::string_view external, sequence, correlation, device, stream, grid, block, registers, shared, node,
      bytes;
  std::string_view collective, group, group_description, group_ranks, group_size, dtype, elements_in,
      elements_out;
  std::string_view address, taken, total_allocated, total_reserved, memory_device, memory_kind;
  std::string_view label;   // "name" or "labels" of a metadata event
  std::string_view inputs;  // from the first member that describes a call's inputs to the end of the last
};

// What one thread has read of a file.
class EventSink {
 public:
  // Adds what `event`, which stands at `offset` of the file, means. `text` is for messages.
  void add(const Event& event, uint64_t offset, std::string_view text);

  Rows rows;  // of the present chunk
  Faults faults;

  const Interner& texts() const { return texts_; }
  const std::vector<TrackKey>& tracks() const { return tracks_; }
  const std::vector<Label>& labels() const { return labels_; }
  const std::vector<ProcessGroup>& groups() const { return groups_; }

 private:
  void add_span(const Event& event, uint64_t offset, std::string_view text);
  void add_flow(const Event& event);
  void add_label(const Event& event);
  void add_memory(const Event& event);
  void add_call(const Event& event, uint32_t row, uint64_t offset);
  void add_launch(const Event& event, uint32_t row);
  void add_collective(const Event& event, uint32_t row, std::string_view kernel);
  void add_copy(const Event& event, uint32_t row, bool sets);
  uint32_t track(TrackKey key);
  uint32_t stream_track(const Event& event);
  uint32_t name(std::string_view token);
  uint32_t inputs(std::string_view members, uint64_t offset);

  Interner texts_;                      // as they are meant, escapes resolved
  Interner raw_names_;                  // as they stand in the file
  std::vector<uint32_t> text_of_name_;  // raw name -> text
  Interner raw_inputs_;
  std::vector<uint32_t> text_of_inputs_;  // Interner::kNone: could not be read
  InputsParser inputs_parser_;
  std::vector<TrackKey> tracks_;
  std::map<TrackKey, uint32_t> track_numbers_;
  TrackKey last_key_;  // of the track that was asked for last
  uint32_t last_track_ = Interner::kNone;
  std::vector<Label> labels_;
  std::vector<ProcessGroup> groups_;
  Interner raw_groups_;
};

}  // namespace hone::trace::kineto

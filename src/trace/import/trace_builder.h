// Collects spans and their details in any order and puts them in order of time: for importers whose source
// is sorted by kind, not by time.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "trace/import/imported_file.h"

namespace hone::trace {

class TraceBuilder {
 public:
  Trace trace;  // strings, tracks and meta; spans and details are added by finish()

  // Details belong to the span that was added last.
  void add(const Span& span) { spans_.push_back(span); }
  void add(Call call) { add_to(calls_, call); }
  void add(Launch launch) { add_to(launches_, launch); }
  void add(Copy copy) { add_to(copies_, copy); }
  void add(Collective collective) { add_to(collectives_, collective); }
  std::size_t size() const { return spans_.size(); }
  const std::vector<Span>& spans() const { return spans_; }  // in the order in which they were added

  // The thread or stream of this process; made when it is first asked for.
  TrackId thread(int64_t tid);
  TrackId stream(int device, int64_t stream);
  // Names the process and pid of all tracks. Called once, before any track is made.
  void set_process(int64_t pid, std::string name);

  // Spans by start time, enclosing ones first; the first at 0. Times before were of the recorder's clock,
  // on which `epoch_ns` is the recorder's 0.
  ImportedFile finish(int64_t epoch_ns, bool has_epoch) &&;

 private:
  template <typename Detail>
  void add_to(std::vector<Detail>& details, Detail detail) {
    detail.span = static_cast<uint32_t>(spans_.size() - 1);
    details.push_back(detail);
  }

  std::vector<Span> spans_;
  std::vector<Call> calls_;
  std::vector<Launch> launches_;
  std::vector<Copy> copies_;
  std::vector<Collective> collectives_;
  TrackId process_;
  int64_t pid_ = 0;
  std::map<std::tuple<int, int64_t>, TrackId> tracks_;  // device (-1: host), id
};

}  // namespace hone::trace

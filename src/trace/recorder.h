// Records what the runtime marks with core/scope and turns it into a trace. Recording costs two writes into a
// buffer of the thread's own; a full buffer drops records and counts them.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/scope.h"
#include "trace/trace.h"

namespace hone::trace {

// What a kRegion mark stands for.
struct Region {
  std::string name;
  Category category = Category::kRegion;  // of its spans: a wait says what for
};

class ScopeRecorder final : public ScopeListener {
 public:
  // `capacity` is the number of spans that each thread can record.
  explicit ScopeRecorder(std::size_t capacity = std::size_t{1} << 17);
  ~ScopeRecorder() override;
  ScopeRecorder(const ScopeRecorder&) = delete;
  ScopeRecorder& operator=(const ScopeRecorder&) = delete;

  // Any thread. A thread's first span allocates its buffer; later ones allocate nothing.
  void on_span(Kind kind, uint32_t id, int64_t start_ns, int64_t end_ns) noexcept override;

  // Forgets every span that began at `ns` or later: what was recorded just now is not worth keeping. While
  // nothing records.
  void forget_since(int64_t ns);

  // The spans recorded so far, as a trace: kOperator ids are rows of `operators`, kRegion ids index
  // `regions`, kStep spans are numbered in order of time, and every span belongs to the step in which it
  // starts. A step within another (a plan's run, in a step that also waits for its input) is a region of that.
  // Call after recording has stopped.
  Trace take(Meta meta, std::vector<Operator> operators, const std::vector<Region>& regions,
             const std::string& process_name) const;

 private:
  struct Buffer;
  Buffer* buffer_of_this_thread() noexcept;

  const std::size_t capacity_;
  const uint64_t generation_;  // tells this recorder's thread-local pointers from an earlier recorder's
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Buffer>> buffers_;
};

// Installs a recorder as the process's listener for as long as it lives.
class RecordingSession {
 public:
  explicit RecordingSession(ScopeRecorder& recorder) : previous_(set_scope_listener(&recorder)) {}
  ~RecordingSession() { set_scope_listener(previous_); }
  RecordingSession(const RecordingSession&) = delete;
  RecordingSession& operator=(const RecordingSession&) = delete;

 private:
  ScopeListener* previous_;
};

}  // namespace hone::trace

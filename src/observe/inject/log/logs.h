// Where records wait until they are written: a log for each thread of the program, which it fills without a lock,
// and one that CUPTI's buffers are emptied into. Records are whole in a log: what is written out ends with one.
#pragma once

#include <atomic>
#include <cstdint>

#include "observe/inject/lock.h"
#include "trace/segments/record.h"

namespace hone::observe::inject {

// Bytes in pieces behind each other. One thread appends, another takes: neither waits.
class ByteQueue {
 public:
  // False where memory is short, or more waits than kMostWaiting: nothing was appended.
  bool append(const void* bytes, uint32_t count);

  // Bytes appended and not yet taken.
  uint64_t waiting() const {
    return appended_.load(std::memory_order_acquire) - taken_.load(std::memory_order_acquire);
  }

  // Calls write(begin, bytes) for what has been appended, and forgets it.
  template <typename Write>
  void take(Write write) {
    while (Piece* piece = first_.load(std::memory_order_acquire)) {
      Piece* next = piece->next.load(std::memory_order_acquire);  // before `used`, which it makes final
      const uint32_t used = piece->used.load(std::memory_order_acquire);
      if (used > piece->taken) write(piece->data() + piece->taken, used - piece->taken);
      taken_.fetch_add(used - piece->taken, std::memory_order_release);
      piece->taken = used;
      if (!next) return;
      first_.store(next, std::memory_order_release);
      release(piece);
    }
  }

  // Frees everything; nobody else may use the queue.
  void clear();

 private:
  struct Piece {
    std::atomic<Piece*> next{nullptr};
    std::atomic<uint32_t> used{0};
    uint32_t taken = 0;
    uint32_t capacity = 0;
    char* data() { return reinterpret_cast<char*>(this + 1); }
  };
  static void release(Piece* piece);

  std::atomic<Piece*> first_{nullptr};
  Piece* last_ = nullptr;
  std::atomic<uint64_t> appended_{0}, taken_{0};
};

inline constexpr uint64_t kMostWaiting = 64ull << 20;

// What a thread of the program has written and not ended.
struct OpenRange {
  int64_t start_ns, sequence;
  uint32_t kind, name, inputs;
};
inline constexpr uint32_t kDeepest = 256;

struct ThreadLog {
  ByteQueue queue;
  int32_t tid = 0;
  uint32_t serial = 0;  // tells logs of this process apart
  std::atomic<uint64_t> dropped{0};
  std::atomic<bool> ended{false};  // the thread has: nothing more will come
  bool announced = false;          // its Thread record is written
  ThreadLog* next = nullptr;
  uint32_t depth = 0;
  OpenRange open[kDeepest];

  template <typename Record>
  void add(const Record& record) {
    if (!queue.append(&record, sizeof(record))) dropped.fetch_add(1, std::memory_order_relaxed);
  }
};

class Logs {
 public:
  Logs();

  // The log of the calling thread, made when it first asks; null where memory is short.
  ThreadLog* mine();

  // Calls visit(log) for each, then frees those of threads that have ended and that are empty.
  template <typename Visit>
  void each(Visit visit) {
    Locked locked(lock_);
    for (ThreadLog** at = &first_; *at;) {
      ThreadLog* log = *at;
      const bool ended = log->ended.load(std::memory_order_acquire);
      visit(*log);
      if (ended && log->queue.waiting() == 0) {
        *at = log->next;
        free_log(log);
      } else {
        at = &log->next;
      }
    }
  }

  // In the child of a fork: only the calling thread has come along, and what it had not written its parent writes.
  void keep_mine_alone(int32_t tid);

  Lock& lock() { return lock_; }

 private:
  static void thread_ends(void* log);
  static void free_log(ThreadLog* log);

  Lock lock_;
  pthread_key_t key_;
  ThreadLog* first_ = nullptr;
  uint32_t serial_ = 0;
};

int32_t current_tid();

}  // namespace hone::observe::inject

#include "observe/inject/log/logs.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include <sys/syscall.h>
#include <unistd.h>

namespace hone::observe::inject {
namespace {

constexpr uint32_t kPieceBytes = 64 << 10;

// Plain storage for a thread's log: no constructor that could run, or fail, at an awkward moment of the program.
__thread ThreadLog* t_log = nullptr;

}  // namespace

int32_t current_tid() { return static_cast<int32_t>(syscall(SYS_gettid)); }

bool ByteQueue::append(const void* bytes, uint32_t count) {
  if (!last_ || last_->used.load(std::memory_order_relaxed) + count > last_->capacity) {
    if (waiting() + count > kMostWaiting) return false;
    const uint32_t capacity = std::max<uint32_t>(kPieceBytes - sizeof(Piece), count);
    void* memory = std::malloc(sizeof(Piece) + capacity);
    if (!memory) return false;
    auto* piece = new (memory) Piece;
    piece->capacity = capacity;
    if (last_) {
      last_->next.store(piece, std::memory_order_release);
    } else {
      first_.store(piece, std::memory_order_release);
    }
    last_ = piece;
  }
  const uint32_t used = last_->used.load(std::memory_order_relaxed);
  std::memcpy(last_->data() + used, bytes, count);
  last_->used.store(used + count, std::memory_order_release);
  appended_.store(appended_.load(std::memory_order_relaxed) + count, std::memory_order_release);
  return true;
}

void ByteQueue::release(Piece* piece) { std::free(piece); }

void ByteQueue::clear() {
  for (Piece* piece = first_; piece;) {
    Piece* next = piece->next;
    std::free(piece);
    piece = next;
  }
  first_ = last_ = nullptr;
  appended_ = taken_ = 0;
}

Logs::Logs() { pthread_key_create(&key_, thread_ends); }

ThreadLog* Logs::mine() {
  if (t_log) return t_log;
  void* memory = std::malloc(sizeof(ThreadLog));
  if (!memory) return nullptr;
  auto* log = new (memory) ThreadLog;
  log->tid = current_tid();
  {
    Locked locked(lock_);
    log->serial = ++serial_;
    log->next = first_;
    first_ = log;
  }
  pthread_setspecific(key_, log);
  t_log = log;
  return log;
}

void Logs::thread_ends(void* log) {
  t_log = nullptr;
  static_cast<ThreadLog*>(log)->ended.store(true, std::memory_order_release);
}

void Logs::free_log(ThreadLog* log) {
  log->queue.clear();
  log->~ThreadLog();
  std::free(log);
}

void Logs::keep_mine_alone(int32_t tid) {
  while (ThreadLog* log = first_) {
    first_ = log->next;
    if (log != t_log) free_log(log);
  }
  if (!t_log) return;
  t_log->queue.clear();
  t_log->tid = tid;
  t_log->dropped = 0;
  t_log->announced = false;
  t_log->next = nullptr;
  first_ = t_log;
}

}  // namespace hone::observe::inject

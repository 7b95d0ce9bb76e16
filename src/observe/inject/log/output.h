// Everything that this process writes: names, the logs of its threads, what CUPTI delivers, and what was lost; and
// the file that all of it goes to.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "observe/inject/environment.h"
#include "observe/inject/log/logs.h"
#include "observe/inject/log/names.h"
#include "observe/inject/log/segment_file.h"
#include "trace/segments/record.h"

namespace hone::observe::inject {

enum class Loss { kHostBuffers, kFile, kCupti, kUnfinished, kCount };

// Bytes that grow and never shrink; memory that is short makes append() fail and nothing else.
class ByteBuffer {
 public:
  bool append(const void* bytes, size_t count);
  void clear() { size_ = 0; }
  const char* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  char* data_ = nullptr;
  size_t size_ = 0, capacity_ = 0;
};

class Output {
 public:
  // Makes the segment of this process in the run folder, unless it has one; false where that cannot be.
  bool open(const char* run_folder, const Environment& environment, bool forked);

  uint32_t id(std::string_view text) { return names_.id(text); }
  ThreadLog* log() { return logs_.mine(); }

  // A record of what belongs to no thread of the program, or comes from a thread of CUPTI.
  template <typename Record>
  void add(const Record& record) {
    Locked locked(shared_lock_);
    if (!shared_.append(&record, sizeof(record))) lost(Loss::kHostBuffers, 1);
  }
  void add_all(const ByteBuffer& records, uint64_t count);
  void add_thread(int64_t tid);
  void note(std::string_view text);
  void lost(Loss why, uint64_t records) {
    lost_[static_cast<int>(why)].fetch_add(records, std::memory_order_relaxed);
  }

  // Writes what has come since the last time. What cannot be written waits for the next time, and is counted and
  // forgotten once that is kMostKept.
  void flush();

  uint64_t bytes_written() const { return bytes_written_.load(std::memory_order_relaxed); }
  uint64_t records_written() const { return records_written_.load(std::memory_order_relaxed); }
  uint64_t records_lost() const { return all_lost_.load(std::memory_order_relaxed); }
  // errno of the last write that failed; 0: none has.
  int write_error() const { return write_error_.load(std::memory_order_relaxed); }

  // Around a fork: the child goes on with the names, and without what its parent will write.
  void before_fork();
  void in_parent();
  void in_child();

 private:
  void describe_process();
  void collect();
  void collect_losses();
  void write_collected();

  Names names_;
  Logs logs_;
  Lock shared_lock_;
  ByteQueue shared_;
  Lock flush_lock_;
  SegmentFile file_;
  bool described_ = false;
  ByteBuffer new_names_, records_;  // on their way to the file
  std::atomic<uint64_t> lost_[static_cast<int>(Loss::kCount)] = {};
  std::atomic<uint64_t> bytes_written_{0}, records_written_{0}, all_lost_{0};
  std::atomic<int> write_error_{0};
};

// Nanoseconds of CLOCK_MONOTONIC.
int64_t monotonic_ns();

}  // namespace hone::observe::inject

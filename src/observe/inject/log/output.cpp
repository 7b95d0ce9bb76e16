#include "observe/inject/log/output.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include <fcntl.h>
#include <unistd.h>

namespace hone::observe::inject {
namespace segments = trace::segments;
namespace {

constexpr size_t kMostKept = 8 << 20;

constexpr const char* kWords[] = {
    "records of the host: their buffers were full",
    "records: the segment could not be written",
    "records that CUPTI dropped",
    "device work that had not ended when its buffer was fetched",
};
static_assert(std::size(kWords) == static_cast<size_t>(Loss::kCount));

int64_t nanoseconds(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec * 1'000'000'000ll + now.tv_nsec;
}

segments::FileHeader header_of_this_process(const Environment& environment, bool forked) {
  segments::FileHeader header;
  header.monotonic_ns = nanoseconds(CLOCK_MONOTONIC);
  header.realtime_ns = nanoseconds(CLOCK_REALTIME);
  header.pid = getpid();
  header.parent_pid = getppid();
  header.rank = environment.rank;
  header.world_size = environment.world_size;
  header.local_rank = environment.local_rank;
  header.forked = forked ? 1 : 0;
  return header;
}

size_t read_small_file(const char* path, char* into, size_t capacity) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  size_t size = 0;
  for (ssize_t got; size < capacity && (got = read(file, into + size, capacity - size)) > 0;) {
    size += static_cast<size_t>(got);
  }
  close(file);
  return size;
}

uint64_t count_records(const ByteBuffer& records) {
  uint64_t count = 0;
  for (size_t at = 0; at < records.size();) {
    segments::Head head;
    std::memcpy(&head, records.data() + at, sizeof(head));
    at += head.bytes;
    ++count;
  }
  return count;
}

}  // namespace

int64_t monotonic_ns() { return nanoseconds(CLOCK_MONOTONIC); }

bool ByteBuffer::append(const void* bytes, size_t count) {
  if (size_ + count > capacity_) {
    const size_t capacity = std::max(2 * capacity_, (size_ + count + 4095) / 4096 * 4096);
    void* memory = std::realloc(data_, capacity);
    if (!memory) return false;
    data_ = static_cast<char*>(memory);
    capacity_ = capacity;
  }
  std::memcpy(data_ + size_, bytes, count);
  size_ += count;
  return true;
}

bool Output::open(const char* run_folder, const Environment& environment, bool forked) {
  {
    Locked locked(flush_lock_);
    if (file_.exists()) return true;
    if (!described_) describe_process();
    described_ = true;
    if (!file_.create(run_folder, header_of_this_process(environment, forked))) {
      write_error_ = errno;
      return false;
    }
    bytes_written_ = file_.bytes();
  }
  flush();
  return true;
}

void Output::describe_process() {
  char text[16384];
  segments::Process process;
  const size_t length = read_small_file("/proc/self/cmdline", text, sizeof(text));
  std::replace(text, text + length, '\0', ' ');
  process.command = id(std::string_view(text, length > 0 && text[length - 1] == ' ' ? length - 1 : length));
  const ssize_t path = readlink("/proc/self/exe", text, sizeof(text));
  process.executable = id(std::string_view(text, path > 0 ? static_cast<size_t>(path) : 0));
  add(segments::with_head(process));
}

void Output::add_all(const ByteBuffer& records, uint64_t count) {
  Locked locked(shared_lock_);
  if (!shared_.append(records.data(), static_cast<uint32_t>(records.size()))) lost(Loss::kHostBuffers, count);
}

void Output::add_thread(int64_t tid) {
  char path[64], name[64];
  std::snprintf(path, sizeof(path), "/proc/self/task/%lld/comm", static_cast<long long>(tid));
  size_t length = read_small_file(path, name, sizeof(name));
  if (length > 0 && name[length - 1] == '\n') --length;
  add(segments::with_head(segments::Thread{{}, tid, id(std::string_view(name, length)), 0}));
}

void Output::note(std::string_view text) {
  add(segments::with_head(segments::Note{{}, monotonic_ns(), id(text), 0}));
}

void Output::flush() {
  Locked locked(flush_lock_);
  if (!file_.exists()) return;
  collect();
  collect_losses();
  if (records_.size() > 0) write_collected();
}

// Records first, then names: a name that a collected record uses has been made by then.
void Output::collect() {
  auto keep = [&](const char* begin, uint32_t bytes) {
    if (!records_.append(begin, bytes)) lost(Loss::kHostBuffers, 1);
  };
  logs_.each([&](ThreadLog& log) {
    if (!log.announced && log.queue.waiting() > 0) {
      log.announced = true;
      add_thread(log.tid);
    }
  });
  shared_.take(keep);  // this thread takes alone (flush_lock_), and appending needs no lock of the taker
  logs_.each([&](ThreadLog& log) {
    log.queue.take(keep);
    if (const uint64_t dropped = log.dropped.exchange(0)) lost(Loss::kHostBuffers, dropped);
  });
}

void Output::collect_losses() {
  for (int why = 0; why < static_cast<int>(Loss::kCount); ++why) {
    const uint64_t records = lost_[why].exchange(0);
    if (records == 0) continue;
    all_lost_.fetch_add(records, std::memory_order_relaxed);
    const auto record = segments::with_head(segments::Dropped{{}, records, id(kWords[why]), 0});
    if (!records_.append(&record, sizeof(record))) lost(static_cast<Loss>(why), records);
  }
}

void Output::write_collected() {
  new_names_.clear();
  bool complete = true;
  names_.write_new([&](const char* begin, uint32_t bytes) { complete &= new_names_.append(begin, bytes); });
  const iovec parts[] = {{const_cast<char*>(new_names_.data()), new_names_.size()},
                         {const_cast<char*>(records_.data()), records_.size()}};
  if (complete && file_.append(parts, 2)) {
    bytes_written_ = file_.bytes();
    records_written_.fetch_add(count_records(records_), std::memory_order_relaxed);
    records_.clear();
    return;
  }
  write_error_ = complete ? errno : ENOMEM;
  {
    Locked locked(names_.lock());
    names_.write_all_again();
  }
  if (records_.size() < kMostKept) return;
  lost(Loss::kFile, count_records(records_));
  records_.clear();
}

// In the order in which collect() takes them.
void Output::before_fork() {
  logs_.lock().lock();
  shared_lock_.lock();
  names_.lock().lock();
}

void Output::in_parent() {
  names_.lock().unlock();
  shared_lock_.unlock();
  logs_.lock().unlock();
}

void Output::in_child() {
  for (Lock* lock : {&names_.lock(), &logs_.lock(), &shared_lock_, &flush_lock_}) lock->reopen();
  logs_.keep_mine_alone(current_tid());
  shared_.clear();
  names_.write_all_again();
  file_.forget();
  described_ = false;
  records_ = ByteBuffer();  // what the parent's flush had there may be half moved: leave it alone
  new_names_ = ByteBuffer();
  for (auto& lost : lost_) lost = 0;
  bytes_written_ = records_written_ = all_lost_ = 0;
  write_error_ = 0;
}

}  // namespace hone::observe::inject

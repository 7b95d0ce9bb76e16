#include "observe/inject/host_api.h"

#include <cstring>
#include <string_view>

#include "observe/inject/recorder.h"

namespace segments = hone::trace::segments;
using hone::observe::inject::monotonic_ns;
using hone::observe::inject::Recorder;
using hone::observe::inject::this_process;
using hone::observe::inject::ThreadLog;

namespace {

// What an unobserved program reads: kFinished, no stacks.
const volatile uint32_t never_recorded = static_cast<uint32_t>(segments::Mode::kFinished);
const volatile uint32_t no_stacks = 0;

ThreadLog* log_of_recording_thread() {
  Recorder* recorder = this_process();
  return recorder && recorder->recording() ? recorder->output().log() : nullptr;
}

void write_range(ThreadLog& log, const hone::observe::inject::OpenRange& range, int64_t end_ns) {
  log.add(segments::with_head(segments::Range{{},
                                              range.start_ns,
                                              end_ns,
                                              log.tid,
                                              static_cast<segments::RangeKind>(range.kind),
                                              range.name,
                                              range.inputs,
                                              0,
                                              range.sequence}));
}

}  // namespace

uint32_t hone_host_version(void) { return 1; }

const volatile uint32_t* hone_mode(void) {
  return this_process() ? this_process()->mode_address() : &never_recorded;
}

const volatile uint32_t* hone_python_stacks(void) {
  return this_process() ? this_process()->python_stacks_address() : &no_stacks;
}

int64_t hone_clock(void) { return monotonic_ns(); }

uint32_t hone_intern(const char* text) {
  return text && this_process() ? this_process()->output().id(text) : segments::kNoName;
}

uint32_t hone_intern_bytes(const char* text, size_t length) {
  return text && this_process() ? this_process()->output().id(std::string_view(text, length))
                                : segments::kNoName;
}

void hone_mark(uint32_t kind, uint32_t name) {
  if (this_process()) this_process()->mark(static_cast<segments::MarkKind>(kind), name, 0);
}

// A token is the thread's log and the depth in it: what another thread hands in by mistake is not ours to end.
uint64_t hone_range_begin(uint32_t kind, uint32_t name, uint32_t inputs, int64_t sequence) {
  ThreadLog* log = log_of_recording_thread();
  if (!log) return 0;
  if (log->depth >= hone::observe::inject::kDeepest) {
    log->dropped.fetch_add(1, std::memory_order_relaxed);
    return 0;
  }
  log->open[log->depth] = {monotonic_ns(), sequence, kind, name, inputs};
  return static_cast<uint64_t>(log->serial) << 32 | ++log->depth;
}

void hone_range_end(uint64_t token) {
  if (token == 0) return;
  const int64_t now = monotonic_ns();
  ThreadLog* log = log_of_recording_thread();
  if (!log || token >> 32 != log->serial) return;
  const auto depth = static_cast<uint32_t>(token);
  while (log->depth >= depth) write_range(*log, log->open[--log->depth], now);
}

void hone_range(uint32_t kind, uint32_t name, uint32_t inputs, int64_t sequence, int64_t start_ns,
                int64_t end_ns) {
  if (ThreadLog* log = log_of_recording_thread()) {
    write_range(*log, {start_ns, sequence, kind, name, inputs}, end_ns);
  }
}

void hone_sample(int64_t tid, uint32_t kind, const uint32_t* frames, uint32_t count) {
  constexpr uint32_t kMostFrames = 512;
  ThreadLog* log = log_of_recording_thread();
  if (!log || !frames) return;
  if (count > kMostFrames) count = kMostFrames;
  struct {
    segments::Sample sample;
    uint32_t frames[kMostFrames];
  } record = {};
  record.sample = segments::with_head(
      segments::Sample{{}, monotonic_ns(), tid, static_cast<segments::StackKind>(kind), count}, count * 4);
  for (uint32_t i = 0; i < count; ++i) record.frames[i] = frames[i];
  if (!log->queue.append(&record, record.sample.head.bytes))
    log->dropped.fetch_add(1, std::memory_order_relaxed);
}

void hone_loader(const int64_t* fields, size_t count) {
  constexpr size_t kFields = (sizeof(segments::Loader) - sizeof(segments::Head)) / sizeof(int64_t);
  ThreadLog* log = log_of_recording_thread();
  if (!log || !fields || count != kFields) return;
  segments::Loader record = segments::with_head(segments::Loader{});
  std::memcpy(&record.start_ns, fields, count * sizeof(int64_t));
  log->add(record);
}

void hone_note(const char* text) {
  if (text && this_process() && this_process()->recording()) this_process()->output().note(text);
}

void hone_leave_device(const char* reason) {
  if (this_process() && this_process()->recording()) {
    this_process()->lend_device(reason ? reason
                                       : "no device work recorded from here on: the program asked for it");
  }
}

void hone_return_device(void) {
  if (this_process()) this_process()->take_device_back();
}

void hone_capture_begins(void) {
  if (this_process() && this_process()->recording()) this_process()->capture_begins();
}

void hone_capture_ends(void) {
  if (this_process()) this_process()->capture_ends();
}

void hone_flush(void) {
  if (this_process()) this_process()->output().flush();
}

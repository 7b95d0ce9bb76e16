#include "trace/recorder.h"

#include <algorithm>
#include <atomic>
#include <new>

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace hone::trace {
namespace {

struct Record {
  int64_t start_ns;
  int64_t end_ns;
  uint32_t id;
  ScopeListener::Kind kind;
};

uint64_t next_generation() {
  static std::atomic<uint64_t> counter{1};
  return counter.fetch_add(1, std::memory_order_relaxed);
}

Category category_of(ScopeListener::Kind kind) {
  switch (kind) {
    case ScopeListener::Kind::kStep:
      return Category::kStep;
    case ScopeListener::Kind::kOperator:
      return Category::kOperator;
    case ScopeListener::Kind::kRegion:
      return Category::kRegion;
  }
  return Category::kOther;
}

std::vector<std::size_t> steps_by_start(const SpanTable& spans) {
  std::vector<std::size_t> steps;
  for (std::size_t i = 0; i < spans.size(); ++i)
    if (spans.category[i] == Category::kStep) steps.push_back(i);
  std::sort(steps.begin(), steps.end(), [&](std::size_t a, std::size_t b) {
    if (spans.start_ns[a] != spans.start_ns[b]) return spans.start_ns[a] < spans.start_ns[b];
    return spans.duration_ns[a] > spans.duration_ns[b];
  });
  return steps;
}

void make_inner_steps_regions(Trace& trace) {
  int64_t end = -1;
  for (const std::size_t row : steps_by_start(trace.spans)) {
    const Span step = trace.spans.row(row);
    if (step.start_ns >= end) {
      end = step.end_ns();
      continue;
    }
    // By a device's clock, read from here, it may end a little later than what holds it.
    trace.spans.category[row] = Category::kRegion;
    trace.spans.name[row] = trace.strings.intern("plan");
  }
}

// Numbers the steps in order of time and gives every other span the step in which it starts.
void assign_steps(SpanTable& spans) {
  const std::vector<std::size_t> steps = steps_by_start(spans);
  std::vector<int64_t> starts;
  for (std::size_t k = 0; k < steps.size(); ++k) {
    spans.step[steps[k]] = static_cast<int32_t>(k);
    starts.push_back(spans.start_ns[steps[k]]);
  }
  for (std::size_t i = 0; i < spans.size(); ++i) {
    if (spans.category[i] == Category::kStep) continue;
    auto after = std::upper_bound(starts.begin(), starts.end(), spans.start_ns[i]);
    if (after == starts.begin()) continue;
    auto k = static_cast<std::size_t>(after - starts.begin() - 1);
    const Span step = spans.row(steps[k]);
    if (spans.start_ns[i] < step.end_ns()) spans.step[i] = static_cast<int32_t>(k);
  }
}

}  // namespace

struct ScopeRecorder::Buffer {
  int64_t tid = 0;
  uint64_t dropped = 0;
  std::vector<Record> records;
};

ScopeRecorder::ScopeRecorder(std::size_t capacity) : capacity_(capacity), generation_(next_generation()) {}
ScopeRecorder::~ScopeRecorder() = default;

ScopeRecorder::Buffer* ScopeRecorder::buffer_of_this_thread() noexcept {
  thread_local uint64_t owner = 0;
  thread_local Buffer* mine = nullptr;
  if (owner == generation_) return mine;
  owner = generation_;
  mine = nullptr;
  const auto tid = static_cast<int64_t>(syscall(SYS_gettid));
  try {
    std::lock_guard lock(mutex_);
    for (const auto& buffer : buffers_)  // the thread has been here, and at another recorder since
      if (buffer->tid == tid) return mine = buffer.get();
    auto buffer = std::make_unique<Buffer>();
    buffer->tid = tid;
    buffer->records.reserve(capacity_);
    mine = buffers_.emplace_back(std::move(buffer)).get();
  } catch (const std::bad_alloc&) {
    // Never disturb the program that is observed: this thread goes unrecorded.
  }
  return mine;
}

void ScopeRecorder::on_span(Kind kind, uint32_t id, int64_t start_ns, int64_t end_ns) noexcept {
  Buffer* buffer = buffer_of_this_thread();
  if (buffer == nullptr) return;
  if (buffer->records.size() >= capacity_) {
    ++buffer->dropped;
    return;
  }
  buffer->records.push_back({start_ns, end_ns, id, kind});
}

void ScopeRecorder::forget_since(int64_t ns) {
  const std::lock_guard lock(mutex_);
  for (const auto& buffer : buffers_)
    while (!buffer->records.empty() && buffer->records.back().start_ns >= ns) buffer->records.pop_back();
}

Trace ScopeRecorder::take(Meta meta, std::vector<Operator> operators, const std::vector<Region>& regions,
                          const std::string& process_name) const {
  std::lock_guard lock(mutex_);
  Trace trace;
  trace.meta = std::move(meta);
  trace.operators = std::move(operators);
  auto pid = static_cast<int64_t>(getpid());
  TrackId process = trace.add_track({TrackKind::kProcess, process_name, {}, pid, pid, 0, -1});
  StringId step_name = trace.strings.intern("step");
  std::vector<StringId> operator_names, region_names;
  for (const Operator& op : trace.operators) operator_names.push_back(trace.strings.intern(op.name));
  for (const Region& region : regions) region_names.push_back(trace.strings.intern(region.name));
  for (const auto& buffer : buffers_) {
    std::string name = buffer->tid == pid ? "main thread" : fmt::format("thread {}", buffer->tid);
    TrackId track = trace.add_track({TrackKind::kThread, name, process, pid, buffer->tid, 0, -1});
    trace.meta.dropped += buffer->dropped;
    for (const Record& record : buffer->records) {
      Span span{record.start_ns, std::max<int64_t>(0, record.end_ns - record.start_ns), track, step_name,
                category_of(record.kind)};
      if (record.kind == Kind::kOperator) {
        if (record.id >= operator_names.size()) continue;  // of another plan than the one that was asked for
        span.op = {record.id};
        span.name = operator_names[record.id];
      } else if (record.kind == Kind::kRegion) {
        const bool known = record.id < region_names.size();
        span.name = known ? region_names[record.id] : trace.strings.intern("region");
        if (known) span.category = regions[record.id].category;
      }
      trace.spans.add(span);
    }
  }
  make_inner_steps_regions(trace);
  assign_steps(trace.spans);
  return trace;
}

}  // namespace hone::trace

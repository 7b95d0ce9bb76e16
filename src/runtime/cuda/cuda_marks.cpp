// What a CUDA queue tells of marks: by the GPU's own records of a replayed graph where CUPTI serves, else by events
// around each.
#include <algorithm>

#include "core/clock.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/cuda_recording.h"

namespace hone::runtime {

Status CudaRecording::replay() {
  if (!scopes_have_listener()) [[likely]]
    return queue.launch(graph);
  if (queue.records_ == nullptr || !marked) return queue.run(sequence);
  HONE_CHECK(queue.launch(marked));
  queue.replayed_.push_back(this);
  return {};
}

// No error: where CUPTI does not serve, events do.
Status CudaRecording::ready_marks() {
  if (queue.mark_times_.how == MarkTimes::How::kEvents) return {};
  if (const Status ready = queue.record_replays(*this); !ready.ok()) queue.give_up_records(ready.error());
  return {};
}

// The graph is made while CUPTI records, so that CUPTI knows its nodes from the beginning.
Status CudaQueue::record_replays(CudaRecording& recording) {
  HONE_CHECK(context().make_current());
  if (records_ == nullptr) {
    HONE_ASSIGN(std::shared_ptr<cuda::Cupti> cupti, device_->cupti());
    HONE_CHECK(cupti->begin());
    records_ = std::move(cupti);
  }
  if (recording.marked) return {};
  CapturedMarks marks(context().driver(), stream_.get());
  HONE_ASSIGN(cuda::GraphExec graph, capture(recording.sequence, &marks));
  HONE_ASSIGN(recording.nodes, marks.take());
  recording.marked = std::move(graph);
  return {};
}

void CudaQueue::give_up_records(const Error& why) {
  mark_times_ = {MarkTimes::How::kEvents, why.message};
  if (records_ != nullptr) (void)records_->end(0);
  records_ = nullptr;
  replayed_.clear();
  kernels_.clear();
}

// Each run has the same kernels in the same order; where it has others, a driver that chose anew, what was known is past.
void CudaQueue::keep_kernels(std::span<const OperatorKernel> run) {
  const auto is_same = [](const MarkedKernel& known, const OperatorKernel& now) {
    return known.op == now.op && known.name == now.record.kernel && known.grid == now.record.grid;
  };
  if (!std::ranges::equal(kernels_, run, is_same)) {
    kernels_.clear();
    for (const auto& [op, record] : run)
      kernels_.push_back({op, record.kernel, record.grid, record.block, record.registers, {}});
  }
  for (std::size_t i = 0; i < run.size(); ++i)
    kernels_[i].ns.push_back(run[i].record.end_ns - run[i].record.start_ns);
}

Result<MarkedRun> CudaQueue::tell_marks() {
  if (records_ == nullptr) return MarkedRun{};
  std::vector<std::span<const MarkedNodes>> replays;
  for (const CudaRecording* const replayed : std::exchange(replayed_, {})) replays.push_back(replayed->nodes);
  const auto records = std::exchange(records_, nullptr)->end(records_of(replays));
  if (replays.empty()) return MarkedRun{};
  const auto times = records.ok() ? times_of_replays(replays, *records) : records.error();
  if (!times.ok()) {
    give_up_records(times.error());
    return MarkedRun{.told = false};
  }
  mark_times_ = {MarkTimes::How::kWithinReplay, {}};
  keep_kernels(times->kernels);
  for (const MarkTime& mark : times->marks)
    tell_scope_listener(mark.kind, mark.id, mark.start_ns, mark.end_ns);
  return MarkedRun{.told = true, .busy_from_ns = times->start_ns, .busy_to_ns = times->end_ns};
}

int64_t CudaQueue::begin_span() {
  if (capturing_) {
    if (captured_ != nullptr) captured_->begin();
    return kNoSpan;
  }
  Span& span = spans_.emplace_back();
  for (cuda::StreamEvent* const event : {&span.begin, &span.end}) {
    auto made = cuda::make_event(device_->context(), /*with_timing=*/true);
    if (made.ok()) *event = *std::move(made);
  }
  if (span.begin) (void)functions().event_record(span.begin.get(), stream_.get());
  return static_cast<int64_t>(spans_.size()) - 1;
}

void CudaQueue::end_span(ScopeListener::Kind kind, uint32_t id, int64_t begun) {
  if (capturing_ && captured_ != nullptr) captured_->end(kind, id);
  if (begun == kNoSpan) return;
  Span& span = spans_[static_cast<std::size_t>(begun)];
  span.kind = kind;
  span.id = id;
  span.ended =
      span.end && functions().event_record(span.end.get(), stream_.get()) == cuda::DriverCode::kSuccess;
}

// After a wait: all that was marked has run. Times of the device become the host's by an event of now, so that what
// the two clocks drift apart, and what a float keeps of milliseconds, matters over one step at most.
Status CudaQueue::tell_spans() {
  bool any = !spans_.empty();
  for (const auto& lane : lanes_) any = any || !lane->spans_.empty();
  if (!any) return {};
  HONE_ASSIGN(const cuda::StreamEvent now, cuda::make_event(device_->context(), /*with_timing=*/true));
  HONE_CHECK(check(functions().event_record(now.get(), stream_.get()), "cuEventRecord"));
  HONE_CHECK(check(functions().event_synchronize(now.get()), "cuEventSynchronize"));
  const int64_t now_is = now_ns();
  for (const auto& lane : lanes_) HONE_CHECK(lane->tell_spans_before(now, now_is));
  return tell_spans_before(now, now_is);
}

Status CudaQueue::tell_spans_before(const cuda::StreamEvent& now, int64_t now_is) {
  const std::vector<Span> spans = std::exchange(spans_, {});
  for (const Span& span : spans) {
    if (!span.ended) continue;
    float since_begin = 0, since_end = 0;
    HONE_CHECK(check(functions().event_elapsed_time(&since_begin, span.begin.get(), now.get()),
                     "cuEventElapsedTime"));
    HONE_CHECK(
        check(functions().event_elapsed_time(&since_end, span.end.get(), now.get()), "cuEventElapsedTime"));
    const auto at = [&](float ms) { return now_is - static_cast<int64_t>(static_cast<double>(ms) * 1e6); };
    tell_scope_listener(span.kind, span.id, at(since_begin), at(since_end));
  }
  return {};
}

}  // namespace hone::runtime

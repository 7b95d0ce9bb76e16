// An NVIDIA GPU as a device: memory by the driver, a stream as a queue, page-locked memory for copies, a CUDA graph as a
// recording. What is told of marks: cuda_marks.cpp.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cuda/context.h"
#include "cuda/cupti.h"

#include "runtime/device.h"

namespace hone::runtime {

class CudaDevice : public Device, public std::enable_shared_from_this<CudaDevice> {
 public:
  // `profilers`: where CUPTI is looked for when somebody first listens to marks; null: nowhere.
  explicit CudaDevice(cuda::ContextPointer context, std::optional<cuda::LibraryPlaces> profilers = {});

  std::string_view name() const override { return name_; }  // "cuda:0"
  bool host_visible() const override { return false; }
  std::size_t capacity() const override { return context_->total_bytes(); }
  std::size_t available() const override;
  std::optional<std::size_t> taken_by_all() const override;
  bool replays_alone() const override { return true; }
  std::size_t cache_bytes() const override { return context_->l2_bytes(); }
  Result<Memory> allocate(std::size_t bytes) override;
  Result<Memory> allocate_staging(std::size_t bytes) override;
  Result<std::unique_ptr<Queue>> make_queue() override;

  const cuda::ContextPointer& context() const { return context_; }
  // Whether its graphs can have programmatic dependent launches: Hopper and later, a driver of CUDA 12.4 or later; not where
  // the environment variable HONE_DEPENDENT_LAUNCH is 0.
  bool launches_early() const { return launches_early_; }
  // One for all queues. Thread-safe.
  Result<std::shared_ptr<cuda::Cupti>> cupti();

 private:
  cuda::ContextPointer context_;
  std::string name_;
  std::optional<cuda::LibraryPlaces> profilers_;
  bool launches_early_;
  std::mutex mutex_;
  std::optional<Result<std::shared_ptr<cuda::Cupti>>> cupti_;  // once looked for
};

struct CudaRecording;
class CapturedMarks;
struct OperatorKernel;

class CudaQueue : public Queue {
 public:
  CudaQueue(std::shared_ptr<CudaDevice> device, cuda::Stream stream)
      : Queue(false), device_(std::move(device)), stream_(std::move(stream)) {}
  ~CudaQueue() override;

  Status wait() override;
  Status wait(const Event& event) override;
  Result<std::unique_ptr<Event>> make_event() override;
  Status record(Event& event) override;
  Status after(const Event& event) override;
  Result<double> microseconds(const Event& from, const Event& to) override;

  Status copy_in(void* to, const void* host, std::size_t bytes) override;
  Status copy_out(void* host, const void* from, std::size_t bytes) override;
  Status copy(void* to, const void* from, std::size_t bytes) override;
  Status fill(void* to, std::byte value, std::size_t bytes) override;

  Status run(Sequence& sequence) override { return sequence.enqueue(*this); }
  // A CUDA graph of the sequence's commands.
  Result<std::unique_ptr<Recording>> make_recording(Sequence& sequence) override;
  // Lanes are streams of their own, which begin behind an event of this one; this one goes on behind an event of each.
  Status fork(int lanes, LaneFunction work, void* context) override;

  int64_t begin_span() override;
  void end_span(ScopeListener::Kind kind, uint32_t id, int64_t begun) override;
  Result<MarkedRun> tell_marks() override;
  MarkTimes mark_times() const override { return mark_times_; }
  std::span<const MarkedKernel> marked_kernels() const override { return kernels_; }

  // --- for kernels ---
  cuda::StreamHandle stream() const { return stream_.get(); }
  // `when`: kEarly only for kernels that wait; they are launched so in graphs, behind a kernel, where the device can.
  Status launch(cuda::FunctionHandle function, const cuda::LaunchShape& shape, std::span<void*> arguments,
                std::string_view name, cuda::Launch when = cuda::Launch::kBehind);
  // Calls function(data) on a thread of the driver's when everything given before has run. It must not call CUDA.
  Status call_host(cuda::HostFunction function, void* data);

 private:
  friend struct CudaRecording;
  struct CudaEvent;
  struct Span {
    cuda::StreamEvent begin, end;
    ScopeListener::Kind kind = {};
    uint32_t id = 0;
    bool ended = false;
  };

  const cuda::Context& context() const { return *device_->context(); }
  const cuda::DriverFunctions& functions() const { return context().functions(); }
  Status check(cuda::DriverCode code, std::string_view call) const;
  Result<cuda::GraphExec> capture(Sequence& sequence, CapturedMarks* marks);
  Status make_lanes(std::size_t count);
  Status launch(const cuda::GraphExec& graph);
  // Has CUPTI record, and `recording` replayed by a graph whose marks are known. An error: it cannot be, from now on.
  Status record_replays(CudaRecording& recording);
  void give_up_records(const Error& why);
  void keep_kernels(std::span<const OperatorKernel> run);
  Status tell_spans();
  Status tell_spans_before(const cuda::StreamEvent& now, int64_t now_ns);

  std::shared_ptr<CudaDevice> device_;
  cuda::Stream stream_;
  std::vector<std::unique_ptr<CudaQueue>> lanes_;  // made before a capture that wants them
  std::unique_ptr<Event> forked_;
  std::vector<std::unique_ptr<Event>> joined_;  // one a lane
  static constexpr int64_t kNoSpan = -1;
  bool capturing_ = false;
  bool behind_kernel_ = false;         // what was given last; libraries give kernels, too
  CapturedMarks* captured_ = nullptr;  // of a capture whose marks are to be known
  std::vector<Span> spans_;            // not told yet

  MarkTimes mark_times_;
  std::vector<MarkedKernel> kernels_;           // of the runs that were told
  std::shared_ptr<cuda::Cupti> records_;        // while CUPTI records for this queue
  std::vector<const CudaRecording*> replayed_;  // meanwhile, in this order
};

}  // namespace hone::runtime

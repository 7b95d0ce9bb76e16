#include "runtime/cuda/cuda_device.h"

#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

#include "runtime/cuda/cuda_recording.h"

namespace hone::runtime {
namespace {

cuda::DeviceAddress device_address(const void* address) {
  return static_cast<cuda::DeviceAddress>(reinterpret_cast<uintptr_t>(address));
}

bool can_launch_early(const cuda::Context& context) {
  constexpr int kHopper = 90, kFirstDriver = 12040;
  const char* const wish = std::getenv("HONE_DEPENDENT_LAUNCH");
  return context.architecture().number >= kHopper && context.driver().version() >= kFirstDriver &&
         (wish == nullptr || std::string_view(wish) != "0");
}

}  // namespace

struct CudaQueue::CudaEvent : Event {
  explicit CudaEvent(cuda::StreamEvent made) : event(std::move(made)) {}
  cuda::StreamEvent event;
};

CudaDevice::CudaDevice(cuda::ContextPointer context, std::optional<cuda::LibraryPlaces> profilers)
    : context_(std::move(context)),
      name_(fmt::format("cuda:{}", context_->index())),
      profilers_(std::move(profilers)),
      launches_early_(can_launch_early(*context_)) {}

std::size_t CudaDevice::available() const {
  const auto room = context_->room();
  return room.ok() ? room->free : capacity();
}

std::optional<std::size_t> CudaDevice::taken_by_all() const {
  const auto room = context_->room();
  if (!room.ok()) return std::nullopt;
  return room->total - room->free;
}

Result<std::shared_ptr<cuda::Cupti>> CudaDevice::cupti() {
  const std::lock_guard lock(mutex_);
  if (!cupti_ && !profilers_) cupti_ = not_found("CUPTI is not looked for");
  if (!cupti_) cupti_ = cuda::Cupti::load(*profilers_, context_->driver().version());
  return *cupti_;
}

Result<Memory> CudaDevice::allocate(std::size_t bytes) {
  HONE_ASSIGN(cuda::DeviceBlock block, cuda::allocate(context_, bytes));
  auto* const address = reinterpret_cast<std::byte*>(static_cast<uintptr_t>(block.get()));
  return counted(Memory(address, bytes, std::make_shared<cuda::DeviceBlock>(std::move(block))));
}

Result<Memory> CudaDevice::allocate_staging(std::size_t bytes) {
  HONE_ASSIGN(cuda::PinnedBlock block, cuda::allocate_pinned(context_, bytes));
  auto* const address = static_cast<std::byte*>(block.get());
  return charged_to_host(Memory(address, bytes, std::make_shared<cuda::PinnedBlock>(std::move(block))));
}

Result<std::unique_ptr<Queue>> CudaDevice::make_queue() {
  HONE_ASSIGN(cuda::Stream stream, cuda::make_stream(context_));
  return std::unique_ptr<Queue>(std::make_unique<CudaQueue>(shared_from_this(), std::move(stream)));
}

CudaQueue::~CudaQueue() {
  (void)wait();
  if (records_ != nullptr) (void)records_->end(0);
}

Status CudaQueue::check(cuda::DriverCode code, std::string_view call) const {
  if (code == cuda::DriverCode::kSuccess) [[likely]]
    return {};
  Status status = context().check(code, call);
  return status.error().within(fmt::format("GPU {} ({})", context().index(), context().name()));
}

Status CudaQueue::wait() {
  HONE_CHECK(context().make_current());
  HONE_CHECK(check(functions().stream_synchronize(stream_.get()), "cuStreamSynchronize"));
  return tell_spans();
}

Status CudaQueue::wait(const Event& event) {
  HONE_CHECK(context().make_current());
  return check(functions().event_synchronize(static_cast<const CudaEvent&>(event).event.get()),
               "cuEventSynchronize");
}

Result<std::unique_ptr<Event>> CudaQueue::make_event() {
  HONE_ASSIGN(cuda::StreamEvent event, cuda::make_event(device_->context(), /*with_timing=*/true));
  return std::unique_ptr<Event>(std::make_unique<CudaEvent>(std::move(event)));
}

Status CudaQueue::record(Event& event) {
  HONE_CHECK(context().make_current());
  return check(functions().event_record(static_cast<CudaEvent&>(event).event.get(), stream_.get()),
               "cuEventRecord");
}

Status CudaQueue::after(const Event& event) {
  HONE_CHECK(context().make_current());
  return check(
      functions().stream_wait_event(stream_.get(), static_cast<const CudaEvent&>(event).event.get(), 0),
      "cuStreamWaitEvent");
}

Result<double> CudaQueue::microseconds(const Event& from, const Event& to) {
  HONE_CHECK(wait(from));
  HONE_CHECK(wait(to));
  float ms = 0;
  HONE_CHECK(check(functions().event_elapsed_time(&ms, static_cast<const CudaEvent&>(from).event.get(),
                                                  static_cast<const CudaEvent&>(to).event.get()),
                   "cuEventElapsedTime"));
  return static_cast<double>(ms) * 1e3;
}

Status CudaQueue::copy_in(void* to, const void* host, std::size_t bytes) {
  if (bytes == 0) return {};
  HONE_CHECK(context().make_current());
  behind_kernel_ = false;
  return check(functions().memcpy_htod_async(device_address(to), host, bytes, stream_.get()),
               "cuMemcpyHtoDAsync");
}

Status CudaQueue::copy_out(void* host, const void* from, std::size_t bytes) {
  if (bytes == 0) return {};
  HONE_CHECK(context().make_current());
  behind_kernel_ = false;
  return check(functions().memcpy_dtoh_async(host, device_address(from), bytes, stream_.get()),
               "cuMemcpyDtoHAsync");
}

Status CudaQueue::copy(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return {};
  HONE_CHECK(context().make_current());
  behind_kernel_ = false;
  return check(functions().memcpy_dtod_async(device_address(to), device_address(from), bytes, stream_.get()),
               "cuMemcpyDtoDAsync");
}

Status CudaQueue::fill(void* to, std::byte value, std::size_t bytes) {
  if (bytes == 0) return {};
  HONE_CHECK(context().make_current());
  behind_kernel_ = false;
  return check(functions().memset_d8_async(device_address(to), std::to_integer<unsigned char>(value), bytes,
                                           stream_.get()),
               "cuMemsetD8Async");
}

Result<cuda::GraphExec> CudaQueue::capture(Sequence& sequence, CapturedMarks* marks) {
  HONE_CHECK(context().make_current());
  if (sequence.lanes() > 1) HONE_CHECK(make_lanes(static_cast<std::size_t>(sequence.lanes())));
  HONE_CHECK(check(functions().stream_begin_capture(stream_.get(), cuda::kCaptureThreadLocal),
                   "cuStreamBeginCapture"));
  capturing_ = true;
  captured_ = marks;
  behind_kernel_ = false;
  const Status given = sequence.enqueue(*this);
  if (marks != nullptr) marks->finish();
  capturing_ = false;
  captured_ = nullptr;
  cuda::GraphHandle captured = nullptr;
  const cuda::DriverCode ended =
      functions().stream_end_capture(stream_.get(), &captured);  // whatever happened
  const cuda::Graph graph = captured != nullptr ? cuda::Graph(device_->context(), captured) : cuda::Graph();
  HONE_CHECK(given);
  HONE_CHECK(check(ended, "cuStreamEndCapture"));
  cuda::GraphExecHandle executable = nullptr;
  HONE_CHECK(check(functions().graph_instantiate(&executable, graph.get(), 0), "cuGraphInstantiate"));
  return cuda::GraphExec(device_->context(), executable);
}

Result<std::unique_ptr<Recording>> CudaQueue::make_recording(Sequence& sequence) {
  HONE_ASSIGN(cuda::GraphExec graph, capture(sequence, nullptr));
  return std::unique_ptr<Recording>(std::make_unique<CudaRecording>(*this, sequence, std::move(graph)));
}

Status CudaQueue::launch(const cuda::GraphExec& graph) {
  HONE_CHECK(context().make_current());
  return check(functions().graph_launch(graph.get(), stream_.get()), "cuGraphLaunch");
}

Status CudaQueue::make_lanes(std::size_t count) {
  if (forked_ == nullptr) {
    HONE_ASSIGN(forked_, make_event());
  }
  while (lanes_.size() < count) {
    HONE_ASSIGN(cuda::Stream stream, cuda::make_stream(device_->context()));
    HONE_ASSIGN(std::unique_ptr<Event> joined, make_event());
    lanes_.push_back(std::make_unique<CudaQueue>(device_, std::move(stream)));
    joined_.push_back(std::move(joined));
  }
  return {};
}

Status CudaQueue::fork(int lanes, LaneFunction work, void* context) {
  const auto count = static_cast<std::size_t>(lanes);
  HONE_CHECK(make_lanes(count));
  if (captured_ != nullptr) {  // times are told of what runs in one order
    for (int lane = 0; lane < lanes; ++lane) work(context, lane, *this);
    return {};
  }
  HONE_CHECK(record(*forked_));
  for (std::size_t lane = 0; lane < count; ++lane) {
    lanes_[lane]->capturing_ = capturing_;
    lanes_[lane]->behind_kernel_ = false;
    HONE_CHECK(lanes_[lane]->after(*forked_));
    work(context, static_cast<int>(lane), *lanes_[lane]);
  }
  for (std::size_t lane = 0; lane < count; ++lane) {
    HONE_CHECK(lanes_[lane]->record(*joined_[lane]));
    HONE_CHECK(after(*joined_[lane]));
  }
  behind_kernel_ = false;
  return {};
}

Status CudaQueue::launch(cuda::FunctionHandle function, const cuda::LaunchShape& shape,
                         std::span<void*> arguments, std::string_view name, cuda::Launch when) {
  const bool early = when == cuda::Launch::kEarly && behind_kernel_ && capturing_ && captured_ == nullptr &&
                     device_->launches_early();
  behind_kernel_ = true;
  return cuda::launch(context(), function, shape, stream_.get(), arguments, name,
                      early ? cuda::Launch::kEarly : cuda::Launch::kBehind);
}

Status CudaQueue::call_host(cuda::HostFunction function, void* data) {
  HONE_CHECK(context().make_current());
  behind_kernel_ = false;
  return check(functions().launch_host_func(stream_.get(), function, data), "cuLaunchHostFunc");
}

}  // namespace hone::runtime

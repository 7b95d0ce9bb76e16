#include "runtime/null/null_device.h"

#include <cstring>

#include <fmt/core.h>

#include "core/clock.h"
#include "core/tensor.h"
#include "runtime/host_device.h"

namespace hone::runtime {

// A point in a queue's order, kept by its event and by every command that waits for it.
struct NullQueue::Moment {
  NullQueue* queue = nullptr;  // where it is still to come; null: it has passed, or was never recorded
  int64_t ns = 0;
};

struct NullQueue::NullEvent : Event {
  std::shared_ptr<Moment> moment = std::make_shared<Moment>();
};

std::size_t NullDevice::capacity() const { return HostDevice().capacity(); }

Result<Memory> NullDevice::allocate(std::size_t bytes) {
  HONE_CHECK(check_fits(bytes, capacity()));
  HONE_ASSIGN(std::byte* const block, wall_.allocate(bytes));
  return counted(
      Memory(block, bytes, std::shared_ptr<void>(nullptr, [self = shared_from_this(), block](void*) {
               self->wall_.release(block);
             })));
}

Result<Memory> NullDevice::allocate_staging(std::size_t bytes) {
  HONE_ASSIGN(Memory block, HostDevice().allocate(bytes));
  std::byte* const address = block.address();
  {
    const std::lock_guard lock(mutex_);
    staging_[address] = bytes;
  }
  const auto kept = std::make_shared<Memory>(std::move(block));
  return Memory(address, bytes,
                std::shared_ptr<void>(nullptr, [self = shared_from_this(), kept, address](void*) {
                  const std::lock_guard lock(self->mutex_);
                  self->staging_.erase(address);
                }));
}

bool NullDevice::is_staging(const void* address) const {
  const auto* const byte = static_cast<const std::byte*>(address);
  const std::lock_guard lock(mutex_);
  const auto after = staging_.upper_bound(byte);
  if (after == staging_.begin()) return false;
  const auto& [start, bytes] = *std::prev(after);
  return byte < start + bytes;
}

Result<std::unique_ptr<Queue>> NullDevice::make_queue() {
  return std::unique_ptr<Queue>(std::make_unique<NullQueue>(shared_from_this()));
}

bool NullQueue::step() {
  const Command command = std::move(commands_.front());
  commands_.pop_front();
  if (Status status = command.run(); !status.ok() && error_.ok()) error_ = std::move(status);
  return command.ends_operator;
}

Status NullQueue::wait() {
  const Wall::Opening opening(device_->wall());
  while (!commands_.empty()) step();
  return take_error();
}

void NullQueue::run_until(const Moment& moment) {
  const Wall::Opening opening(device_->wall());
  while (moment.queue == this && !commands_.empty()) step();
}

Status NullQueue::wait(const Event& event) {
  run_until(*static_cast<const NullEvent&>(event).moment);
  return take_error();
}

Result<std::unique_ptr<Event>> NullQueue::make_event() {
  return std::unique_ptr<Event>(std::make_unique<NullEvent>());
}

Status NullQueue::record(Event& event) {
  auto& recorded = static_cast<NullEvent&>(event);
  recorded.moment = std::make_shared<Moment>();  // who waits for the moment before goes on to
  recorded.moment->queue = this;
  give([moment = recorded.moment]() -> Status {
    moment->ns = now_ns();
    moment->queue = nullptr;
    return {};
  });
  return {};
}

Status NullQueue::after(const Event& event) {
  give([moment = static_cast<const NullEvent&>(event).moment]() -> Status {
    if (moment->queue != nullptr) moment->queue->run_until(*moment);
    return {};
  });
  return {};
}

Result<double> NullQueue::microseconds(const Event& from, const Event& to) {
  HONE_CHECK(wait(from));
  HONE_CHECK(wait(to));
  return static_cast<double>(static_cast<const NullEvent&>(to).moment->ns -
                             static_cast<const NullEvent&>(from).moment->ns) *
         1e-3;
}

// A host address given for a device address works on the CPU, and nowhere else.
Status NullQueue::must_hold(const void* address) const {
  if (device_->wall().holds(address)) return {};
  return invalid(fmt::format("{} is no address of device null", address));
}

Status NullQueue::copy_in(void* to, const void* host, std::size_t bytes) {
  if (bytes == 0) return {};
  HONE_CHECK(must_hold(to));
  const auto* const from = static_cast<const std::byte*>(host);
  if (device_->is_staging(host)) {
    give([=]() -> Status {
      std::memcpy(to, from, bytes);
      return {};
    });
    return {};
  }
  give([to, data = std::vector<std::byte>(from, from + bytes)]() -> Status {
    std::memcpy(to, data.data(), data.size());
    return {};
  });
  return {};
}

Status NullQueue::copy_out(void* host, const void* from, std::size_t bytes) {
  if (bytes == 0) return {};
  HONE_CHECK(must_hold(from));
  give([=]() -> Status {
    std::memcpy(host, from, bytes);
    return {};
  });
  return {};
}

Status NullQueue::copy(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return {};
  HONE_CHECK(must_hold(to));
  return copy_out(to, from, bytes);
}

Status NullQueue::fill(void* to, std::byte value, std::size_t bytes) {
  if (bytes == 0) return {};
  HONE_CHECK(must_hold(to));
  give([=]() -> Status {
    std::memset(to, std::to_integer<int>(value), bytes);
    return {};
  });
  return {};
}

Status NullQueue::launch(Compute compute) {
  give(std::move(compute), open_spans_ == 0);
  return {};
}

Status NullQueue::fork(int lanes, LaneFunction work, void* context) {
  HONE_ASSIGN(const std::unique_ptr<Event> begin, make_event());
  HONE_CHECK(record(*begin));
  // Queues of this fork's own: the next fork may be given before this one has run, and must not join in.
  const auto queues = std::make_shared<std::vector<std::unique_ptr<NullQueue>>>();
  for (int lane = 0; lane < lanes; ++lane) {
    NullQueue& queue = *queues->emplace_back(std::make_unique<NullQueue>(device_));
    HONE_CHECK(queue.after(*begin));
    work(context, lane, queue);
  }
  give([this, queues]() -> Status {
    join(*queues);
    return {};
  });
  return {};
}

// The lanes in turns, an operator each.
void NullQueue::join(std::span<const std::unique_ptr<NullQueue>> lanes) {
  for (bool any = true; any;) {
    any = false;
    for (std::size_t lane = lanes.size(); lane-- > 0;) {
      NullQueue& queue = *lanes[lane];
      queue.run_operator();
      any = any || !queue.commands_.empty();
      if (Status status = queue.take_error(); !status.ok() && error_.ok()) error_ = std::move(status);
    }
  }
}

void NullQueue::run_operator() {
  while (!commands_.empty() && !step()) {
  }
}

int64_t NullQueue::begin_span() {
  const int64_t span = spans_++;
  ++open_spans_;
  give([this, span]() -> Status {
    begun_[span] = now_ns();
    return {};
  });
  return span;
}

void NullQueue::end_span(ScopeListener::Kind kind, uint32_t id, int64_t begun) {
  --open_spans_;
  give(
      [this, kind, id, begun]() -> Status {
        tell_scope_listener(kind, id, begun_[begun], now_ns());
        begun_.erase(begun);
        return {};
      },
      open_spans_ == 0);
}

}  // namespace hone::runtime

#include "runtime/host_device.h"

#include <cstring>

#include <fmt/core.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/memory_budget.h"
#include "core/tensor.h"
#include "core/units.h"

namespace hone::runtime {
namespace {

struct HostEvent : Event {
  int64_t ns = 0;
};

}  // namespace

Result<std::unique_ptr<Event>> HostQueue::make_event() {
  return std::unique_ptr<Event>(std::make_unique<HostEvent>());
}

Status HostQueue::record(Event& event) {
  static_cast<HostEvent&>(event).ns = now_ns();
  return {};
}

Result<double> HostQueue::microseconds(const Event& from, const Event& to) {
  return static_cast<double>(static_cast<const HostEvent&>(to).ns - static_cast<const HostEvent&>(from).ns) *
         1e-3;
}

Status HostQueue::copy(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
  return {};
}

Status HostQueue::fill(void* to, std::byte value, std::size_t bytes) {
  if (bytes > 0) std::memset(to, std::to_integer<int>(value), bytes);
  return {};
}

Status HostQueue::fork(int lanes, LaneFunction work, void* context) {
  for (int lane = 0; lane < lanes; ++lane) work(context, lane, *this);
  return {};
}

int64_t HostQueue::begin_span() { return now_ns(); }

void HostQueue::end_span(ScopeListener::Kind kind, uint32_t id, int64_t begun) {
  tell_scope_listener(kind, id, begun, now_ns());
}

// As far as the process may use it.
std::size_t HostDevice::capacity() const {
  if (memory_budget() != 0) return memory_budget();
  return static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGE_SIZE));
}

Status check_fits(std::size_t bytes, std::size_t capacity) {
  if (bytes <= capacity) return {};
  return invalid(
      fmt::format("not enough memory for a block of {}: the host has {}; give smaller shapes, or "
                  "allow more with --memory",
                  format_bytes(static_cast<double>(bytes)), format_bytes(static_cast<double>(capacity))));
}

// A tensor's memory: aligned, in huge pages where there are many.
Result<Memory> HostDevice::allocate(std::size_t bytes) {
  HONE_CHECK(check_fits(bytes, capacity()));
  HONE_ASSIGN(Tensor block, Tensor::try_make(DType::kU8, {static_cast<int64_t>(bytes)}));
  const auto owner = std::make_shared<Tensor>(std::move(block));
  return Memory(static_cast<std::byte*>(owner->data()), bytes, owner);
}

}  // namespace hone::runtime

// The host as a device: memory that every thread of the process reads and writes, and a queue that runs each
// command on the thread that gives it, at once. The CPU provider builds on it, and so do providers of tests.
#pragma once

#include <memory>

#include "core/recycling_heap.h"
#include "runtime/device.h"
#include "runtime/provider.h"

namespace hone::runtime {

class HostQueue : public Queue {
 public:
  HostQueue() : Queue(true) {}

  Status wait() override { return {}; }
  Status wait(const Event&) override { return {}; }
  Result<std::unique_ptr<Event>> make_event() override;
  Status record(Event& event) override;
  Status after(const Event&) override { return {}; }
  Result<double> microseconds(const Event& from, const Event& to) override;

  Status copy_in(void* to, const void* host, std::size_t bytes) override { return copy(to, host, bytes); }
  Status copy_out(void* host, const void* from, std::size_t bytes) override {
    return copy(host, from, bytes);
  }
  Status copy(void* to, const void* from, std::size_t bytes) override;
  Status fill(void* to, std::byte value, std::size_t bytes) override;

  Status run(Sequence& sequence) override { return sequence.enqueue(*this); }
  // One lane after another.
  Status fork(int lanes, LaneFunction work, void* context) override;

  int64_t begin_span() override;
  void end_span(ScopeListener::Kind kind, uint32_t id, int64_t begun) override;

  // For kernels that allocate as they go: what one has given back the next one takes, in this run or a later one.
  RecyclingHeap& heap() { return heap_; }

 private:
  RecyclingHeap heap_;
};

// An error for a block larger than the memory that there is: the system promises more than it has, and kills
// whoever takes it at its word.
Status check_fits(std::size_t bytes, std::size_t capacity);

class HostDevice : public Device {
 public:
  std::string_view name() const override { return "cpu"; }
  bool host_visible() const override { return true; }
  std::size_t capacity() const override;
  Result<Memory> allocate(std::size_t bytes) override;
  Result<Memory> allocate_staging(std::size_t bytes) override { return allocate(bytes); }
  Result<std::unique_ptr<Queue>> make_queue() override {
    return std::unique_ptr<Queue>(std::make_unique<HostQueue>());
  }
};

// A provider whose kernels run on the host.
class HostProvider : public Provider {
 public:
  std::shared_ptr<Device> device() const override { return device_; }

 protected:
  HostProvider() : HostProvider(std::make_shared<HostDevice>()) {}
  explicit HostProvider(std::shared_ptr<Device> device) : device_(std::move(device)) {}

 private:
  std::shared_ptr<Device> device_;
};

}  // namespace hone::runtime

// The null device: a device in every respect but speed. Its memory is behind a wall (wall.h), its queues put
// off every command until somebody waits, and then run it on the thread that waits; lanes run interleaved,
// the last first. So what depends on a device that is the host fails here: host code that follows a device
// address, a read without a wait, memory shared by lanes, a queue that does not wait for another.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "runtime/device.h"
#include "runtime/null/wall.h"

namespace hone::runtime {

class NullDevice : public Device, public std::enable_shared_from_this<NullDevice> {
 public:
  std::string_view name() const override { return "null"; }
  bool host_visible() const override { return false; }
  std::size_t capacity() const override;
  Result<Memory> allocate(std::size_t bytes) override;
  Result<Memory> allocate_staging(std::size_t bytes) override;
  Result<std::unique_ptr<Queue>> make_queue() override;

  Wall& wall() { return wall_; }
  bool is_staging(const void* address) const;

 private:
  Wall wall_;
  mutable std::mutex mutex_;
  std::map<const std::byte*, std::size_t> staging_;  // bytes by address
};

class NullQueue : public Queue {
 public:
  explicit NullQueue(std::shared_ptr<NullDevice> device) : Queue(false), device_(std::move(device)) {}
  ~NullQueue() override { (void)wait(); }

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
  Status fork(int lanes, LaneFunction work, void* context) override;

  int64_t begin_span() override;
  void end_span(ScopeListener::Kind kind, uint32_t id, int64_t begun) override;

  // A kernel: `compute` runs behind the wall, in its turn. All that is given must outlive that.
  using Compute = std::function<Status()>;
  Status launch(Compute compute);
  NullDevice& device() { return *device_; }

 private:
  struct Command {
    Compute run;
    bool ends_operator = false;  // lanes take turns after it
  };
  struct Moment;  // what an event is about
  struct NullEvent;

  void give(Compute run, bool ends_operator = false) { commands_.push_back({std::move(run), ends_operator}); }
  bool step();  // runs the first command; whether it ended an operator
  void run_operator();
  void run_until(const Moment& moment);
  void join(std::span<const std::unique_ptr<NullQueue>> lanes);
  Status must_hold(const void* address) const;
  Status take_error() { return std::exchange(error_, {}); }

  std::shared_ptr<NullDevice> device_;
  std::deque<Command> commands_;
  Status error_;                                // the first since the last wait
  std::unordered_map<int64_t, int64_t> begun_;  // nanoseconds by a span's number
  int64_t spans_ = 0;
  int open_spans_ = 0;
};

}  // namespace hone::runtime

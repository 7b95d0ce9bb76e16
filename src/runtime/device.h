// The seam between the runtime and a device: memory that a device computes in, and queues of work for it.
// Everything above asks for no more than this, so it runs on whatever a provider drives. The CPU's is
// host_device.h, whose queue runs each command at once; a device of its own (null/, CUDA) returns before it
// has run anything, and its memory is nothing that the host may look into.
//
// Addresses. A device address is a `void*` that only commands of the device's queues, and the kernels in
// them, may dereference. Host code does arithmetic with it and passes it on. Devices whose memory is the
// host's say so (Device::host_visible).
//
// Lifetimes. Memory, queues and events keep their device alive. A queue must have been waited for before
// memory that its commands use is released; Plan does both in this order.
//
// Threads. A device may be used by several threads at once. A queue, its events and recordings belong to one
// thread at a time; work for several threads takes a queue each.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"
#include "core/scope.h"

namespace hone::runtime {

// A block of memory, released with this object.
class Memory {
 public:
  Memory() = default;  // none
  // `owner` holds the block, and the device that it is of.
  Memory(std::byte* address, std::size_t bytes, std::shared_ptr<void> owner)
      : address_(address), bytes_(bytes), owner_(std::move(owner)) {}
  Memory(Memory&& other) noexcept { swap(other); }
  Memory& operator=(Memory&& other) noexcept {
    Memory taken(std::move(other));
    swap(taken);
    return *this;
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() = default;

  std::byte* address() const { return address_; }  // a device address; aligned to kTensorAlignment at least
  std::size_t bytes() const { return bytes_; }

 private:
  void swap(Memory& other) noexcept {
    std::swap(address_, other.address_);
    std::swap(bytes_, other.bytes_);
    owner_.swap(other.owner_);
  }
  std::byte* address_ = nullptr;
  std::size_t bytes_ = 0;
  std::shared_ptr<void> owner_;
};

// A point in the order of a queue: complete when everything that the queue was given before is.
class Event {
 public:
  virtual ~Event() = default;
};

class Queue;

// Commands that a queue is given again and again in the same order, with the same addresses.
class Sequence {
 public:
  virtual ~Sequence() = default;
  virtual Status enqueue(Queue& queue) = 0;
  // The most that it forks its queue into: what a queue has for them is made before it takes commands down.
  virtual int lanes() const { return 1; }
};

// A sequence made ready: a queue that can (CUDA: a graph) has taken its commands down and gives them out as
// one.
class Recording {
 public:
  virtual ~Recording() = default;
  virtual Status replay() = 0;
  // Before a replay whose marks somebody listens to, and before its time is taken: the first may take long.
  virtual Status ready_marks() { return {}; }
};

// How the times of marks come about.
struct MarkTimes {
  enum class How : uint8_t {
    kUnknown,       // nobody has listened so far
    kHostClock,     // around each, where it runs
    kEvents,        // of the device around each, given one by one: what giving each costs is in them
    kWithinReplay,  // the device's own records of a replay that ran as it does when nobody listens
  };
  How how = How::kUnknown;
  std::string why_events;  // and not within a replay
};

// What ran since marks were told last.
struct MarkedRun {
  bool told = true;  // false: its times were lost, and later runs are timed in another way
  int64_t busy_from_ns = 0, busy_to_ns = 0;  // of the device, by core/clock.h; both 0: not known
  bool known() const { return busy_to_ns != 0; }
};

// A kernel that runs for an operator in a replay, as the device's profiler tells it.
struct MarkedKernel {
  uint32_t op = 0;   // the id of the operator's mark
  std::string name;  // mangled
  std::array<uint32_t, 3> grid = {}, block = {};
  uint32_t registers = 0;   // of a thread
  std::vector<int64_t> ns;  // that it took, in each recorded run
};

// What one lane of a fork is given; `queue` is the lane's.
using LaneFunction = void (*)(void* context, int lane, Queue& queue);

// Commands for a device, run in the order in which they were given: a CUDA stream, or the thread that calls.
// A command that cannot be given is an error at once. What goes wrong while it runs is an error of a later
// wait(); but for errors of the data, which kernels report by KernelArguments::fault.
class Queue {
 public:
  virtual ~Queue() = default;
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  // Whether a command has run when the call that gives it returns. Its errors are then that call's, and there
  // is nothing to wait for.
  bool immediate() const { return immediate_; }

  // --- order ---
  // The host waits until everything given so far has run, or until `event` of this queue is complete.
  virtual Status wait() = 0;
  virtual Status wait(const Event& event) = 0;
  virtual Result<std::unique_ptr<Event>> make_event() = 0;
  virtual Status record(Event& event) = 0;
  // What is given from now on runs after `event`, which may be of another queue of this device. The host does
  // not wait.
  virtual Status after(const Event& event) = 0;
  // By the device's clock; waits for both events, which this queue has recorded.
  virtual Result<double> microseconds(const Event& from, const Event& to) = 0;

  // --- bytes ---
  // Host bytes have been taken when copy_in() returns, unless they lie in staging memory: those are read when
  // the command runs. copy_out() has filled `host` after a wait.
  virtual Status copy_in(void* to, const void* host, std::size_t bytes) = 0;
  virtual Status copy_out(void* host, const void* from, std::size_t bytes) = 0;
  virtual Status copy(void* to, const void* from, std::size_t bytes) = 0;
  virtual Status fill(void* to, std::byte value, std::size_t bytes) = 0;

  // --- work ---
  // Gives the commands of `sequence` once.
  virtual Status run(Sequence& sequence) = 0;
  // For a sequence that is run often. `sequence` and this queue must outlive the recording.
  virtual Result<std::unique_ptr<Recording>> make_recording(Sequence& sequence);
  // Calls work(context, lane, queue) for each lane in [0, lanes), which is at most the provider's lanes().
  // What each gives its queue runs in its order, beside that of the others, after everything given here
  // before and before everything given here later. Calls may come on threads of their own. No allocation
  // where immediate.
  virtual Status fork(int lanes, LaneFunction work, void* context) = 0;

  // --- marks (core/scope.h) ---
  // Tell the listener when what is given between the two runs. The second is given what the first returned.
  virtual int64_t begin_span() = 0;
  virtual void end_span(ScopeListener::Kind kind, uint32_t id, int64_t begun) = 0;
  // After a wait, when times have been taken: tells the listener of marks that were not told as they ran.
  virtual Result<MarkedRun> tell_marks() { return MarkedRun{}; }
  virtual MarkTimes mark_times() const { return {MarkTimes::How::kHostClock, {}}; }
  // Of the runs whose marks were told, in the order in which they run; none where the times are not within a replay.
  virtual std::span<const MarkedKernel> marked_kernels() const { return {}; }

 protected:
  explicit Queue(bool immediate) : immediate_(immediate) {}

 private:
  bool immediate_;
};

// Marks what is given to a queue during the lifetime of this object. Costs one load where nobody listens.
class QueueScope {
 public:
  QueueScope(Queue& queue, ScopeListener::Kind kind, uint32_t id)
      : queue_(scopes_have_listener() ? &queue : nullptr), kind_(kind), id_(id) {
    if (queue_ != nullptr) [[unlikely]]
      begun_ = queue_->begin_span();
  }
  ~QueueScope() {
    if (queue_ != nullptr) [[unlikely]]
      queue_->end_span(kind_, id_, begun_);
  }
  QueueScope(const QueueScope&) = delete;
  QueueScope& operator=(const QueueScope&) = delete;

 private:
  Queue* queue_;
  ScopeListener::Kind kind_;
  uint32_t id_;
  int64_t begun_ = 0;
};

// Bytes of memory, and the most that they were since Device::restart_peak(), or since there is the device.
struct HeldBytes {
  std::size_t now = 0, peak = 0;
};

class Device {
 public:
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  virtual std::string_view name() const = 0;  // "cpu", "cuda:0"
  // Whether host memory is this device's as it lies, and its memory the host's: constants are then used in
  // place. Otherwise nothing but commands may touch what allocate() returns.
  virtual bool host_visible() const = 0;
  virtual std::size_t capacity() const = 0;  // bytes that there are, used or not
  // What of it is free now, as far as the device says.
  virtual std::size_t available() const { return capacity(); }
  // Whether a replay gives the device all its commands at once, with no work of the host's between them: many runs
  // of a kernel in one recording then take its own time alone, and kernels are timed so (recorded_timer.h).
  virtual bool replays_alone() const { return false; }
  // Of the last cache before memory; 0: none, or not known.
  virtual std::size_t cache_bytes() const { return 0; }
  // What blocks of allocate() take, on a device with memory of its own. Staging memory is the host's, and charged to its
  // account (core/memory_budget.h) as tensors are.
  HeldBytes use() const;
  void restart_peak();
  // What is taken of all its memory, by everybody: contexts, libraries and other programs included. nullopt: it does not say.
  virtual std::optional<std::size_t> taken_by_all() const { return std::nullopt; }

  // Uninitialised. An error says what was asked for and what there is.
  virtual Result<Memory> allocate(std::size_t bytes) = 0;
  // Host memory that this device copies from and to fastest, and without making the host wait (page-locked).
  virtual Result<Memory> allocate_staging(std::size_t bytes) = 0;
  virtual Result<std::unique_ptr<Queue>> make_queue() = 0;

 protected:
  Device();
  // For what allocate() and allocate_staging() return: the block counts as long as it is held.
  Memory counted(Memory block) const;
  static Result<Memory> charged_to_host(Memory block);

 private:
  class Account;
  std::shared_ptr<Account> account_;  // blocks may outlive the device
};

}  // namespace hone::runtime

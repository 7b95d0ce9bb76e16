// Timing one node's kernels on made-up data. A provider makes the timer (Provider::make_timer): only it knows
// what keeps time on its device and how a step leaves its caches.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/tensor.h"
#include "graph/graph.h"
#include "runtime/device.h"
#include "runtime/kernel.h"

namespace hone::runtime {

// Data to measure with, as many bytes as a value of this type takes in memory. Floats are random (zeros can
// run faster than real data), everything else is zero: a valid index, axis or length.
Tensor made_up(const graph::TensorType& type);

// Memory in which the kernels of one node run: inputs made up, constants the graph's own, outputs full of bytes that
// are NaN in every float format. Where a kernel may write into an input and a plan would let it, it does.
class Sandbox {
 public:
  ~Sandbox() { (void)queue_.wait(); }  // for what still uses the memory
  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;
  // What differs between runs, so that they find the device's cache as a step leaves it: constants, which a step last read a
  // step ago, and what is computed, unless all that the node reads and writes of it takes `stays` bytes at most: the operator
  // before has then just written it, into the cache.
  struct Rotation {
    std::size_t over = 0;  // bytes that the sets of what differs take together; 0: there is one set
    std::size_t stays = 0;
  };
  // Everything is in `device`'s memory, brought there by `queue`; all three must outlive the sandbox. There are as many sets
  // as the rotation wants, each with the same data, or kMostSets.
  static Result<std::unique_ptr<Sandbox>> make(const graph::Graph& graph, const graph::Node& node,
                                               Device& device, Queue& queue, const Rotation& rotation);
  static Result<std::unique_ptr<Sandbox>> make(const graph::Graph& graph, const graph::Node& node,
                                               Device& device, Queue& queue) {
    return make(graph, node, device, queue, Rotation());
  }
  static constexpr std::size_t kMostSets = 64;

  // For one run of `kernel`, made for this node: valid until the next call. Inputs that kernels have
  // overwritten are given what they held at first: a thousand sums in place overflow, and NaN may take other
  // paths.
  Result<KernelArguments> arguments(const Kernel& kernel);
  // For many runs of `kernel`: one for each set of values, valid as long as the sandbox. No run overwrites its inputs,
  // as all of them are to find the same data.
  Result<std::vector<KernelArguments>> all_arguments(const Kernel& kernel);
  // Blocks that the operators before the node have written in a step: outputs, then inputs.
  std::span<const Memory> written_before() const { return blocks_; }
  // The error of the last run where it left one. Waits.
  Status fault(const Kernel& kernel) const;

 private:
  // Where the values of one set lie.
  struct Set {
    std::vector<const void*> inputs;
    std::vector<void*> outputs;
  };
  // An input that a kernel overwrites, and what it held at first.
  struct Overwritten {
    std::size_t input = 0;
    std::byte* address = nullptr;
    std::size_t bytes = 0;
    Memory fresh;
  };

  Sandbox(Device& device, Queue& queue) : device_(device), queue_(queue) {}
  Status fill(const graph::Graph& graph, const graph::Node& node);
  void lay_out_sets();
  Status make_scratch(const Kernel& kernel);
  Result<std::byte*> place(const Tensor& data, std::size_t sets);
  Result<std::byte*> allocate(std::size_t bytes, std::byte value, std::size_t sets);
  Result<std::byte*> overwrite(std::size_t input);

  Device& device_;
  Queue& queue_;
  std::vector<bool> overwritable_;      // inputs, by a plan's rules
  std::vector<std::byte*> own_inputs_;  // of inputs that are no constants
  std::vector<std::size_t> input_bytes_;
  std::vector<const void*> inputs_;
  std::vector<void*> outputs_, targets_;  // outputs, and where the kernel at hand writes them
  std::vector<std::size_t> input_strides_, output_strides_;  // bytes from a set to the next; 0: one for all
  std::size_t set_count_ = 1;
  std::size_t computed_sets_ = 1;  // of what is computed: all, or one
  std::vector<Set> sets_;
  std::vector<Memory> blocks_;
  std::vector<Memory> constants_;
  std::vector<Overwritten> overwritten_;
  Memory scratch_, fault_;
  std::vector<Memory> outgrown_;  // scratch that recordings still use
};

// The quantile that stands for all readings of one piece of work on the host. Low, because whatever disturbs a run
// makes it slower; not the lowest, which is a lucky one.
inline constexpr double kReadingQuantile = 0.25;

// How far the readings of a timer can be trusted.
struct ReadingRules {
  std::size_t least = 3;               // of each kernel; below, one disturbance can decide
  std::size_t most = 24;               // of each kernel
  std::size_t alone = 7;               // of the last one left
  double quantile = kReadingQuantile;  // that stands for all
  // Whether the first reading of a kernel counts, and one so many times the best is out after it alone. Otherwise
  // the first is of code and memory never used before.
  bool first_counts = false;
  double out_after_one = 2, out_after_two = 1.5, out_after_four = 1.2;
};

// Not thread-safe. Keeps its device alive.
class KernelTimer {
 public:
  KernelTimer(std::shared_ptr<Device> device, std::unique_ptr<Queue> queue)
      : device_(std::move(device)), queue_(std::move(queue)) {}
  virtual ~KernelTimer() = default;
  KernelTimer(const KernelTimer&) = delete;
  KernelTimer& operator=(const KernelTimer&) = delete;

  // What readings depend on beside provider and node, for the timing cache's key: "caches swept by 4096 KiB".
  virtual std::string conditions() const { return {}; }
  virtual Result<std::unique_ptr<Sandbox>> sandbox(const graph::Graph& graph, const graph::Node& node) {
    return Sandbox::make(graph, node, *device_, *queue_);
  }
  // The time of one run of `kernel` in a sandbox of its node, by events of a queue, with caches as the run
  // before left them. An error of the run, or of the data, is the result's.
  virtual Result<double> microseconds(Sandbox& sandbox, Kernel& kernel);
  // The same for many readings: each call is one. What it makes ready is kept with it; sandbox, kernel and timer
  // must outlive it.
  virtual std::function<Result<double>()> stopwatch(Sandbox& sandbox, Kernel& kernel) {
    return [this, &sandbox, &kernel] { return microseconds(sandbox, kernel); };
  }
  virtual ReadingRules rules() const { return {}; }

 protected:
  Device& device() { return *device_; }
  Queue& queue() { return *queue_; }

 private:
  std::shared_ptr<Device> device_;
  std::unique_ptr<Queue> queue_;
};

}  // namespace hone::runtime

// Memory in which one node's kernels run on made-up data, with the caches as a step leaves them. Kernels
// timed in a loop find weights and inputs where the last turn left them, and are faster there than in any
// step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/result.h"
#include "core/tensor.h"
#include "graph/graph.h"
#include "runtime/kernel.h"

namespace hone::runtime {

// What a step touches between two runs of a node: everything else. Reading so much other memory, on all
// threads, pushes out of the caches what a step would push out; what a large cache keeps, it keeps here, too.
class CacheSweep {
 public:
  CacheSweep() = default;  // sweeps nothing
  explicit CacheSweep(std::size_t bytes);
  void run() const;

 private:
  Tensor memory_;
};

// Data to measure with. Floats are random (zeros can run faster than real data), everything else is zero: a
// valid index, axis or length.
void make_up(DType dtype, void* data, std::size_t bytes);

class Sandbox {
 public:
  // Inputs are made up; constants are the graph's own.
  Sandbox(const graph::Graph& graph, const graph::Node& node);

  // Nanoseconds of one run of `kernel`, made for this node, after sweeping the caches and touching outputs
  // and inputs on all threads as the operators before it have in a step. Where the kernel may write into an
  // input and a plan would let it, it does.
  Result<int64_t> time(Kernel& kernel, const CacheSweep& sweep);

 private:
  // An input that a kernel overwrites, and what it held at first.
  struct Overwritten {
    std::size_t input = 0;
    Tensor memory, fresh;
  };

  Tensor& allocate(std::size_t bytes);
  KernelArguments arguments(const Kernel& kernel);
  void overwrite(std::size_t input);

  std::vector<bool> overwritable_;  // inputs, by a plan's rules
  std::vector<const void*> inputs_;
  std::vector<void*> outputs_, targets_;  // outputs, and where the kernel at hand writes them
  std::vector<Tensor> owned_;
  std::vector<Overwritten> overwritten_;
  Tensor scratch_;
};

}  // namespace hone::runtime

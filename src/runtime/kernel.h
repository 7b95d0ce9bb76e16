// A kernel prepared for one node of one plan: fixed shapes, weights packed, nothing left to decide. Providers
// make them. A kernel belongs to one queue at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/result.h"
#include "runtime/device.h"

namespace hone::runtime {

// An error in the data (an index out of range, say), found by a kernel that runs when nobody waits for it: a
// word in device memory, 0 while all is well. The first to find one writes it, and computes on with whatever
// does no harm; the plan reads the word when the step has ended.
using FaultWord = uint64_t;
constexpr FaultWord fault_word(uint32_t step, uint32_t code) { return (FaultWord{step} + 1) << 32 | code; }
constexpr uint32_t step_of_fault(FaultWord word) { return static_cast<uint32_t>(word >> 32) - 1; }
constexpr uint32_t code_of_fault(FaultWord word) { return static_cast<uint32_t>(word); }

// Where a kernel's inputs and outputs lie: device addresses, null for absent optional ones and for inputs
// that the kernel does not read. The arrays stay as they are until the queue has run the kernel.
struct KernelArguments {
  std::span<const void* const> inputs;
  std::span<void* const> outputs;
  void* scratch = nullptr;     // scratch_bytes() bytes, aligned to kBufferAlignment (memory_plan.h)
  FaultWord* fault = nullptr;  // a device address; what kernels of an immediate queue leave alone
  uint32_t step = 0;           // what a fault is reported for
};

// What a kernel computes by, where that is not the operator's definition as written.
struct FastAlgorithm {
  std::string_view name;   // "Winograd F(4x4,3x3)", a literal; empty: the definition
  double flops_saved = 0;  // FLOPs of the definition that one run does without
};

class Kernel {
 public:
  virtual ~Kernel() = default;

  // What runs, for people and traces: "jit_avx512_core (blocked16)", "hone pointwise".
  virtual std::string implementation() const = 0;
  virtual FastAlgorithm algorithm() const { return {}; }
  // The interpreter stands in: the provider has no kernel of its own for the node.
  virtual bool is_reference() const { return false; }
  virtual std::size_t scratch_bytes() const { return 0; }
  // Bytes that the kernel holds itself: weights in its own format.
  virtual std::size_t packed_bytes() const { return 0; }
  // Whether the kernel reads this input while running. A constant that it packed at creation it does not.
  virtual bool reads(std::size_t /*input*/) const { return true; }
  // An input whose buffer output 0 may take over: read and written at the same places only.
  virtual std::optional<std::size_t> in_place_input() const { return std::nullopt; }

  // The same for any output: kernels that update many buffers say it of each.
  virtual std::optional<std::size_t> in_place_input_of(std::size_t output) const {
    return output == 0 ? in_place_input() : std::nullopt;
  }

  // Gives one run to `queue`, which is of the provider that made the kernel. Must not allocate when all is
  // well. An error is that the run could not be given; where the queue is immediate it may be one of the
  // data, and then the run ends there.
  virtual Status enqueue(const KernelArguments& arguments, Queue& queue) = 0;
  // What `code`, which a run of this kernel has left as its fault, means. After a wait.
  virtual Error fault(uint32_t code) const {
    return invalid("the data are wrong (code " + std::to_string(code) + ")");
  }
};

}  // namespace hone::runtime

// A kernel prepared for one node of one plan: fixed shapes, weights packed, nothing left to decide. Providers
// make them.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/result.h"

namespace hone::runtime {

// Where a kernel's inputs and outputs lie; null for absent optional ones and for inputs that the kernel does
// not read.
struct KernelArguments {
  std::span<const void* const> inputs;
  std::span<void* const> outputs;
  void* scratch = nullptr;  // scratch_bytes() bytes, aligned to kTensorAlignment
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

  // Runs once. Must not allocate when all is well. An error is one of the data (an index out of range, say).
  virtual Status run(const KernelArguments& arguments) = 0;
};

}  // namespace hone::runtime

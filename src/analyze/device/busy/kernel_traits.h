// What the name of a kernel says that decides between causes. Which library a kernel is from, and its
// readable name, are trace/kernel_family.h's.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "trace/trace.h"

namespace hone::analyze::device {

struct KernelTraits {
  bool changes_layout = false;       // moves data only to put it into another order
  bool matrix_units = false;         // multiplies on tensor cores, as far as the name tells
  bool vector_math = false;          // a matrix product or convolution without them
  bool generated = false;            // by a compiler that fuses: Triton, Inductor, nvFuser
  bool block_a_channel = false;      // batch normalisation in which one block has all of a channel
  bool channels_first_norm = false;  // batch normalisation over [N, C, H, W] where a faster order exists
};

KernelTraits kernel_traits(std::string_view name);

// The traits of a trace's kernels, each name looked at once.
class TraitsByName {
 public:
  explicit TraitsByName(const trace::Trace& trace);
  // Of the device work in that row of the trace, which must not have changed since.
  const KernelTraits& of(std::size_t row) const;

 private:
  const trace::Trace* trace_;
  std::vector<std::optional<KernelTraits>> known_;  // by name
  KernelTraits none_;
};

}  // namespace hone::analyze::device

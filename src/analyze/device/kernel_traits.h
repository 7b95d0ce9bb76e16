// What the name of a kernel says that decides between causes. Which library a kernel is from, and its
// readable name, are trace/kernel_family.h's.
#pragma once

#include <string_view>

namespace hone::analyze::device {

struct KernelTraits {
  bool changes_layout = false;       // moves data only to put it into another order
  bool matrix_units = false;         // multiplies on tensor cores, as far as the name tells
  bool vector_math = false;          // a matrix product or convolution without them
  bool generated = false;            // by a compiler that fuses: Triton, Inductor, nvFuser
  bool channels_first_norm = false;  // batch normalisation over [N, C, H, W] where a faster order exists
};

KernelTraits kernel_traits(std::string_view name);

}  // namespace hone::analyze::device

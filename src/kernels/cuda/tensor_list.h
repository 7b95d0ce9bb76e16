// Kernels over many tensors in one launch: addresses and sizes are an argument, and each tensor has blocks of its own.
#pragma once

#include <string_view>

namespace hone::kernels::gpu {

// Of a list with `first`, which says with which block each tensor begins, and `count`: the last tensor that does not begin
// behind this block. Behind the base prelude.
inline constexpr std::string_view kTensorOfBlock = R"cuda(
template <typename List> HONE_FUNCTION int hone_tensor_of_block(const List& list) {
  int i = 0, end = list.count;
  while (end - i > 1) {
    const int middle = (i + end) / 2;
    if (list.first[middle] <= (int)blockIdx.x) i = middle;
    else end = middle;
  }
  return i;
}
)cuda";

}  // namespace hone::kernels::gpu

#include "runtime/cpu/capabilities.h"

#include "kernels/cpu/dnnl/matmul.h"
#include "runtime/cpu/epilogue.h"
#include "runtime/lower/pointwise_table.h"

namespace hone::runtime::cpu {
namespace {

graph::Capabilities make_capabilities() {
  graph::Capabilities takes;
  takes.pointwise = pointwise_capabilities();
  // A group's kernel keeps a tile of each live value in the L1 cache: more operators or inputs than this
  // spill.
  takes.pointwise_operators = 24;
  takes.pointwise_inputs = 8;
  takes.epilogue = epilogue_capabilities();
  takes.epilogue_operators = 8;  // longer chains gain nothing over a pointwise group
  takes.products = {DType::kF32};
  if (kernels::has_tiles_of_bf16()) {
    takes.converted_products = {DType::kBF16};
    takes.converted_layout =
        Layout::kChannelsLast;  // the library has no kernels on tiles for blocks of channels
  }
  takes.attention = true;
  takes.split_attention = true;
  // Blocks as wide as the CPU's vectors.
  takes.convolution_layout = __builtin_cpu_supports("avx512f") ? Layout::kBlocked16 : Layout::kBlocked8;
  takes.laid_out = {DType::kF32, DType::kI8, DType::kU8, DType::kBool,
                    DType::kBF16};  // also quantised images, masks, and what narrow convolutions read
  return takes;
}

}  // namespace

const graph::Capabilities& capabilities() {
  static const graph::Capabilities takes = make_capabilities();
  return takes;
}

}  // namespace hone::runtime::cpu

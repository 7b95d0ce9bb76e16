// What the two files of this plugin share.
#pragma once

#include <hone/plugin.h>

namespace msda {

enum { kValue, kShapes, kStarts, kLocations, kWeights, kInputs };
inline constexpr const char* kInputNames[kInputs] = {
    "value", "value_spatial_shapes", "value_level_start_index", "sampling_locations", "attention_weights"};

struct Extents {
  int64_t batch, positions, heads, channels, queries, levels, points;
};

inline Extents extents_of(const hone_node* node) {
  const int64_t* value = node->inputs[kValue]->shape;
  const int64_t* weights = node->inputs[kWeights]->shape;
  return {value[0], value[1], value[2], value[3], weights[1], weights[3], weights[4]};
}

extern const hone_cuda_kernel* const kCudaKernels[];
inline constexpr size_t kCudaKernelCount = 2;

}  // namespace msda

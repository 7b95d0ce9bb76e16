// Images read between their pixels, as CUDA kernels: GridSample and its gradients, and RoiAlign. Where is computed in f64, or in f32 where the
// operator's definition has it so, as the reference does it: the same pixels are read.
#pragma once

#include <cstdint>

#include "cuda/kernel_cache.h"

#include "core/dtype.h"
#include "core/result.h"
#include "core/shape.h"
#include "kernels/cuda/key_sort.h"

namespace hone::kernels::gpu {

inline constexpr int kSamplingBlock = 256;

struct GridSampleProgram {
  enum class Mode : uint8_t { kNearest, kLinear, kCubic };
  enum class Padding : uint8_t { kZeros, kBorder, kReflection };
  DType dtype = DType::kF32, grid = DType::kF32;  // f32, f16, bf16, f64
  int64_t batch = 1, channels = 1, points = 1;    // points: of an image
  Shape image = {};                               // one to three extents
  Mode mode = Mode::kLinear;
  Padding padding = Padding::kZeros;
  bool align_corners = false;
};

struct RoiAlignProgram {
  DType dtype = DType::kF32;                                // of images and regions: f32, f16, bf16, f64
  int64_t images = 1, channels = 1, height = 1, width = 1;  // of the input
  int64_t regions = 1, out_height = 1, out_width = 1;
  int64_t ratio = 0;  // samples along each axis of a bin; 0: as many as it has pixels
  double scale = 1;
  bool half_pixel = true, maximum = false;
};

inline constexpr const char* kGridSampleEntry = "hone_grid_sample";  // images, grid, result
// the gradient of the result, images, grid, the gradient of the grid
inline constexpr const char* kGridGradientEntry = "hone_grid_gradient";
inline constexpr const char* kImageZeroEntry = "hone_image_zero";  // the gradient of the images
inline constexpr const char* kImageKeysEntry = "hone_image_keys";  // grid, keys, weights
// the gradient of the result, keys, weights, the gradient of the images, partial sums
inline constexpr const char* kImagePiecesEntry = "hone_image_pieces";
inline constexpr const char* kImageJoinEntry =
    "hone_image_join";  // keys, partial sums, the gradient of the images
// images, regions, their images (i64), result, fault word's address, what to write there
inline constexpr const char* kRoiAlignEntry = "hone_roi_align";

struct SamplingKernel {
  cuda::KernelSource source;
  int64_t blocks = 0;  // of kSamplingBlock threads
};
Result<SamplingKernel> generate_grid_sample(const GridSampleProgram& program);
// A thread a point, which looks at all channels: nothing is added by atomics.
Result<SamplingKernel> generate_grid_gradient(const GridSampleProgram& program);

// What points read is sorted by pixel; what goes to one pixel is added up in the order of the points, in pieces that a second
// kernel joins (scatter_reduce.h). All of one source, launched in this order: zero; keys; their sort; pieces; join.
struct ImageGradientKernels {
  cuda::KernelSource source;
  KeySort sort;
  std::size_t weight_bytes = 0, partial_bytes = 0;
  int64_t zero_blocks = 0, key_blocks = 0;         // of kSamplingBlock threads
  int64_t piece_blocks_x = 0, piece_blocks_y = 0;  // of piece_threads_x × piece_threads_y threads
  int piece_threads_x = 0, piece_threads_y = 0;
};
Result<ImageGradientKernels> generate_image_gradient(const GridSampleProgram& program);

Result<SamplingKernel> generate_roi_align(const RoiAlignProgram& program);

}  // namespace hone::kernels::gpu

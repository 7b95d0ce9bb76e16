// Products and convolutions of 8-bit integers with zero points, as a CUDA kernel: exact sums, stored as i32 or quantised anew.
// A plain kernel of tiles in shared memory; no tensor cores.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "cuda/kernel_cache.h"

#include "core/dtype.h"
#include "core/result.h"
#include "core/shape.h"
#include "core/window.h"

namespace hone::kernels::gpu {

// How many numbers there are of a zero point or a scale.
enum class Spread : uint8_t {
  kNone,          // absent: 0
  kOne,           // for all
  kEach,          // for each row or column; of a convolution, for each output channel
  kEachOfMatrix,  // the same, and others in each matrix
};

// Of which matrix of a and of b each of the batch is the product: its place in `batch`, times these strides.
struct IntegerMatrices {
  Shape batch = {};
  std::vector<int64_t> a_strides = {}, b_strides = {};
};

// a: weights [groups · rows, depth], b: images [batch / groups, channels, in…]; a column for each output position, the batch being
// images × groups. What lies outside of an image is its zero point.
struct IntegerConvolution {
  int64_t channels = 1, groups = 1;
  Shape in = {}, out = {};
  std::vector<Window> windows = {};
};

// y = round(sum · scale of a · scale of b / scale of y) + zero point; of convolutions behind a bias.
struct Requantization {
  DType scales = DType::kF32;  // f32, f16, bf16
  DType out = DType::kU8;      // u8 or i8
  Spread a = Spread::kOne, b = Spread::kOne, y = Spread::kOne;
};

// y = a · b for each matrix of a batch: a is rows × depth, b depth × columns.
struct IntegerProductProgram {
  int64_t batch = 1, rows = 1, columns = 1, depth = 1;
  std::variant<IntegerMatrices, IntegerConvolution> form = {};
  bool a_signed = false, b_signed = false;
  Spread a_zero = Spread::kNone, b_zero = Spread::kNone;
  std::optional<Requantization> quantized = {};  // nullopt: i32
};

// a, its zero points, b, its zero points, y; and, null where nothing is quantised: scales of a, of b, of y, zero point of y, bias
// (i32, or null).
inline constexpr const char* kIntegerProductEntry = "hone_integer_product";
inline constexpr int kIntegerProductBlock = 256;

struct IntegerProductKernel {
  cuda::KernelSource source;
  int64_t blocks = 0;  // of kIntegerProductBlock threads
};
Result<IntegerProductKernel> generate_integer_product(const IntegerProductProgram& program);

}  // namespace hone::kernels::gpu

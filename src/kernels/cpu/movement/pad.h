// Padding (and, with negative amounts, cropping) of dense tensors of any element type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/result.h"
#include "core/shape.h"

namespace hone::kernels {

enum class PadMode : uint8_t { kConstant, kEdge, kReflect, kWrap };

struct PadDesc {
  std::size_t element_size = 4;
  Shape shape = {};                  // of the input
  std::vector<int64_t> before = {};  // per axis; negative crops
  std::vector<int64_t> after = {};
  PadMode mode = PadMode::kConstant;
};

class Pad {
 public:
  static Result<Pad> create(const PadDesc& desc);
  static std::size_t scratch_bytes() { return 0; }
  const Shape& out_shape() const { return out_shape_; }
  // `value`: one element, for kConstant.
  void execute(const void* in, const void* value, void* out) const noexcept;

 private:
  void row(const std::byte* in, const std::byte* value, std::byte* out, bool outside) const noexcept;
  std::size_t element_ = 4;
  Shape out_shape_;
  std::vector<int64_t> strides_;  // of the input
  std::vector<std::vector<int64_t>>
      sources_;                          // per axis and output position: the input position, -1: constant
  int64_t run_begin_ = 0, run_end_ = 0;  // where along the last axis the source is consecutive
};

}  // namespace hone::kernels

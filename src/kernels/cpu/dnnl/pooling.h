// Maximum and average pooling over 1 to 3 spatial axes on oneDNN, in any layout, with fused epilogue.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "core/layout.h"
#include "core/result.h"
#include "core/shape.h"
#include "kernels/cpu/dnnl/post_op.h"

namespace hone::kernels {

namespace onednn {
class Execution;
}

// Empty strides, dilations and pads mean 1, 1 and 0. Global pooling is a kernel as large as the input.
struct PoolingDesc {
  enum class Kind : uint8_t { kMax, kAverageIncludePad, kAverageExcludePad };

  DType dtype = DType::kF32;
  Kind kind = Kind::kMax;
  int64_t batch = 1;
  int64_t channels = 0;
  Shape input;
  Shape kernel;
  Shape strides;
  Shape dilations;
  Shape pads_begin;
  Shape pads_end;
  bool ceil_mode = false;  // the last window may reach past the padded input
  Layout layout = Layout::kPlain;
  std::vector<PostOp> post_ops;
  std::string implementation;

  Shape output()
      const;  // spatial extents, by ONNX's rule: a window that would start in the end padding is dropped
  Shape src_shape() const;
  Shape dst_shape() const;
};

class Pooling {
 public:
  static Result<std::unique_ptr<Pooling>> create(const PoolingDesc& desc);

  ~Pooling();
  Pooling(const Pooling&) = delete;
  Pooling& operator=(const Pooling&) = delete;

  const std::string& name() const;
  std::size_t scratch_bytes() const;

  // As Convolution::execute().
  Status execute(const void* src, void* dst, std::span<const void* const> operands, void* scratch) noexcept;

 private:
  Pooling(PoolingDesc desc, std::unique_ptr<onednn::Execution> execution);

  PoolingDesc desc_;
  std::unique_ptr<onednn::Execution> execution_;
};

}  // namespace hone::kernels

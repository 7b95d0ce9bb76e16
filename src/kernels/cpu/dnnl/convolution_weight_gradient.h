// The gradient of a convolution's weight on oneDNN, of f32 or bf16: image and gradient come in src_layout and dst_layout and,
// where the library wants other formats, are brought into those in scratch memory. The result is plain.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/result.h"
#include "kernels/cpu/dnnl/convolution_desc.h"

namespace hone::kernels {

namespace onednn {
class Execution;
}

// As Convolution, for the Conv that `desc` describes: no transposed one, no bias, no epilogue. desc.result is the
// gradient's type.
class ConvolutionWeightGradient {
 public:
  static Result<std::unique_ptr<ConvolutionWeightGradient>> create(const ConvolutionDesc& desc);
  // The library's implementations, its scalar reference loops excluded: descriptions that create() takes.
  static std::vector<ConvolutionDesc> candidates(const ConvolutionDesc& desc);

  ~ConvolutionWeightGradient();
  ConvolutionWeightGradient(const ConvolutionWeightGradient&) = delete;
  ConvolutionWeightGradient& operator=(const ConvolutionWeightGradient&) = delete;

  const std::string& name() const;
  std::size_t scratch_bytes() const;

  // x: the image [N, C, …]; g: the result's gradient [N, M, …]; dw: [M, C / groups, …].
  Status execute(const void* x, const void* g, void* dw, void* scratch) noexcept;

 private:
  explicit ConvolutionWeightGradient(std::unique_ptr<onednn::Execution> execution);

  std::unique_ptr<onednn::Execution> execution_;
};

}  // namespace hone::kernels

#include "runtime/cuda/gpu_product.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <fmt/format.h>

#include "runtime/cuda/cuda_device.h"
#include "runtime/memory_plan.h"

namespace hone::runtime::cuda_kernels {
namespace {

// Guesses that are measured, for each memory that one may have: the first is mostly the best, not always, and products
// with few tiles of result are fastest where their sums are split, whose parts take memory.
constexpr int kMostAlgorithms = 16;
constexpr std::array<std::size_t, 2> kProductWorkspaces = {std::size_t{32} << 20, std::size_t{128} << 20};

class GpuProduct : public Kernel {
 public:
  GpuProduct(GpuProductTraits traits, std::unique_ptr<cuda::Product> product)
      : traits_(std::move(traits)),
        workspace_at_((traits_.d_in_scratch + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment),
        product_(std::move(product)) {}

  std::string implementation() const override { return traits_.implementation; }
  std::size_t scratch_bytes() const override { return workspace_at_ + traits_.algorithm.workspace_bytes; }
  std::optional<std::size_t> in_place_input() const override {
    return traits_.d_in_scratch > 0 ? std::nullopt : cuda_kernels::in_place_input(traits_.inputs);
  }
  bool reads(std::size_t input) const override {
    const ProductInputs& inputs = traits_.inputs;
    return input == inputs.a || input == inputs.b || input == inputs.row || input == inputs.added;
  }
  Status enqueue(const KernelArguments& arguments, Queue& queue) override {
    const auto input = [&](const std::optional<std::size_t>& i) {
      return i ? arguments.inputs[*i] : nullptr;
    };
    const bool sums = traits_.desc.bias_gradient != cuda::ProductBiasGradient::kNone;
    const std::size_t stored = traits_.d_in_scratch > 0 ? 0 : 1;  // outputs that d takes
    const cuda::ProductOperands operands{
        .a = input(traits_.inputs.a),
        .b = input(traits_.inputs.b),
        .row = input(traits_.inputs.row),
        .added = input(traits_.inputs.added),
        .d = stored > 0 ? arguments.outputs[0] : arguments.scratch,
        .bias_gradient = sums ? arguments.outputs[stored] : nullptr,
        .workspace = traits_.algorithm.workspace_bytes == 0
                         ? nullptr
                         : static_cast<std::byte*>(arguments.scratch) + workspace_at_};
    const cuda::StreamHandle stream = static_cast<CudaQueue&>(queue).stream();
    if (const uint32_t alignment = alignment_of(operands); alignment < cuda::kProductAlignment) [[unlikely]] {
      HONE_CHECK(find_less_aligned(alignment));
      return product_->run(less_aligned_->algorithm, operands, stream);
    }
    return product_->run(traits_.algorithm, operands, stream);
  }

 private:
  struct LessAligned {
    uint32_t alignment = 0;
    cuda::ProductAlgorithm algorithm;
  };
  // A part of a tensor may begin anywhere (a view). The library's first guess for that, within this kernel's scratch.
  Status find_less_aligned(uint32_t alignment) {
    if (less_aligned_ && less_aligned_->alignment == alignment) return {};
    HONE_ASSIGN(const std::vector<cuda::ProductAlgorithm> found,
                product_->algorithms(1, traits_.algorithm.workspace_bytes, alignment));
    if (found.empty())
      return unsupported(fmt::format("cuBLASLt has no product of operands aligned to {} bytes", alignment));
    less_aligned_ = LessAligned{alignment, found[0]};
    return {};
  }

  GpuProductTraits traits_;
  std::size_t workspace_at_ = 0;  // in the scratch
  std::unique_ptr<cuda::Product> product_;
  std::optional<LessAligned> less_aligned_;
};

}  // namespace

Result<std::unique_ptr<Kernel>> make_product(std::shared_ptr<const cuda::BlasLt> library,
                                             const GpuProductTraits& traits) {
  HONE_ASSIGN(std::unique_ptr<cuda::Product> made, cuda::Product::make(std::move(library), traits.desc));
  return std::unique_ptr<Kernel>(std::make_unique<GpuProduct>(traits, std::move(made)));
}

std::vector<ProductGuess> guesses_of(const cuda::Product& product) {
  std::vector<ProductGuess> all;
  for (const std::size_t workspace : kProductWorkspaces) {
    const auto found = product.algorithms(kMostAlgorithms, workspace);
    if (!found.ok()) continue;
    for (std::size_t i = 0; i < found->size(); ++i) {
      const cuda::ProductAlgorithm& algorithm = (*found)[i];
      const bool known = std::any_of(all.begin(), all.end(), [&](const ProductGuess& guess) {
        return std::memcmp(&guess.algorithm.algorithm, &algorithm.algorithm, sizeof algorithm.algorithm) == 0;
      });
      if (!known) all.push_back({algorithm, workspace, i + 1});
    }
  }
  return all;
}

}  // namespace hone::runtime::cuda_kernels

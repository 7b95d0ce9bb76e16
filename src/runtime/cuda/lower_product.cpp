// MatMul and Gemm on a GPU: cuBLASLt, its best guesses as candidates.
#include <algorithm>

#include <fmt/format.h>

#include "runtime/cuda/gpu_kernels.h"

namespace hone::runtime::cuda_kernels {
namespace {

// Guesses that are measured, and the memory that each may have. The first is mostly the best, not always.
constexpr int kMostAlgorithms = 8;
constexpr std::size_t kProductWorkspace = std::size_t{32} << 20;

struct GpuProductTraits {
  cuda::ProductDesc desc;
  cuda::ProductAlgorithm algorithm;
  std::string implementation;
};

class GpuProduct : public Kernel {
 public:
  GpuProduct(GpuProductTraits traits, std::unique_ptr<cuda::Product> product)
      : traits_(std::move(traits)), product_(std::move(product)) {}

  std::string implementation() const override { return traits_.implementation; }
  std::size_t scratch_bytes() const override { return traits_.algorithm.workspace_bytes; }
  Status enqueue(const KernelArguments& arguments, Queue& queue) override {
    return product_->run(traits_.algorithm, arguments.inputs[0], arguments.inputs[1],
                         traits_.desc.row ? arguments.inputs[2] : nullptr, arguments.outputs[0],
                         arguments.scratch, static_cast<CudaQueue&>(queue).stream());
  }

 private:
  GpuProductTraits traits_;
  std::unique_ptr<cuda::Product> product_;
};

bool is_product_type(DType type) {
  return type == DType::kF32 || type == DType::kF16 || type == DType::kBF16;
}

// Leading axes as one number of matrices: of the operand's own, and whether there are as many as the result has.
struct Batches {
  int64_t count = 1;
  bool all = false;  // else one for all of them
};
std::optional<Batches> batches_of(const Shape& operand, const Shape& result) {
  const std::span<const int64_t> own = std::span(operand).first(operand.size() - 2);
  const std::span<const int64_t> wanted = std::span(result).first(result.size() - 2);
  const int64_t count = element_count(own);
  if (count == element_count(wanted)) return Batches{count, true};
  if (count == 1) return Batches{1, false};
  return std::nullopt;  // some axes are broadcast, others not: no one stride walks that
}

std::optional<cuda::ProductDesc> matmul_desc(const LowerContext& context) {
  const Shape a = context.in_shape(0), b = context.in_shape(1), d = context.out_shape();
  if (a.size() < 2 || b.size() < 2) return std::nullopt;
  cuda::ProductDesc desc{.rows = a[a.size() - 2], .columns = b.back(), .depth = a.back()};
  const auto a_batches = batches_of(a, d), b_batches = batches_of(b, d);
  if (!a_batches || !b_batches) return std::nullopt;
  desc.batch = element_count(std::span(d).first(d.size() - 2));
  if (!b_batches->all || desc.batch == 1) {  // all rows of all batches are one matrix
    if (!a_batches->all) return std::nullopt;
    desc.rows *= desc.batch;
    desc.batch = 1;
    return desc;
  }
  desc.a_stride = a_batches->all ? desc.rows * desc.depth : 0;
  desc.b_stride = desc.depth * desc.columns;
  desc.d_stride = desc.rows * desc.columns;
  return desc;
}

// alpha·A·B + C, where C is one row or nothing.
std::optional<cuda::ProductDesc> gemm_desc(const LowerContext& context) {
  const Attributes& attributes = context.node.attributes;
  const Shape a = context.in_shape(0), b = context.in_shape(1);
  cuda::ProductDesc desc;
  desc.transpose_a = attributes.integer("transA", 0) != 0;
  desc.transpose_b = attributes.integer("transB", 0) != 0;
  desc.rows = a[desc.transpose_a ? 1 : 0];
  desc.depth = a[desc.transpose_a ? 0 : 1];
  desc.columns = b[desc.transpose_b ? 0 : 1];
  desc.alpha = attributes.real("alpha", 1.0F);
  const float beta = attributes.real("beta", 1.0F);
  if (!context.has(2) || beta == 0.0F) return desc;
  const Shape c = context.in_shape(2);
  if (beta != 1.0F || c.empty() || c.back() != desc.columns || element_count(c) != desc.columns)
    return std::nullopt;
  desc.row = true;
  return desc;
}

}  // namespace

void lower_product(const LowerContext& context, const GpuKernels& kernels, std::vector<Candidate>& found) {
  const bool matmul = context.node.op == "MatMul";
  if ((!matmul && context.node.op != "Gemm") || kernels.products == nullptr) return;
  if (!is_product_type(context.out().dtype) || element_count(context.out_shape()) == 0) return;
  for (std::size_t i = 0; i < context.node.inputs.size(); ++i) {
    if (!context.has(i)) continue;
    if (context.in(i).dtype != context.out().dtype || context.in(i).layout != Layout::kPlain) return;
  }
  auto desc = matmul ? matmul_desc(context) : gemm_desc(context);
  if (!desc || desc->depth == 0) return;
  desc->dtype = context.out().dtype;
  const auto product = cuda::Product::make(kernels.products, *desc);
  if (!product.ok()) return;
  const auto algorithms = (*product)->algorithms(kMostAlgorithms, kProductWorkspace);
  if (!algorithms.ok()) return;
  for (std::size_t i = 0; i < algorithms->size(); ++i) {
    const GpuProductTraits traits{*desc, (*algorithms)[i],
                                  fmt::format("cuBLASLt (guess {} of {})", i + 1, algorithms->size())};
    found.push_back({.name = fmt::format("cuBLASLt {}", i + 1),
                     .make = [library = kernels.products, traits]() -> Result<std::unique_ptr<Kernel>> {
                       HONE_ASSIGN(std::unique_ptr<cuda::Product> made,
                                   cuda::Product::make(library, traits.desc));
                       return std::unique_ptr<Kernel>(std::make_unique<GpuProduct>(traits, std::move(made)));
                     }});
  }
}

}  // namespace hone::runtime::cuda_kernels

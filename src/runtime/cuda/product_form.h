// A MatMul or Gemm, alone or with the epilogue of its group, as kernels take it: the description, and which inputs of the plan's
// node are read.
#pragma once

#include <optional>
#include <vector>

#include "cuda/blas_lt.h"

#include "runtime/cuda/gpu_kernels.h"

namespace hone::runtime::cuda_kernels {

struct ProductInputs {
  std::size_t a = 0, b = 1;
  std::optional<std::size_t> row, added;
};

struct ProductForm {
  cuda::ProductDesc desc;
  ProductInputs inputs;
};

// What is added, where nothing else is read from it: the result may overwrite it.
inline std::optional<std::size_t> in_place_input(const ProductInputs& inputs) {
  const auto& [a, b, row, added] = inputs;
  return added == a || added == b || added == row ? std::nullopt : added;
}

// Of a node that is a product, or its group with an epilogue, whatever sum stands behind it; nullopt where cuBLASLt does not
// compute it.
std::optional<ProductForm> product_form(const LowerContext& context);
// Adds the product's kernels, the library's guesses and ours: output 0 is the product's.
void offer_products(const ProductForm& form, const GpuKernels& kernels, bool with_epilogue,
                    std::vector<Candidate>& found);

// Adds our own kernel where the product has one row.
void offer_gemv(const ProductForm& form, const GpuKernels& kernels, bool with_epilogue,
                std::vector<Candidate>& found);

}  // namespace hone::runtime::cuda_kernels

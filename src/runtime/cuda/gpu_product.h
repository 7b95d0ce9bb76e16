// A product by cuBLASLt as a kernel of the provider, and the library's guesses for it: what lowerings of products share.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cuda/blas_lt.h"

#include "runtime/cuda/product_form.h"
#include "runtime/kernel.h"

namespace hone::runtime::cuda_kernels {

struct GpuProductTraits {
  cuda::ProductDesc desc = {};
  ProductInputs inputs = {};
  cuda::ProductAlgorithm algorithm = {};
  std::string implementation = {};
  // Outputs are d and the bias's gradient, where the product gives one. Not 0: d is none of them, but so many bytes at the
  // beginning of the scratch, for who reads them there (kernels_in_turn.h).
  std::size_t d_in_scratch = 0;
};

Result<std::unique_ptr<Kernel>> make_product(std::shared_ptr<const cuda::BlasLt> library,
                                             const GpuProductTraits& traits);

struct ProductGuess {
  cuda::ProductAlgorithm algorithm;
  std::size_t workspace = 0;  // that it was found with
  std::size_t place = 0;      // among those, from 1
};
// The guesses for each workspace, those that are the same once. None: the library does not do this product.
std::vector<ProductGuess> guesses_of(const cuda::Product& product);

}  // namespace hone::runtime::cuda_kernels

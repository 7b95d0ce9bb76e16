// Products of one row by our own kernel (kernels/cuda/gemv.h), measured beside cuBLASLt's: what decoding consists of.
#include "kernels/cuda/gemv.h"
#include "runtime/cuda/gpu_launches.h"
#include "runtime/cuda/product_form.h"

namespace hone::runtime::cuda_kernels {

void offer_gemv(const ProductForm& form, const GpuKernels& kernels, bool with_epilogue,
                std::vector<Candidate>& found) {
  namespace gpu = hone::kernels::gpu;
  cuda::ProductDesc exact = form.desc;
  exact.tf32 = false;  // it waits for memory: there is nothing to win by rounding
  const auto generated = gpu::generate_gemv(exact);
  if (!generated.ok()) return;
  auto shape = line_of_blocks(generated->blocks, gpu::kGemvBlock);
  const auto joining = line_of_blocks(generated->join_blocks, gpu::kGemvBlock);
  if (!shape || !joining) return;
  shape->grid[1] = static_cast<unsigned>(generated->parts);
  GpuLaunches launches{.implementation =
                           with_epilogue ? "hone gemv with epilogue (CUDA)" : "hone gemv (CUDA)"};
  launches.in_place = in_place_input(form.inputs);
  launches.scratch_bytes = generated->scratch_bytes;
  constexpr GpuParameter kNull{GpuParameter::Kind::kInteger, 0};
  const auto given = [&](const std::optional<std::size_t>& input) {
    return input ? input_parameter(*input) : kNull;
  };
  const std::vector<GpuParameter> parameters = {
      input_parameter(form.inputs.a),
      input_parameter(form.inputs.b),
      given(form.inputs.row),
      given(form.inputs.added),
      output_parameter(0),
      generated->parts > 1 ? GpuParameter{GpuParameter::Kind::kScratch, 0} : kNull};
  launches.launches.push_back(
      {.source = generated->source, .entry = gpu::kGemvEntry, .shape = *shape, .parameters = parameters});
  if (generated->parts > 1)
    launches.launches.push_back({.source = generated->source,
                                 .entry = gpu::kGemvJoinEntry,
                                 .shape = *joining,
                                 .parameters = parameters});
  offer_launches(kernels, "hone gemv", std::move(launches), found);
}

}  // namespace hone::runtime::cuda_kernels

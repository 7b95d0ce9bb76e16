// What only training steps hold: updates, normalisations by the batch's own statistics, gradients, losses, random numbers.
#include "runtime/cuda/gpu_kernels.h"

namespace hone::runtime::cuda_kernels {

void lower_of_training(const LowerContext& context, const GpuKernels& kernels,
                       std::vector<Candidate>& found) {
  for (const auto lower : {lower_optimizer, lower_square_sum, lower_loss, lower_batch_norm,
                           lower_layer_norm_gradient, lower_pooling_gradient, lower_random})
    lower(context, kernels, found);
}

}  // namespace hone::runtime::cuda_kernels

// Gradients of MaxPool and AveragePool as a CUDA kernel: a thread an element of the input, which looks at the windows that hold
// it, so that nothing is added by atomics. Of a maximum's window the first of equals gets all, and NaN is larger than every
// number, as in the pooling itself.
#pragma once

#include "kernels/cuda/pooling.h"

namespace hone::kernels::gpu {

inline constexpr const char* kPoolGradientEntry = "hone_pool_gradient";

// `program` is the pooling's. Parameters of kPoolGradientEntry: the gradient of its result, its input (of a maximum; else
// null), the gradient of its input. Blocks have kPoolBlock threads.
Result<PoolKernel> generate_pooling_gradient(const PoolProgram& program);

}  // namespace hone::kernels::gpu

// Kernels whose launch overlaps the end of what ran before (programmatic dependent launch, CUDA C++ Programming Guide): the GPU
// brings their blocks up while the last blocks of the kernel before still run, and each block waits for that kernel's end,
// with all that it wrote, before its first statement.
#pragma once

#include <string>

namespace hone::kernels::gpu {

// `text` (CUDA C++) with that wait at the beginning of every kernel, and, behind it, the word that what comes next may be
// brought up. Both cost nothing where a kernel is launched as usual; before Hopper (sm_90) they are not there.
// Correct for any chain of launches as long as every kernel that is launched so waits: the end of a kernel that waited
// is the end of all before it.
std::string with_dependent_launch(std::string text);

}  // namespace hone::kernels::gpu

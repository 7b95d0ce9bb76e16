// Which kernels these are, as for the CPU's (runtime/cpu/kernel_revision.h): part of what timings are kept under, so that a kernel
// that is new is measured where others have been.
#pragma once

#include <string_view>

namespace hone::runtime::cuda_kernels {

std::string_view kernel_revision();  // twelve hexadecimal digits

}  // namespace hone::runtime::cuda_kernels

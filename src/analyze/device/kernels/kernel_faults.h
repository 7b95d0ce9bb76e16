// What is wrong with a kernel, by its counters: one function a fault, in a table (kernel_faults.cpp).
#pragma once

#include <vector>

#include "analyze/device/kernels/kernel_study.h"

namespace hone::analyze::device {

// Largest gain first. Of a study whose other members are filled in.
std::vector<KernelFault> find_kernel_faults(const KernelStudy& study);

}  // namespace hone::analyze::device

// Which kernels these are: part of what timings are kept under. Made from their sources when hone is built
// (cmake/KernelRevision.cmake), so that nobody has to remember to change it.
#pragma once

#include <string_view>

namespace hone::runtime::cpu {

std::string_view kernel_revision();  // twelve hexadecimal digits

}  // namespace hone::runtime::cpu

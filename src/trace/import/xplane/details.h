// The texts in which XLA's GPU tracer describes a launch or a copy ("regs:32 … grid:8,1,1 block:128,1,1").
#pragma once

#include <string>
#include <string_view>

#include "trace/details.h"

namespace hone::trace::xplane {

// What is not there, or is no number, is 0.
Launch kernel_details(std::string_view text);
Copy memcpy_details(std::string_view text);
Copy memset_details(std::string_view text);

// "Memcpy HtoD (Pageable -> Device)", as CUPTI's other readers call it.
std::string copy_words(const Copy& copy);

}  // namespace hone::trace::xplane

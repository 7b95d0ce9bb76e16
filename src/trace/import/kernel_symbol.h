// Kernels' symbols, as compilers mangle them, in C++.
#pragma once

#include <string>
#include <string_view>

namespace hone::trace {

// "_ZN2at6native…" -> "void at::native::…"; empty: no mangled name, or one that cannot be read.
std::string demangled(std::string_view symbol);

}  // namespace hone::trace

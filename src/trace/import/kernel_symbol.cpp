#include "trace/import/kernel_symbol.h"

#include <cstdlib>
#include <memory>

#include <cxxabi.h>

namespace hone::trace {
namespace {

// CUTLASS's symbols are some kilobytes long; what is far longer is damage.
constexpr std::size_t kLongestSymbol = std::size_t{1} << 16;

}  // namespace

std::string demangled(std::string_view symbol) {
  if (!symbol.starts_with("_Z") || symbol.size() > kLongestSymbol) return {};
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(std::string(symbol).c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 && name != nullptr ? std::string(name.get()) : std::string();
}

}  // namespace hone::trace

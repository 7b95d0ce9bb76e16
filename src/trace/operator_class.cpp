#include "trace/operator_class.h"

#include <array>

namespace hone::trace {
namespace {

constexpr std::array<std::string_view, kOperatorClassCount> kNames = {
    "other",         "matrix",    "convolution", "pooling", "pointwise",
    "normalization", "reduction", "movement",    "layout",
};

}  // namespace

std::string_view operator_class_name(OperatorClass operator_class) {
  return kNames[static_cast<std::size_t>(operator_class)];
}

std::optional<OperatorClass> operator_class_from_name(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == name) return static_cast<OperatorClass>(i);
  return std::nullopt;
}

}  // namespace hone::trace

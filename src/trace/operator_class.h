// What kind of work an operator does, as far as analysis cares. Whoever writes a trace maps its own operator
// names to these; analysis knows no operator by name.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace hone::trace {

enum class OperatorClass : uint8_t {
  kOther,
  kMatrix,  // matrix products, attention, recurrent layers
  kConvolution,
  kPooling,
  kPointwise,  // each output element from the elements at the same place
  kNormalization,
  kReduction,  // softmax, sums over axes
  kMovement,   // gathers, concatenations, pads: bytes moved because the model says so
  kLayout,     // reorders and transposes: bytes moved to change their order only
};
inline constexpr int kOperatorClassCount = 9;

std::string_view operator_class_name(OperatorClass operator_class);  // "matrix", "convolution", …
std::optional<OperatorClass> operator_class_from_name(std::string_view name);

}  // namespace hone::trace

// What a fix asks of who follows it, and how much of its gain that leaves when advice is put into order.
#pragma once

#include <cstdint>
#include <string_view>

namespace hone::analyze {

enum class Effort : uint8_t {
  kSetting,  // a line around the model, an argument, a switch
  kCode,     // parts of the program written anew
  kModel,    // another model: other sizes, other layers
  kPackage,  // code that is not the program's, in a package that it calls
};
inline constexpr int kEffortCount = static_cast<int>(Effort::kPackage) + 1;

std::string_view effort_name(Effort effort);  // "setting"

// Of two fixes of equal gain that which asks less goes first, and one that asks more where it wins clearly more: by so
// much counts a gain.
double weight_of(Effort effort);

}  // namespace hone::analyze

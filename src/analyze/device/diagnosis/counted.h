// Numbers of things in templates: "{count:f32 products}" is "1 f32 product" or "21 f32 products". The
// template names the things in the plural; names that a user gave are never touched.
#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>

namespace hone::analyze::device {

// As a sentence has it: "12", "2.5", "1".
std::string count_text(double count);

// One of them: "products and attentions" is "product or attention".
std::string one_of(std::string_view things);

struct Counted {
  double count = 0;
};

}  // namespace hone::analyze::device

template <>
struct fmt::formatter<hone::analyze::device::Counted> {
  constexpr auto parse(format_parse_context& context) {
    auto end = context.begin();
    while (end != context.end() && *end != '}') ++end;
    things_ = {context.begin(), static_cast<std::size_t>(end - context.begin())};
    return end;
  }

  auto format(const hone::analyze::device::Counted& value, format_context& context) const {
    const std::string count = hone::analyze::device::count_text(value.count);
    if (things_.empty()) return fmt::format_to(context.out(), "{}", count);
    if (count == "1") return fmt::format_to(context.out(), "1 {}", hone::analyze::device::one_of(things_));
    return fmt::format_to(context.out(), "{} {}", count, things_);
  }

 private:
  std::string_view things_;
};

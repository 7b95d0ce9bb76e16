// The page's colours but for those of the charts (fills.h). palette_test.cpp says how legible they must be.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace hone::report::html {

struct Tone {
  enum class Use {
    kText,    // on every ground
    kGround,  // behind text
    kLine,    // borders and bars, never text
  };
  std::string_view name;   // of the variable: "ink"
  std::string_view light;  // "#rrggbb", on a light page
  std::string_view dark;
  Use use;
};
std::span<const Tone> tones();

// Rules that set the variables: "--ink:#1c2024;…" for both themes.
std::string tone_rules();

}  // namespace hone::report::html

#include "report/html/palette.h"

#include <array>

#include <fmt/format.h>

namespace hone::report::html {
namespace {

using Use = Tone::Use;

constexpr std::array kTones = {
    Tone{"page", "#fbfbfa", "#14171a", Use::kGround},  Tone{"card", "#ffffff", "#1b1f23", Use::kGround},
    Tone{"track", "#eef0f2", "#252a2f", Use::kGround}, Tone{"ink", "#1c2024", "#e8eaed", Use::kText},
    Tone{"soft", "#505962", "#a9b2bb", Use::kText},    Tone{"faint", "#636c75", "#939ca6", Use::kText},
    Tone{"accent", "#0b62a3", "#6cb8f0", Use::kText},  Tone{"good", "#08704e", "#4fc79b", Use::kText},
    Tone{"bad", "#b03c07", "#f09a66", Use::kText},     Tone{"rule", "#e4e6e9", "#2c3238", Use::kLine},
    Tone{"total", "#8d96a0", "#77828d", Use::kLine},
};

}  // namespace

std::span<const Tone> tones() { return kTones; }

std::string tone_rules() {
  std::string light, dark;
  for (const Tone& tone : kTones) {
    light += fmt::format("--{}:{};", tone.name, tone.light);
    dark += fmt::format("--{}:{};", tone.name, tone.dark);
  }
  return fmt::format(
      ":root{{color-scheme:light dark;{}}}\n@media(prefers-color-scheme:dark){{:root{{{}}}}}\n", light, dark);
}

}  // namespace hone::report::html

#include "report/html/fills.h"

#include <array>

#include <fmt/format.h>

namespace hone::report::html {
namespace {

constexpr std::array kFills = {
    Fill{".cause-floor", "#385672", "#7a929b"},
    Fill{".cause-kernel_inefficiency", "#1a50a6", "#5b8cd5"},
    Fill{".cause-unjudged", "#1e1e1e", "#d5d5d5"},
    Fill{".class-convolution", "#216bb5", "#76a7e0"},
    Fill{".class-matrix", "#4a9777", "#7ab695"},
    Fill{".class-pooling", "#60861d", "#acd18f"},
    Fill{".cause-avoidable_traffic", "#932e00", "#c25e21"},
    Fill{".class-pointwise", "#d15800", "#df7d5a"},
    Fill{".cause-precision", "#ab3d91", "#bb509f"},
    Fill{".class-normalization", "#ce5ba5", "#ee7ec0"},
    Fill{".class-reduction", "#389dcf", "#7dcffa"},
    Fill{".cause-layout", "#876745", "#d08f00"},
    Fill{".class-movement", "#ad8151", "#edaa3c"},
    Fill{".class-layout", "#ad9229", "#eadf8b"},
    Fill{".class-other", "#767e8d", "#9a977f"},
    Fill{".cause-launch", "#a12c41", "#d8535b"},
    Fill{".cause-host_sync,.kind-sync", "#805cd4", "#a182f6"},
    Fill{".cause-input,.kind-input", "#003e1d", "#458451"},
    Fill{".cause-io,.kind-io", "#495428", "#afb773"},
    Fill{".cause-host_copy", "#1c2d80", "#4e6dd1"},
    Fill{".cause-allocator,.kind-alloc", "#667369", "#e9c760"},
    Fill{".cause-compile", "#812893", "#b76cbe"},
    Fill{".cause-host_other", "#615555", "#afbdb7"},
    Fill{".cause-comm,.kind-comm", "#975300", "#c97825"},
    Fill{".cause-straggler", "#73103c", "#ad627d"},
    Fill{".cause-bubble", "#346b7b", "#58aaba"},
};

}  // namespace

std::span<const Fill> fills() { return kFills; }

std::string fill_rules() {
  std::string light, dark;
  for (const Fill& fill : kFills) {
    light += fmt::format("{}{{--c:{}}}\n", fill.of, fill.light);
    dark += fmt::format("{}{{--c:{}}}\n", fill.of, fill.dark);
  }
  return fmt::format("{}@media(prefers-color-scheme:dark){{\n{}}}\n", light, dark);
}

}  // namespace hone::report::html

#include "report/html/fills.h"

#include <array>

#include <fmt/format.h>

namespace hone::report::html {
namespace {

constexpr std::array kFills = {
    Fill{".cause-floor", "#355b74", "#738d9f"},
    Fill{".cause-kernel_inefficiency,.class-convolution", "#1c6bb5", "#73a7de"},
    Fill{".class-matrix", "#4a8f6d", "#74b393"},
    Fill{".class-pooling", "#5a8838", "#abd08e"},
    Fill{".cause-avoidable_traffic,.class-pointwise", "#d05700", "#e8814f"},
    Fill{".cause-precision,.class-normalization", "#cc58a1", "#ec7bc1"},
    Fill{".class-reduction", "#389dcd", "#7dcffb"},
    Fill{".cause-layout,.class-movement", "#c58711", "#edaa41"},
    Fill{".class-layout", "#9c9558", "#e9df8c"},
    Fill{".class-other", "#737c8c", "#909486"},
    Fill{".cause-launch", "#9c2f33", "#d85355"},
    Fill{".cause-host_sync,.kind-sync", "#815cd3", "#a184ed"},
    Fill{".cause-input", "#014219", "#438552"},
    Fill{".cause-io", "#4b5103", "#aeb775"},
    Fill{".cause-host_copy", "#1b2e81", "#506ed2"},
    Fill{".cause-allocator,.kind-alloc", "#796a44", "#e9c65f"},
    Fill{".cause-compile", "#812695", "#b46dc4"},
    Fill{".cause-host_other", "#5c4e54", "#b0bbb2"},
    Fill{".cause-comm,.kind-comm", "#975301", "#c87829"},
    Fill{".cause-straggler", "#72123c", "#ae627b"},
    Fill{".cause-bubble", "#38707e", "#58a7b8"},
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

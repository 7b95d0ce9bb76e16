#include "report/terminal.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include <sys/ioctl.h>
#include <unistd.h>

namespace hone::report {

constexpr std::size_t kMinWidth = 80, kMaxWidth = 100;

TerminalStyle terminal_style(int descriptor) {
  TerminalStyle style;
  const char* term = std::getenv("TERM");
  bool is_terminal = isatty(descriptor) == 1;
  style.colour = is_terminal && std::getenv("NO_COLOR") == nullptr &&
                 !(term != nullptr && std::string_view(term) == "dumb");
  winsize size{};
  if (is_terminal && ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    style.width = std::clamp<std::size_t>(size.ws_col, kMinWidth, kMaxWidth);
  return style;
}

}  // namespace hone::report

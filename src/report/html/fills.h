// What the charts tell apart by colour: classes of operators, what the host does, causes. The table is all
// there is to it: the style sheet is made of it, and fills_test.cpp says how far apart its colours must be.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace hone::report::html {

// One colour has one meaning. What shares a fill is the same thing: what the host does, and the cause that it
// is of idle time.
struct Fill {
  std::string_view of;     // as in a style sheet: ".cause-host_sync,.kind-sync"
  std::string_view light;  // "#rrggbb", on a light page
  std::string_view dark;
};
std::span<const Fill> fills();

// Rules that set the variable --c of each.
std::string fill_rules();

}  // namespace hone::report::html

// What all charts share: how wide they are drawn, colours by name, scales, text. A chart is drawn twice, wide
// for desks and compact for phones, because text in a scaled SVG would shrink with it; CSS shows the one that
// fits. Colours are CSS classes (html/style.cpp), so that light and dark need no second drawing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analyze/cause.h"
#include "report/markup.h"
#include "trace/operator_class.h"

namespace hone::report::svg {

struct Canvas {
  double width = 1000;
  bool compact = false;
};
inline constexpr Canvas kWide{1000, false};
inline constexpr Canvas kCompact{346, true};

// An <svg> of the canvas' width; `label` is read out instead of the picture.
Markup document(const Canvas& canvas, double height, std::string_view label, const Markup& content);

// CSS classes that colour a fill: "cause-launch", "class-matrix".
std::string cause_class(analyze::Cause cause);
std::string operator_class_css(trace::OperatorClass operator_class);
// The class of a bar that is no operator, by what the host or a link does there: "kind-sync"; else empty.
std::string_view kind_css(std::string_view kind);

Markup line(double x1, double y1, double x2, double y2, std::string_view css);
// A rectangle that shows `tip` on hover (as a <title> without script); at least half a unit wide.
Markup box(double x, double y, double width, double height, std::string_view css, std::string_view tip);
enum class Anchor { kStart, kMiddle, kEnd };
Markup text(double x, double y, std::string_view words, std::string_view css, Anchor anchor = Anchor::kStart);

// About `count` round numbers (1, 2 or 5 times a power of ten apart) that cover 0 to `limit`.
std::vector<double> ticks(double limit, int count);

// Maps decades evenly: from [low, high] to [start, end].
struct LogScale {
  double low = 1, high = 10;
  double start = 0, end = 1;
  double operator()(double value) const;
};

}  // namespace hone::report::svg

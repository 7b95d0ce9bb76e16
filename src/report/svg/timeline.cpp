#include "report/svg/timeline.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "core/units.h"
#include "report/text.h"

namespace hone::report::svg {
namespace {

using analyze::Analysis;
using analyze::TimelineSpan;

constexpr int kMaxTracks = 12;   // more threads than that are a texture, not a chart
constexpr double kNarrow = 0.7;  // bars below this many units are drawn together
constexpr double kTrackHeight = 30;
constexpr double kStair = 5;
constexpr int kStairs = 4;

// Neighbours too narrow to be seen, as one bar.
struct Bar {
  double start_ms, end_ms;
  const TimelineSpan* first;
  int count;
};

std::string css_of(const TimelineSpan& span) {
  const std::string_view kind = kind_css(span.kind);
  return kind.empty() ? operator_class_css(span.op_class) : std::string(kind);
}

class TimelinePainter {
 public:
  TimelinePainter(const Analysis& before, const Analysis* after, const Canvas& canvas) : canvas_(canvas) {
    double limit = std::max(end_of(before), after == nullptr ? 0 : end_of(*after));
    per_ms_ = limit > 0 ? (canvas.width - left()) / limit : 0;
    section(before, after == nullptr ? "" : "before");
    if (after != nullptr) section(*after, "after");
    axis(limit);
  }

  Markup paint() const { return document(canvas_, y_ + 22, "Timeline of one typical step", content_); }

 private:
  double left() const { return canvas_.compact ? 0 : 96; }
  double x(double ms) const { return left() + ms * per_ms_; }

  static double end_of(const Analysis& side) {
    double end = side.step.as_recorded().median;
    for (const TimelineSpan& span : side.timeline) end = std::max(end, span.start_ms + span.ms);
    return end;
  }

  void section(const Analysis& side, std::string_view name) {
    int tracks = std::min(kMaxTracks, static_cast<int>(side.timeline_tracks.size()));
    for (int track = 0; track < tracks; ++track) {
      std::string label =
          name.empty() || tracks > 1 ? side.timeline_tracks[static_cast<std::size_t>(track)] : "";
      if (!name.empty() && track == 0)
        label = tracks > 1 && canvas_.compact ? fmt::format("{}: {}", name, label) : std::string(name);
      row(side, track, label);
    }
    int hidden = static_cast<int>(side.timeline_tracks.size()) - tracks;
    if (hidden > 0) {
      content_ += text(left(), y_ + 12, fmt::format("and {} more threads", hidden), "axis");
      y_ += 18;
    }
    y_ += 6;
  }

  void row(const Analysis& side, int track, const std::string& label) {
    if (canvas_.compact) {
      content_ += text(0, y_ + 12, shortened(label, 40), "label");
      y_ += 18;
    } else {
      content_ += text(left() - 14, y_ + kTrackHeight / 2 + 4, shortened(label, 12), "label", Anchor::kEnd);
    }
    content_ += box(left(), y_, x(side.step.as_recorded().median) - left(), kTrackHeight, "track", "");
    for (const Bar& bar : bars(side, track)) draw(bar);
    y_ += kTrackHeight + 4;
  }

  // In order of start, wide bars alone and narrow neighbours of one class together.
  std::vector<Bar> bars(const Analysis& side, int track) const {
    std::vector<Bar> result;
    for (const TimelineSpan& span : side.timeline) {
      if (span.track != track) continue;
      double end = span.start_ms + span.ms;
      bool narrow = span.ms * per_ms_ < kNarrow;
      if (narrow && !result.empty()) {
        Bar& last = result.back();
        bool near = (span.start_ms - last.end_ms) * per_ms_ < kNarrow / 2;
        bool small = (last.end_ms - last.start_ms) * per_ms_ < kNarrow * 2;
        if (near && small && last.first->op_class == span.op_class && last.first->depth == span.depth) {
          last.end_ms = std::max(last.end_ms, end);
          ++last.count;
          continue;
        }
      }
      result.push_back({span.start_ms, end, &span, 1});
    }
    return result;
  }

  void draw(const Bar& bar) {
    std::string tip = bar.count > 1
                          ? fmt::format("{} operators from {}, {}", bar.count, bar.first->name,
                                        format_ms(bar.end_ms - bar.start_ms))
                          : fmt::format("{} ({})\n{} at {}", bar.first->name, bar.first->kind,
                                        format_ms(bar.end_ms - bar.start_ms), format_ms(bar.start_ms));
    double width = (bar.end_ms - bar.start_ms) * per_ms_;
    // A hairline between neighbours, where there is room for one.
    double drawn = width > 3 ? width - 0.6 : width;
    // What nests stands lower than what holds it.
    double top = std::min(kStairs, bar.first->depth) * kStair;
    content_ += box(x(bar.start_ms), y_ + top, drawn, kTrackHeight - top, css_of(*bar.first), tip);
  }

  void axis(double limit) {
    for (double tick : ticks(limit, canvas_.compact ? 4 : 10)) {
      content_ += line(x(tick), y_, x(tick), y_ + 4, "tick");
      Anchor anchor =
          tick == 0 ? Anchor::kStart : (x(tick) > canvas_.width - 12 ? Anchor::kEnd : Anchor::kMiddle);
      content_ += text(x(tick), y_ + 17, fmt::format("{:g}{}", tick, tick == 0 ? " ms" : ""), "axis", anchor);
    }
  }

  const Canvas& canvas_;
  double per_ms_ = 0;
  double y_ = 0;
  Markup content_;
};

}  // namespace

Markup timeline(const Analysis& before, const Analysis* after, const Canvas& canvas) {
  return TimelinePainter(before, after, canvas).paint();
}

}  // namespace hone::report::svg

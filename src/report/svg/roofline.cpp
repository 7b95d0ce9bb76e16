#include "report/svg/roofline.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "core/units.h"

namespace hone::report::svg {
namespace {

using analyze::Analysis;
using analyze::RooflinePoint;

constexpr double kNameHeight = 13;      // of a roof's name
constexpr double kIntensityWidth = 46;  // of a label of the axis, with room beside it
constexpr double kPi = 3.14159265358979323846;

struct MemoryLine {
  std::string level;
  double bytes_per_second;
};

// The levels from the slowest up, each once, at the thread count that was used.
std::vector<MemoryLine> memory_lines(const Roofs& roofs, const Analysis& before) {
  std::vector<MemoryLine> lines;
  for (const analyze::RoofLine& roof : before.roof_lines)
    if (roof.bytes_per_second > 0) lines.push_back({roof.name, roof.bytes_per_second});
  if (!lines.empty()) return lines;
  for (const MemoryRoof& roof : roofs.memory) {
    if (std::any_of(lines.begin(), lines.end(), [&](const MemoryLine& l) { return l.level == roof.level; }))
      continue;
    double inside = roof.capacity_bytes > 0 ? roof.capacity_bytes * 0.999 : 1e18;
    const MemoryRoof* level = roofs.memory_level(inside, roofs.threads);
    if (level != nullptr && level->level == roof.level) lines.push_back({roof.level, level->bytes.median});
  }
  return lines;
}

struct ComputeLine {
  std::string label;
  double flops_per_second;
};

// Those that bound a point, the fastest first; of f32 in the machine's own table.
std::vector<ComputeLine> compute_lines(const Roofs& roofs, const Analysis& before) {
  std::vector<ComputeLine> lines;
  for (const analyze::RoofLine& roof : before.roof_lines) {
    const auto bounds = [&](const RooflinePoint& point) { return point.roof == roof.name; };
    if (roof.flops_per_second > 0 && std::any_of(before.roofline.begin(), before.roofline.end(), bounds))
      lines.push_back({roof.name, roof.flops_per_second});
  }
  if (lines.empty()) lines.push_back({"compute", roofs.compute_roof(DType::kF32, roofs.threads)});
  std::sort(lines.begin(), lines.end(), [](const ComputeLine& a, const ComputeLine& b) {
    return a.flops_per_second > b.flops_per_second;
  });
  return lines;
}

int decade_above(double value) { return static_cast<int>(std::ceil(std::log10(value))); }

class RooflinePainter {
 public:
  RooflinePainter(const Roofs& roofs, const Analysis& before, const Analysis* after, const Canvas& canvas)
      : before_(before), after_(after), canvas_(canvas), memory_(memory_lines(roofs, before)) {
    compute_ = compute_lines(roofs, before);
    peak_ = compute_.front().flops_per_second;
    height_ = canvas.compact ? 330 : 460;
    for (const RooflinePoint& point : before.roofline) longest_ = std::max(longest_, point.ms);
    scales();
  }

  Markup paint() {
    Markup content = axes();
    content += roof_lines();
    if (after_ != nullptr) {
      content += points(before_, "before", false);
      content += points(*after_, "after", true);
    } else {
      content += points(before_, "after", true);
    }
    for (const RoofName& name : compute_names())  // readable where points lie under them
      content += text(name.right, name.base, name.words, "roof-label", Anchor::kEnd);
    return document(canvas_, height_, "Roofline: achieved FLOP/s over arithmetic intensity of every operator",
                    content);
  }

 private:
  void scales() {
    double low_x = 1e30, high_x = 0, low_y = 1e30, high_y = peak_;
    for (const Analysis* side : {&before_, after_}) {
      if (side == nullptr) continue;
      for (const RooflinePoint& point : side->roofline) {
        low_x = std::min(low_x, point.intensity);
        high_x = std::max(high_x, point.intensity);
        low_y = std::min(low_y, point.flops_per_second);
        high_y = std::max(high_y, point.flops_per_second);
      }
    }
    double left = canvas_.compact ? 34 : 64, right = canvas_.width - (canvas_.compact ? 4 : 12);
    // The names of the memory levels stand on their lines, left of every point.
    double names = canvas_.compact ? 56 : 128, points = right - left - names;
    high_x *= 2.5;
    x_ = {low_x * std::pow(low_x / high_x, names / points), high_x, left, right};
    // Not more than five decades down: a trivial operator must not flatten the picture.
    double bottom = std::max(low_y * 0.4, high_y * 1e-5);
    y_ = {bottom, high_y * 2.2, height_ - 40, canvas_.compact ? 8.0 : 12.0};
  }

  Markup axes() const {
    Markup marks = line(x_.start, y_.start, x_.end, y_.start, "grid");
    marks += line(x_.start, y_.start, x_.start, y_.end, "grid");
    for (int decade = decade_above(x_.low); std::pow(10, decade) <= x_.high; ++decade) {
      const double v = std::pow(10, decade);
      marks += line(x_(v), y_.start, x_(v), y_.end, "grid");
      if (decade % decades_a_label() == 0)
        marks += text(x_(v), y_.start + 17, fmt::format("{:g}", v), "axis", Anchor::kMiddle);
    }
    for (double v = std::pow(10, decade_above(y_.low)); v <= y_.high; v *= 10) {
      marks += line(x_.start, y_(v), x_.end, y_(v), "grid");
      marks += text(x_.start - 7, y_(v) + 4, rate_label(v), "axis", Anchor::kEnd);
    }
    marks += text((x_.start + x_.end) / 2, height_ - 4, "FLOP per byte", "axis title", Anchor::kMiddle);
    marks += tag(
        "g", {{"transform", fmt::format("translate(10 {}) rotate(-90)", number((y_.start + y_.end) / 2))}},
        text(0, canvas_.compact ? -2 : 2, canvas_.compact ? "" : "FLOP/s", "axis title", Anchor::kMiddle));
    return marks;
  }

  // How many decades of intensity share a label, so that labels stand apart.
  int decades_a_label() const {
    const double decades = std::log10(x_.high / x_.low);
    return std::max(1, static_cast<int>(std::ceil(kIntensityWidth * decades / (x_.end - x_.start))));
  }

  // "1 G", "100 G": the unit stands at the axis.
  static std::string rate_label(double value) {
    const char* units[] = {"", "k", "M", "G", "T", "P"};
    int unit = 0;
    while (value >= 999 && unit < 5) {
      value /= 1000;
      ++unit;
    }
    return fmt::format("{:g}{}{}", value, unit > 0 ? "\u202f" : "", units[unit]);
  }

  Markup roof_lines() const {
    Markup marks, names;  // names stand on top: the line of a level that is about as fast runs through them
    double fastest = 0, named_at = -1e9, named_to = 0;
    for (const MemoryLine& memory : memory_) {
      double ridge = peak_ / memory.bytes_per_second;
      fastest = std::max(fastest, memory.bytes_per_second);
      double from = std::max(x_.low, y_.low / memory.bytes_per_second), to = std::min(ridge, x_.high);
      if (from >= to) continue;
      marks += line(x_(from), y_(from * memory.bytes_per_second), x_(to), y_(to * memory.bytes_per_second),
                    "roof");
      // Where two levels are about as fast, the second name stands behind the first.
      const double base = y_(memory.bytes_per_second * x_.high);
      const bool close = std::abs(base - named_at) < kNameHeight && named_to < name_length(memory) * 1.5;
      const double behind = close ? named_to + 10 : 0;
      names += slanted(memory, from, to, behind);
      named_at = base;
      named_to = behind + name_length(memory);
    }
    for (const ComputeLine& roof : compute_) {
      const double flops = roof.flops_per_second;
      if (flops < y_.low) continue;
      double start = fastest > 0 ? std::clamp(flops / fastest, x_.low, x_.high) : x_.low;
      marks += line(x_(start), y_(flops), x_.end, y_(flops), "roof");
    }
    return marks + names;
  }

  // The name of a compute roof, above the right end of its line.
  struct RoofName {
    std::string words;
    double left, right, base;
  };
  std::vector<RoofName> compute_names() const {
    std::vector<RoofName> names;
    for (const ComputeLine& roof : compute_) {
      if (roof.flops_per_second < y_.low) continue;
      const double base = y_(roof.flops_per_second) - 7, right = x_.end - 4;
      if (!names.empty() && base - names.back().base < 15) continue;  // it would stand on the one above
      std::string words = fmt::format("{} {}", roof.label, format_flop_rate(roof.flops_per_second));
      const double width = (canvas_.compact ? 5.8 : 6.6) * static_cast<double>(words.size());
      names.push_back({std::move(words), right - width, right, base});
    }
    return names;
  }

  std::string line_name(const MemoryLine& memory) const {
    if (canvas_.compact) return memory.level;
    return fmt::format("{} {}", memory.level, format_byte_rate(memory.bytes_per_second));
  }
  double name_length(const MemoryLine& memory) const {
    return 6.0 * static_cast<double>(line_name(memory).size());
  }

  // The level's name along its line, `behind` what stands there already.
  Markup slanted(const MemoryLine& memory, double from, double to, double behind) const {
    double x1 = x_(from), y1 = y_(from * memory.bytes_per_second);
    double x2 = x_(to), y2 = y_(to * memory.bytes_per_second);
    double angle = std::atan2(y2 - y1, x2 - x1) * 180 / kPi;
    double length = std::hypot(x2 - x1, y2 - y1), along = (canvas_.compact ? 6 : 14) + behind;
    std::string words = line_name(memory);
    if (length < behind + 8.0 * static_cast<double>(words.size())) return {};
    double x = x1 + (x2 - x1) * along / length, y = y1 + (y2 - y1) * along / length;
    return tag(
        "g", {{"transform", fmt::format("translate({} {}) rotate({})", number(x), number(y), number(angle))}},
        text(0, canvas_.compact ? -3 : -6, words, "roof-label"));
  }

  // Areas are times; the largest is the longest operator's before.
  double radius_of(double ms) const {
    return (canvas_.compact ? 7 : 9) * std::sqrt(std::min(1.0, ms / longest_)) + 2;
  }

  Markup points(const Analysis& side, std::string_view css, bool ranked) const {
    Markup marks;
    for (const RooflinePoint& point : side.roofline) {
      if (point.flops_per_second < y_.low) continue;
      double px = x_(point.intensity), py = y_(point.flops_per_second);
      double radius = radius_of(point.ms);
      std::string tip =
          fmt::format("{} ({}){}\n{} at {}\n{}, {} of the {} roof", point.name, point.kind,
                      after_ == nullptr ? "" : fmt::format(", {}", css),
                      format_flop_rate(point.flops_per_second), format_intensity(point.intensity),
                      format_ms(point.ms), format_percent(point.fraction_of_roof), point.roof);
      marks += tag("circle",
                   {{"cx", number(px)},
                    {"cy", number(py)},
                    {"r", number(radius)},
                    {"class", fmt::format("point {} {}", operator_class_css(point.op_class), css)}},
                   tag("title", tip));
    }
    if (ranked) marks += rank_labels(side);
    return marks;
  }

  struct Box {
    double left, right, top, bottom;
    bool meets(const Box& other) const {
      return left < other.right && other.left < right && top < other.bottom && other.top < bottom;
    }
  };
  static Box box_of_text(double left, double base, double width) {
    return {left, left + width, base - 11, base + 3};
  }

  // The ranks of the top table, each at a corner of its point where no other text stands, if there is one.
  Markup rank_labels(const Analysis& side) const {
    Markup marks;
    std::vector<Box> taken;
    for (const RoofName& name : compute_names())
      taken.push_back(box_of_text(name.left, name.base, name.right - name.left));
    for (const analyze::TopOperator& top : side.top) {
      if (top.executed_flops <= 0 || top.bytes <= 0 || top.ms <= 0) continue;
      const double flops_per_second = top.executed_flops / (top.ms * 1e-3);
      if (flops_per_second < y_.low) continue;  // its point is not drawn
      const double px = x_(top.intensity), py = y_(flops_per_second), corner = radius_of(top.ms) * 0.7 + 1;
      const std::string rank = fmt::format("{}", top.rank);
      const double width = 7.5 * static_cast<double>(rank.size());
      const double above = py - corner + 2, below = py + corner + 6;
      const std::pair<double, double> corners[] = {{px + corner, above},
                                                   {px + corner, below},
                                                   {px - corner - width, above},
                                                   {px - corner - width, below}};
      for (const auto& [x, base] : corners) {
        const Box box = box_of_text(x, base, width);
        if (std::any_of(taken.begin(), taken.end(), [&](const Box& other) { return box.meets(other); }))
          continue;
        taken.push_back(box);
        marks += text(x, base, rank, "rank");
        break;
      }
    }
    return marks;
  }

  const Analysis& before_;
  const Analysis* after_;
  const Canvas& canvas_;
  std::vector<MemoryLine> memory_;
  std::vector<ComputeLine> compute_;
  double peak_ = 0;
  double height_ = 0;
  double longest_ = 1e-12;  // operator before, ms
  LogScale x_, y_;
};

}  // namespace

Markup roofline(const Roofs& roofs, const Analysis& before, const Analysis* after, const Canvas& canvas) {
  if (before.roofline.empty() && (after == nullptr || after->roofline.empty())) return {};
  return RooflinePainter(roofs, before, after, canvas).paint();
}

}  // namespace hone::report::svg

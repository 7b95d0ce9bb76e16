#include "report/svg/memory.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/units.h"

namespace hone::report::svg {
namespace {

constexpr double kMemoryHeight = 220, kMemoryTop = 12, kMemoryBottom = 34, kMemoryLeft = 76,
                 kMemoryRight = 12;

class MemoryPainter {
 public:
  MemoryPainter(const analyze::DeviceMemory& device, const Canvas& canvas)
      : device_(device), canvas_(canvas), most_(std::max(device.peak_bytes, device.peak_reserved)) {}

  Markup paint() const {
    if (device_.course.size() < 2 || most_ <= 0) return {};
    Markup content = axes();
    content +=
        tag("path", {{"d", line_of(&analyze::MemoryMoment::allocated) + base()}, {"class", "memory-used"}},
            Markup());
    if (device_.peak_reserved > 0)
      content += tag("path", {{"d", line_of(&analyze::MemoryMoment::reserved)}, {"class", "curve before"}},
                     Markup());
    const auto most =
        std::max_element(device_.course.begin(), device_.course.end(),
                         [](const auto& one, const auto& other) { return one.allocated < other.allocated; });
    content += tag(
        "circle",
        {{"cx", number(x(static_cast<std::size_t>(most - device_.course.begin())))},
         {"cy", number(y(most->allocated))},
         {"r", "3.5"},
         {"class", "measured"}},
        tag("title", fmt::format("{} at {}", format_bytes(device_.peak_bytes), format_ms(device_.peak_ms))));
    return document(canvas_, kMemoryHeight, "memory over time", content);
  }

 private:
  double x(std::size_t moment) const {
    return kMemoryLeft + static_cast<double>(moment) / static_cast<double>(device_.course.size() - 1) *
                             (canvas_.width - kMemoryLeft - kMemoryRight);
  }
  double y(double bytes) const {
    return kMemoryTop +
           (1 - std::clamp(bytes / most_, 0.0, 1.0)) * (kMemoryHeight - kMemoryTop - kMemoryBottom);
  }

  // Memory stays as it is until the next event.
  std::string line_of(double analyze::MemoryMoment::*what) const {
    std::string path;
    double last = 0;
    for (std::size_t i = 0; i < device_.course.size(); ++i) {
      const double at = x(i), high = y(device_.course[i].*what);
      path += path.empty() ? fmt::format("M{} {}", number(at), number(high))
                           : fmt::format("L{} {}L{} {}", number(at), number(last), number(at), number(high));
      last = high;
    }
    return path;
  }
  std::string base() const {
    return fmt::format("L{} {}L{} {}Z", number(x(device_.course.size() - 1)), number(y(0)), number(x(0)),
                       number(y(0)));
  }

  Markup axes() const {
    Markup all;
    for (int i = 0; i <= 4; ++i) {
      const double bytes = most_ * i / 4;
      all += line(kMemoryLeft, y(bytes), canvas_.width - kMemoryRight, y(bytes), "grid");
      all += text(kMemoryLeft - 8, y(bytes) + 4, format_bytes(bytes), "axis", Anchor::kEnd);
    }
    const int marks = canvas_.compact ? 3 : 6;
    const std::size_t last = device_.course.size() - 1;
    for (int i = 0; i <= marks; ++i) {
      const std::size_t moment = last * static_cast<std::size_t>(i) / static_cast<std::size_t>(marks);
      all += text(x(moment), kMemoryHeight - 14, format_ms(device_.course[moment].ms), "axis",
                  i == marks ? Anchor::kEnd : Anchor::kMiddle);
    }
    return all;
  }

  const analyze::DeviceMemory& device_;
  const Canvas& canvas_;
  double most_;
};

}  // namespace

Markup memory_course(const analyze::DeviceMemory& device, const Canvas& canvas) {
  return MemoryPainter(device, canvas).paint();
}

}  // namespace hone::report::svg
